"""The weak form: both sides of the equation integrated against bumps, no derivative of the data."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, NoReturn, final

import numpy as np
from jaxtyping import Bool, Float

from .._errors import DataError, InputError
from .._registry import part
from ..data import AnyRows, Dataset, Rows
from ..smoothing import (
    Smooth,
    Windows,
    bump_windows,
    find_outliers,
    smooth,
)
from ._loss import AbstractLoss, Segments
from ._rest import Rest
from ._vector_field import VectorField

_NARROWEST = 3.5  # samples in half a window
_WIDEST = 0.2  # of the median run, half a window
_CLEAR = 1e-6  # of what windows show, that noise may be: wider ones are not needed
_NARROW = 0.35  # of the best half-width: what is fast within its windows
_FINENESS = 1.35  # ratio of half-widths that are tried
_MOST_ROWS = 20_000  # that a width is chosen on
_FEWEST_WINDOWS = 3  # in each run, as far as its length allows


@part
@final
@dataclass(frozen=True)
class Weak(AbstractLoss):
    """1/R sum_r |int phi_r x' - int phi_r f(x)|^2 with bumps phi_r on windows along each run.

    By parts int phi x' = -int phi' x, and int phi q'' = int phi'' q for a velocity that was not
    measured: data are integrated, not differentiated, and both sides pass the same filter. Inside
    f the states are smoothed. The problem stays linear least squares. Windows in which something
    rests are left out (dry friction).

    Parameters
    ----------
    widths
        half-widths of windows in units of time, one or several; None takes the one that shows most
        of the motion against its noise, or the narrowest that shows it clearly, and about a third
        of it.
    order
        p in phi = (1 - s^2)^p.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 121)
    >>> model = og.OrthoReg("poly(1)", og.Zero(), loss=og.Weak())
    >>> model.fit(np.exp(-t)[:, None], t=t).equations(2)
    ["x0' = -1.0 x0"]
    """

    widths: tuple[float, ...] | float | int | None = None
    order: int = 8

    def __post_init__(self):
        widths = self.widths
        if isinstance(widths, int | float) and not isinstance(widths, bool):
            widths = (float(widths),)
        if widths is not None:
            try:
                given = tuple(float(width) for width in widths)  # pyright: ignore[reportGeneralTypeIssues]
            except TypeError:
                given = ()
            if not given or not all(0 < width < np.inf for width in given):
                raise InputError(
                    f"Weak(widths=...) must be positive half-widths of windows in units of time, "
                    f"such as 0.5 or (0.2, 0.6); got {self.widths!r}."
                )
            object.__setattr__(self, "widths", given)
        if isinstance(self.order, bool) or not isinstance(self.order, int) or self.order < 3:
            raise InputError(
                f"Weak(order=...) must be a whole number of at least 3; got {self.order!r}."
            )

    def rule(self, data: Dataset) -> AbstractLoss:
        return self if self.widths is not None else replace(self, widths=best_widths(data, self))

    def observe(self, data: Dataset) -> Rows:
        """A row for every window."""
        if self.widths is None:
            return self.rule(data).observe(data)
        return self._observe(*WeakChoices.of(data, self), data)

    def settled(self, data: Dataset) -> Callable[[Dataset], Rows]:
        loss = self.rule(data)
        assert isinstance(loss, Weak)
        return partial(_observe_chunk, loss, WeakChoices.of(data, loss)[0])

    def _observe(
        self,
        chosen: "WeakChoices",
        clean: Dataset,
        points: Float[np.ndarray, "N n"],
        data: Dataset,
    ) -> Rows:
        """The rows of data, which without outliers are `clean` and without noise `points`."""
        assert isinstance(self.widths, tuple)
        found: list[Rows] = []
        for h, most in zip(self.widths, chosen.most_rest, strict=True):  # windows are large
            windows = bump_windows(data.times, data.offsets, h, self.order)
            if len(windows):
                windows = chosen.rest.left_out(data, windows, most)
            if len(windows):
                found.append(self._rows(clean, points, chosen.variance, windows))
            del windows
        if not found:
            raise _too_short(data, min(self.widths))
        return joined(found)

    def _rows(
        self,
        data: Dataset,
        points: Float[np.ndarray, "N n"],
        variance: Float[np.ndarray, " n"],
        windows: Windows,
    ) -> Rows:
        targets, noise = weak_targets(data, variance, windows)
        variables = points if data.inputs is None else np.hstack([points, data.inputs])
        return Rows(
            variables,
            targets,
            windows.run,
            noise,
            data.variable_names,
            data.state_names,
            windows.centres,
            windows.mean,
            clock=data.clock_place,
            all_runs=data.n_runs,
        ).holding(data.given_rates)

    def linear_rows(self, observed) -> AnyRows | None:
        return observed

    def derivatives(self, data: Dataset, field) -> Float[np.ndarray, "N n"]:
        return VectorField().derivatives(data, field)

    def segments(self, observed) -> Segments:
        self._refuse()

    def segment_rows(self, observed) -> np.ndarray:
        return np.arange(len(observed.targets))

    def errors(self, field, values, segments, scale) -> Any:
        self._refuse()

    def targets(self, observed, field) -> np.ndarray:
        return observed.targets

    def _refuse(self) -> NoReturn:
        raise InputError(
            "loss=Weak() is a linear problem without single points to train on; use "
            "solver=Exact(), or a gradient solver with loss=VectorField() or MultiStep(10)."
        )


@final
@dataclass(frozen=True, eq=False)
class WeakChoices:
    """What the weak form finds out about all runs before it observes any: in which columns single
    values may be outliers, how measured states are smoothed, when estimated velocities rest, and
    for each width how much of a window may be at rest; anything where None."""

    outliers: Bool[np.ndarray, " m"]
    smooth: Smooth
    variance: Float[np.ndarray, " n"]
    rest: Rest
    most_rest: tuple[float | None, ...]

    @classmethod
    def of(
        cls, data: Dataset, loss: Weak
    ) -> tuple["WeakChoices", Dataset, Float[np.ndarray, "N n"]]:
        """Those of these runs, with the data and states that `smoothed` makes of them."""
        assert isinstance(loss.widths, tuple)
        m = data.is_measured
        repaired = find_outliers(data.times, data.states[:, m], data.offsets, None, data.inputs)
        clean = _with_measured(data, repaired.repaired)
        found = smooth(data.times, repaired.repaired, data.offsets)
        variance, points = np.zeros(data.n_states), np.array(clean.states)
        variance[m], points[:, m] = found.noise**2, found.values
        rest = Rest.of(data)
        most = tuple(rest.most_of_width(data, h, loss.order) for h in loss.widths)
        none = replace(found, values=found.values[:0])
        return cls(repaired.columns, none, variance, rest, most), clean, points

    def smoothed(self, data: Dataset) -> tuple[Dataset, Float[np.ndarray, "N n"]]:
        """The data without outliers, and their states without most of their noise. Velocities that
        were made from positions are smooth as they are."""
        m, clean = data.is_measured, cleaned(data, self.outliers)
        points = np.array(clean.states)
        points[:, m] = self.smooth.like(data.times, clean.states[:, m], data.offsets).values
        return clean, points


def _observe_chunk(loss: Weak, chosen: WeakChoices, data: Dataset) -> Rows:
    return loss._observe(chosen, *chosen.smoothed(data), data)


def cleaned(data: Dataset, columns: Bool[np.ndarray, " m"] | None = None) -> Dataset:
    """The data with outliers of measured states, or of these `columns` of them, replaced by
    polynomials through their neighbours."""
    measured = data.states[:, data.is_measured]
    found = find_outliers(data.times, measured, data.offsets, columns, data.inputs)
    return _with_measured(data, found.repaired) if found.is_outlier.any() else data


def _with_measured(data: Dataset, measured: Float[np.ndarray, "N m"]) -> Dataset:
    states = np.array(data.states)
    states[:, data.is_measured] = measured
    return replace(data, states=states)


@final
class SmoothStates(NamedTuple):
    """The states without most of their noise, its variance, and what each value counts in its own
    smoothed one."""

    values: Float[np.ndarray, "N n"]
    variance: Float[np.ndarray, " n"]
    leverage: Float[np.ndarray, " n"]


def smooth_states(data: Dataset) -> SmoothStates:
    """The states by sliding polynomials. Velocities that were made from positions are smooth as
    they are."""
    states = np.array(data.states)
    variance, leverage = np.zeros(data.n_states), np.zeros(data.n_states)
    measured = np.flatnonzero(data.is_measured)
    usual = find_outliers(data.times, states[:, measured], data.offsets, None, data.inputs)
    found = smooth(data.times, usual.repaired, data.offsets)
    states[:, measured] = found.values
    variance[measured] = found.noise**2
    leverage[measured] = found.leverage
    return SmoothStates(states, variance, leverage)


def weak_targets(
    data: Dataset, variance: Float[np.ndarray, " n"], windows: Windows
) -> tuple[Float[np.ndarray, "R n"], Float[np.ndarray, " n"]]:
    """int phi x' in each window, and the variance that noise leaves in it."""
    targets = np.asarray(windows.slope @ data.states)
    size = np.mean(np.asarray(windows.slope.multiply(windows.slope).sum(axis=1)))
    noise = variance * size
    place = {name: c for c, name in enumerate(data.state_names)}
    bent = np.mean(np.asarray(windows.curvature.multiply(windows.curvature).sum(axis=1)))
    for position, velocity in data.velocity_of.items():
        if velocity in data.estimated:
            q, v = place[position], place[velocity]
            targets[:, v] = windows.curvature @ data.states[:, q]
            noise[v] = variance[q] * bent
    return targets, noise


