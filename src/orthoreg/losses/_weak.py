"""The weak form: equations integrated against test functions. `Auto` uses it for noisy data.

Windows in which a velocity is at rest are excluded. At rest, dry friction balances the other
forces, which no term can represent.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import final

import numpy as np
from jaxtyping import Bool, Float

from .._common.errors import DataError, InputError
from .._common.registry import part
from ..data import (
    NARROWEST,
    Dataset,
    Rows,
    clipped_values,
    find_data_outliers,
    replace_outliers,
    smoothed_states,
    weak_targets,
    windows_of,
)
from ..simulation import Interpolation, input_interpolation
from ..smoothing import Smoother, Windows
from . import _limits as limits
from ._loss import AbstractRowLoss, NextState, VectorField, refuse_map


@final
@dataclass(frozen=True, eq=False)
class Rest:
    """Criterion for rest of velocities that were not measured.

    A velocity is at rest if it is slower than a hundredth of its root mean square `size` for at
    least `min_rows` rows. These are five rows, or three times the time in which the velocity
    changes its sign.
    """

    size: Float[np.ndarray, " k"]
    min_rows: Float[np.ndarray, " k"]

    @classmethod
    def of(cls, data: Dataset) -> "Rest":
        """Return the criterion for these runs."""
        columns = _estimated_columns(data)
        size = np.sqrt(np.mean(data.states[:, columns] ** 2, axis=0))
        if not columns:
            return cls(size, size)
        inside = np.diff(data.run_of_row) == 0
        steps = np.diff(data.times)[inside]
        rate = np.diff(data.states[:, columns], axis=0)[inside] / steps[:, None]
        typical = np.maximum(np.sqrt(np.mean(rate**2, axis=0)), 1e-300)
        turning = 2 * limits.REST_SPEED * size / typical
        rows = limits.REST_TURNING_TIMES * turning / np.median(steps)
        return cls(size, np.maximum(limits.MIN_ROWS_AT_REST, rows))

    def rows(self, data: Dataset) -> Bool[np.ndarray, "N k"]:
        """Return a mask of the velocities that are at rest in each row."""
        slow = np.abs(data.states[:, _estimated_columns(data)]) < limits.REST_SPEED * self.size
        for c, min_rows in enumerate(self.min_rows):
            edges = np.diff(slow[:, c].astype(int), prepend=0, append=0)
            starts, stops = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
            for start, stop in zip(starts, stops, strict=True):
                if stop - start < min_rows:
                    slow[start:stop, c] = False
        return slow

    def share(self, data: Dataset, windows: Windows) -> Float[np.ndarray, " R"]:
        """Return the fraction of each window in which a velocity is at rest."""
        return np.asarray(windows.mean @ self.rows(data)).max(axis=1, initial=0.0)

    def share_limit(self, data: Dataset, windows: Windows) -> float | None:
        """Return the maximum fraction of rest in a window that leaves enough windows, or None for
        no limit.
        """
        shares = self.share(data, windows)
        min_windows = limits.MIN_MOVING_WINDOWS * len(windows)
        enough = (
            share_limit
            for share_limit in limits.REST_SHARES
            if (shares < share_limit).sum() >= min_windows
        )
        return next(enough, None)

    def share_limit_of_width(self, data: Dataset, half_width: float, order: int) -> float | None:
        """Return the maximum fraction of rest for windows of this width.

        Return None if nothing can be at rest or if no window fits.
        """
        if not len(self.size):
            return None
        windows = windows_of(data, half_width, order)
        return self.share_limit(data, windows) if len(windows) else None

    def moving_windows(self, data: Dataset, windows: Windows, max_share: float | None) -> Windows:
        """Return the windows whose fraction of rest is below `max_share`."""
        if max_share is None or not len(self.size):
            return windows
        return windows.only(np.flatnonzero(self.share(data, windows) < max_share))


def moving(data: Dataset, windows: Windows) -> Windows:
    """Return the windows in which no unmeasured velocity is at rest.

    At rest, dry friction balances the other forces. No term can represent this, because sign(0) is
    0. If too few windows remain, windows with short periods of rest are added, and finally all
    windows.
    """
    rest = Rest.of(data)
    return rest.moving_windows(data, windows, rest.share_limit(data, windows))


def measured_windows(windows: Windows, is_lost: Bool[np.ndarray, " N"]) -> Windows:
    """Return the windows that contain no lost row."""
    if not is_lost.any():
        return windows
    return windows.only(np.flatnonzero(np.asarray(abs(windows.mean) @ is_lost) == 0))


def _estimated_columns(data: Dataset) -> list[int]:
    return [data.state_names.index(name) for name in data.estimated]


@part
@final
@dataclass(frozen=True)
class Weak(AbstractRowLoss):
    """The mean squared error 1/R sum_r |int phi_r x' - int phi_r f(x)|^2 with bumps phi_r on
    windows along each run.

    Integration by parts gives int phi x' = -int phi' x and, for a velocity that was not measured,
    int phi q'' = int phi'' q; higher derivatives are treated alike. Data are therefore integrated,
    not differentiated, and both sides pass the same filter. States inside f are smoothed. The
    problem remains linear least squares. Windows in which a velocity is at rest are excluded (dry
    friction).

    Parameters
    ----------
    widths
        half-widths of windows in units of time, one or several. If None, use two half-widths: the
        most informative one (or the narrowest for which noise is negligible), and about a third of
        it.
    order
        exponent p in phi = (1 - s^2)^p.

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

    def rule(self, data: Dataset) -> "Weak":
        self._check(data)
        if self.widths is not None:
            return self
        return replace(self, widths=data.plan.half_widths(self.order))

    def _check(self, data: Dataset) -> None:
        refuse_map(data, "Weak()")
        order = data.schema.max_derivative
        if self.order < order:
            raise InputError(
                f"Weak(order=...) must be at least {order}, the order of the equations; got "
                f"{self.order}."
            )

    def observe(self, data: Dataset) -> Rows:
        """Return a row for each window."""
        self._check(data)
        if self.widths is None:
            return self.rule(data).observe(data)
        plan = data.plan
        chosen = WeakChoices.of(data.sample, self)
        return self._observe(chosen, plan.clean, plan.smoothed, data, plan.is_lost)

    def resolved(self, data: Dataset) -> Callable[[Dataset], Rows]:
        loss = self.rule(data)
        return partial(_observe_chunk, loss, WeakChoices.of(data, loss))

    def _observe(
        self,
        chosen: "WeakChoices",
        clean: Dataset,
        points: Float[np.ndarray, "N n"],
        data: Dataset,
        is_lost: Bool[np.ndarray, " N"],
    ) -> Rows:
        """Return the rows of the data.

        `clean` are the data without outliers, and `points` the smoothed states. Windows that
        contain a row with `is_lost` are left out.
        """
        assert isinstance(self.widths, tuple)
        parts: list[Rows] = []
        for h, max_rest in zip(self.widths, chosen.share_limits, strict=True):  # windows are large
            windows = windows_of(data, h, self.order)
            windows = measured_windows(windows, is_lost)
            if len(windows):
                windows = chosen.rest.moving_windows(data, windows, max_rest)
            if len(windows):
                parts.append(self._rows(clean, points, chosen.smoother.noise**2, windows))
            del windows
        if not parts:
            raise _too_short(data, min(self.widths))
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
            time_index=data.schema.time_index,
            all_runs=data.n_runs,
        ).with_given(data.given_rates)

    def derivatives(self, data: Dataset, field) -> Float[np.ndarray, "N n"]:
        return VectorField().derivatives(data, field)


