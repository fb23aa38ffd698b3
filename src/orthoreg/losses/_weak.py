"""The weak form: both sides of the equation integrated against bumps, no derivative of the data."""

from dataclasses import dataclass, replace
from typing import Any, NoReturn, final

import numpy as np
from jaxtyping import Bool, Float

from .._errors import DataError, InputError
from .._registry import part
from ..data import AnyRows, Dataset, Rows
from ..smoothing import Windows, bump_windows, smooth, without_outliers
from ._loss import AbstractLoss, Segments
from ._vector_field import VectorField

_NARROWEST = 3.5  # samples in half a window
_WIDEST = 0.2  # of the median run, half a window
_CLEAR = 1e-6  # of what windows show, that noise may be: wider ones are not needed
_AT_REST = 0.01  # of a velocity's root mean square
_FEWEST_AT_REST = 5  # rows
_LONG = 3.0  # times that it takes to turn round: a rest
_RESTS = (0.002, 0.02, 0.1)  # of a window, the first that leaves enough of them
_ENOUGH = 0.2  # of the windows
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
        assert isinstance(self.widths, tuple)
        found = [bump_windows(data.times, data.offsets, h, self.order) for h in self.widths]
        found = [moving(data, windows) for windows in found if len(windows)]
        if not found:
            raise _too_short(data, min(self.widths))
        data = cleaned(data)
        points, noise = smooth_states(data)
        parts = [self._rows(data, points, noise, windows) for windows in found]
        return joined(parts)

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


def cleaned(data: Dataset) -> Dataset:
    """The data with outliers of measured states replaced by what lies between their neighbours."""
    m = data.is_measured
    states = np.array(data.states)
    states[:, m] = without_outliers(data.times, states[:, m], data.offsets)
    return data if (states == data.states).all() else replace(data, states=states)


def smooth_states(data: Dataset) -> tuple[Float[np.ndarray, "N n"], Float[np.ndarray, " n"]]:
    """The states without most of their noise, and its variance. Velocities that were made from
    positions are smooth as they are."""
    states = np.array(data.states)
    variance = np.zeros(data.n_states)
    measured = np.flatnonzero(data.is_measured)
    usual = without_outliers(data.times, states[:, measured], data.offsets)
    found = smooth(data.times, usual, data.offsets)
    states[:, measured] = found.values
    variance[measured] = found.noise**2
    return states, variance


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


def moving(data: Dataset, windows: Windows) -> Windows:
    """The windows in which every velocity that was not measured moves all of the time.

    At rest dry friction balances whatever acts, which no term can say: sign(0) is 0. Windows with
    short rests are taken as well where too few would be left, and all of them where even these
    are few.
    """
    place = [data.state_names.index(name) for name in data.estimated]
    share = np.asarray(windows.mean @ at_rest(data, place)).max(axis=1, initial=0.0)
    for most in _RESTS:
        kept = np.flatnonzero(share < most)
        if len(kept) >= _ENOUGH * len(windows):
            return windows.only(kept)
    return windows


def at_rest(data: Dataset, place: list[int]) -> Bool[np.ndarray, "N k"]:
    """Which rows these velocities rest in: slower than a hundredth of their root mean square, for
    five rows and three times as long as it takes to turn round."""
    speed = np.abs(data.states[:, place])
    size = np.sqrt(np.mean(speed**2, axis=0))
    slow = speed < _AT_REST * size
    inside = np.diff(data.run_of_row) == 0
    steps = np.diff(data.times)[inside]
    rate = np.diff(data.states[:, place], axis=0)[inside] / steps[:, None]
    turning = 2 * _AT_REST * size / np.maximum(np.sqrt(np.mean(rate**2, axis=0)), 1e-300)
    fewest = np.maximum(_FEWEST_AT_REST, _LONG * turning / np.median(steps))
    for c in range(len(place)):
        edges = np.diff(slow[:, c].astype(int), prepend=0, append=0)
        begins, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
        for begin, end in zip(begins, ends, strict=True):
            if end - begin < fewest[c]:
                slow[begin:end, c] = False
    return slow


def best_widths(data: Dataset, loss: Weak) -> tuple[float, ...]:
    """The half-width whose windows tell most: the number of them times the ratio of what they
    show of the motion to what noise leaves in them, the product over states; and about a third of
    it, as far as samples allow."""
    some = data.some_runs(_MOST_ROWS)
    step = float(np.median(np.diff(some.times)[np.diff(some.run_of_row) == 0]))
    span = float(np.median(some.step_of_run() * (some.run_lengths - 1)))
    _, variance = smooth_states(some)
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