def best_widths(data: Dataset, loss: Weak) -> tuple[float, ...]:
    """The half-width whose windows tell most: the number of them times the ratio of what they
    show of the motion to what noise leaves in them, the product over states; and about a third of
    it, as far as samples allow."""
    some = data.some_runs(_MOST_ROWS)
    step = float(np.median(np.diff(some.times)[np.diff(some.run_of_row) == 0]))
    span = float(np.median(some.step_of_run() * (some.run_lengths - 1)))
    variance = smooth_states(some).variance
    given = set(some.given_rates)
    best, most = _NARROWEST * step, -np.inf
    h = best
    while h <= max(_WIDEST * span, best):
        windows = bump_windows(some.times, some.offsets, h, loss.order)
        if not len(windows):
            break
        targets, noise = weak_targets(some, variance, windows)
        columns = [c for c in range(some.n_states) if c not in given and noise[c] > 0]
        signal = np.maximum(np.mean(targets**2, axis=0) - noise, 1e-3 * noise)
        told = np.log(signal[columns] / noise[columns] / h).sum()
        if told > most:
            best, most = h, told
        if (noise[columns] < _CLEAR * signal[columns]).all():
            best = h
            break
        h *= _FINENESS
    widths = {max(_NARROW * best, _NARROWEST * step), best}
    return tuple(sorted(float(f"{width:.3g}") for width in widths))