@final
@dataclass(frozen=True, eq=False)
class WeakChoices:
    """Choices of the weak form that apply to all chunks of the runs.

    They are the columns with outliers, the limits of sensors, the smoother of measured states, the
    criterion for rest of estimated velocities, and for each width the maximum fraction of rest in a
    window (None: no limit).
    """

    outlier_columns: Bool[np.ndarray, " m"]
    range_limits: Float[np.ndarray, "2 n"]
    smoother: Smoother
    rest: Rest
    share_limits: tuple[float | None, ...]

    @classmethod
    def of(cls, data: Dataset, loss: Weak) -> "WeakChoices":
        """Return the choices for these runs."""
        assert isinstance(loss.widths, tuple)
        plan, rest = data.plan, Rest.of(data)
        max_rest = tuple(rest.share_limit_of_width(data, h, loss.order) for h in loss.widths)
        return cls(plan.outliers.columns, plan.range_limits, plan.smoother, rest, max_rest)


def _observe_chunk(loss: Weak, chosen: WeakChoices, data: Dataset) -> Rows:
    clean = replace_outliers(data, find_data_outliers(data, chosen.outlier_columns))
    clipped = clipped_values(data, chosen.range_limits)
    points = smoothed_states(clean, clipped, chosen.smoother)
    return loss._observe(chosen, clean, points, data, np.asarray(clipped.any(axis=1)))


def joined(parts: list[Rows]) -> Rows:
    """Return several sets of rows with the same points as one, in the order of runs and times."""
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
    width = max(spans[longest] / 10, NARROWEST * steps[longest])
    smaller = bool(2 * width < spans[longest])
    advice = f"Choose smaller widths, as in Weak(widths={width:.2g})," if smaller else "Take"
    return DataError(
        f"{data.source}: no run is as long as one window of the weak form, {2 * half_width:.3g} "
        f"{data.time_name}; the longest lasts {spans[longest]:.3g} with "
        f"{data.run_lengths[longest]} rows. {advice} {'or ' * smaller}VectorField()"
        f"{', or measure longer runs' * (not smaller)}."
    )


@part
@final
@dataclass(frozen=True)
class Auto(AbstractRowLoss):
    """Automatic choice of the loss.

    It uses `VectorField()` for clean data and data with derivatives, `NextState()` for maps, and
    `Weak()` for other data.

    `Weak()` is used if the noise of a state exceeds a thousandth of its standard deviation, or if
    the noise in second differences of a position exceeds a tenth of the acceleration. For runs with
    many windows, `Weak()` is also used if an input jumps or if the error of an estimated derivative
    exceeds a five-hundredth of its root mean square.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 121)
    >>> model = og.OrthoReg("poly(1)", og.Zero(), loss=og.Auto())
    >>> model.fit(np.exp(-t)[:, None], t=t).equations(2)
    ["x0' = -1.0 x0"]
    """

    def rule(self, data: Dataset) -> AbstractRowLoss:
        if data.discrete:
            return NextState()
        is_long = data.n_runs and np.median(data.run_lengths) >= limits.MIN_ROWS_WEAK_FORM
        plan = data.plan  # derivatives next to values at limits of sensors are unknown
        use_weak_form = plan.is_noisy or plan.is_lost.any() or (is_long and is_coarse(data))
        return Weak().rule(data) if use_weak_form else VectorField()

    def observe(self, data: Dataset) -> Rows:
        return self.rule(data).observe(data)

    def derivatives(self, data: Dataset, field) -> np.ndarray:
        loss = NextState() if data.discrete else VectorField()
        return loss.derivatives(data, field)


def Measured() -> Auto:
    """Return `Auto()`. This is its former, deprecated name.

    Returns
    -------
    loss
        `Auto()`.

    Examples
    --------
    >>> import orthoreg as og
    >>> og.Auto()  # in place of og.Measured()
    Auto()
    """
    warnings.warn("Measured() is deprecated: use Auto().", DeprecationWarning, stacklevel=2)
    return Auto()


def is_coarse(data: Dataset) -> bool:
    """Return whether samples are too sparse for accurate derivatives, or an input jumps between
    them.

    At a jump of an input, the derivative has two values.
    """
    return data.plan.decided(_is_coarse)


def _is_coarse(data: Dataset) -> bool:
    if data.derivatives is not None or data.discrete:
        return False
    kinds = input_interpolation(data.input_names, data).values()
    if Interpolation.hold in kinds:
        return True
    subset = data.subsample(limits.PLAN_ROWS)
    return derivative_error(subset) > limits.COARSE_DERIVATIVE_ERROR


def derivative_error(data: Dataset) -> float:
    """Return the largest root mean squared error of a derivative, relative to its root mean
    square.
    """
    rows = VectorField().observe(data)
    mean_square = np.mean(rows.targets**2, axis=0)
    moves = mean_square > 0
    return float(np.sqrt(np.max(rows.target_mse[moves] / mean_square[moves], initial=0.0)))