def joined(parts: list[Rows]) -> Rows:
    """Rows about the same points, one after the other, in the order of runs and times."""
    if len(parts) == 1:
        return parts[0]
    import scipy.sparse as sparse

    run = np.concatenate([rows.run_of_row for rows in parts])
    times = np.concatenate([np.asarray(rows.times) for rows in parts])
    order = np.lexsort([times, run])
    counts = np.array([len(rows) for rows in parts])
    return replace(
        parts[0],
        targets=np.concatenate([rows.targets for rows in parts])[order],
        run_of_row=run[order],
        times=times[order],
        windows=sparse.vstack([rows.windows for rows in parts]).tocsr()[order],
        target_mse=np.average([rows.target_mse for rows in parts], axis=0, weights=counts),
    )


def _too_short(data: Dataset, half_width: float) -> DataError:
    steps = data.step_of_run()
    spans = steps * (data.run_lengths - 1)
    longest = int(spans.argmax())
    width = max(spans[longest] / 10, _NARROWEST * steps[longest])
    smaller = bool(2 * width < spans[longest])
    advice = f"Choose smaller widths, as in Weak(widths={width:.2g})," if smaller else "Take"
    return DataError(
        f"{data.source}: no run is as long as one window of the weak form, {2 * half_width:.3g} "
        f"{data.time_name}; the longest lasts {spans[longest]:.3g} with "
        f"{data.run_lengths[longest]} rows. {advice} {'or ' * smaller}VectorField()"
        f"{', or measure longer runs' * (not smaller)}."
    )
