"""Prediction losses, which compare a field with the following states instead of derivatives.

Steps may be unequal. Inputs are linear between rows.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from jaxtyping import Int

from .._common.arrays import namespace
from .._common.errors import DataError, InputError
from .._common.registry import part
from ..data import Dataset, Rows
from ._loss import AbstractSegmentLoss, Field, Segments, refuse_map

METHODS = {"euler": (1.0, (), ()), "rk4": (1 / 6, (0.5, 0.5, 1.0), (1 / 3, 1 / 3, 1 / 6))}
"""For each method: weight of the first slope, fractions of the step of the other slopes, and their
weights."""


@part
@final
@dataclass(frozen=True)
class MultiStep(AbstractSegmentLoss):
    """The mean squared error of predictions over windows of steps (multiple shooting).

    With a window of one step, the loss is 1/|T| sum |x_{t+1} - Psi_dt(x_t; f)|^2 over all observed
    transitions. [eq:fit_loss_step] Each window starts from a measured state and is predicted to its
    end without correction. The windows tile each run; if they do not fit, the last window overlaps
    the previous one.

    Parameters
    ----------
    window
        number of steps in a window.
    method
        one-step solver Psi: "rk4" or "euler".

    Examples
    --------
    >>> import orthoreg as og
    >>> og.OrthoReg(loss=og.MultiStep(5), solver=og.Adam(normalize=True)).loss.window
    5
    """

    window: int = 10
    method: str = "rk4"

    def __post_init__(self):
        valid = isinstance(self.window, int | np.integer) and not isinstance(self.window, bool)
        if not valid or self.window < 1:
            raise InputError(
                f"MultiStep(window=...) must be a whole number of at least 1; got {self.window!r}."
            )
        if self.method not in METHODS:
            raise InputError(
                f"MultiStep(method=...) must be 'rk4' or 'euler'; got {self.method!r}."
            )

    def observe(self, data: Dataset) -> Rows:
        """Return each row with the slope of its step. The last row repeats the previous slope.

        These slopes determine the scales of a fit. The fitted field is compared with `targets`.
        """
        if data.n_samples == 0:
            raise DataError(f"{data.source} has no runs; at least one is needed.")
        refuse_map(data, f"MultiStep({self.window})")
        short = np.flatnonzero(data.run_lengths <= self.window)
        if short.size:
            run = int(short[0])
            run_name = f"run '{data.labels[run]}'" if data.n_runs > 1 else data.source
            raise DataError(
                f"MultiStep(window={self.window}) needs runs of at least {self.window + 1} rows; "
                f"{run_name} has {data.run_lengths[run]}."
                + (" Choose a smaller window or omit the run." if self.window > 1 else "")
            )
        before = _step_starts(data.run_of_row)
        steps = np.diff(data.times)[before]
        slopes = np.diff(data.states, axis=0)[before] / steps[:, None]
        return Rows(
            data.variables, slopes, data.run_of_row, np.zeros(data.n_states), data.variable_names,
            data.state_names, data.times,
        ).with_given(data.given_rates)  # fmt: skip

    def segments(self, observed) -> Segments:
        if observed.times is None:
            raise InputError(
                f"loss=MultiStep(window={self.window}) predicts in time and needs runs with times: "
                f"fit(data) or fit(x, t=t)."
            )
        n = observed.targets.shape[1]
        rows = self._window_rows(observed)
        return Segments(
            observed.variables[rows],
            observed.variables[rows + 1, :n],
            observed.times[rows + 1] - observed.times[rows],
            observed.variables[rows + 1, n:],
        )

    def segment_rows(self, observed) -> Int[np.ndarray, " M"]:
        return self._window_rows(observed).ravel()

    def errors(self, field, values, segments, scale):
        """Return the squared error |x - prediction|^2, scaled by equation and averaged over the
        window.
        """
        import jax
        import jax.numpy as jnp

        n = segments.targets.shape[2]

        def advance(x: Any, step: tuple[Any, ...], first: Any) -> tuple[Any, Any]:
            before, dt, after, target = step
            x = _step(self.method, field, x, dt, first, (before, after), jax.lax.scan)
            return x, (((target - x) / scale) ** 2).sum(1)

        def from_state(x: Any, step: tuple[Any, ...]) -> tuple[Any, Any]:
            return advance(x, step, field(jnp.concatenate([x, step[0]], axis=1)))

        steps = (
            jnp.swapaxes(segments.points[:, :, n:], 0, 1),
            segments.steps.T,
            jnp.swapaxes(segments.inputs_after, 0, 1),
            jnp.swapaxes(segments.targets, 0, 1),
        )
        start = segments.points[:, 0, :n]
        if segments.points.shape[1] == 1:
            return advance(start, jax.tree.map(lambda part: part[0], steps), values[:, 0])[1]
        return jax.lax.scan(from_state, start, steps)[1].mean(0)

    def targets(self, observed, field) -> np.ndarray:
        """Return f(x) + (x_{t+1} - Psi_dt(x_t)) / dt, which is the field corrected by its
        prediction error.

        Rows of runs with a single row are not corrected.
        """
        assert observed.times is not None
        n = observed.targets.shape[1]
        inside = np.bincount(observed.run_of_row)[observed.run_of_row] > 1
        rows = _step_starts(observed.run_of_row)[inside]
        start, end = observed.variables[rows], observed.variables[rows + 1]
        dt = observed.times[rows + 1] - observed.times[rows]
        inputs, slope = (start[:, n:], end[:, n:]), field(start)
        reached = _step(self.method, field, start[:, :n], dt, slope, inputs, _python_loop)
        implied = np.array(field(observed.variables))
        implied[inside] += (end[:, :n] - reached) / dt[:, None]
        return replace(observed, targets=implied).with_given(observed.given).targets

    def _window_rows(self, observed: Rows) -> Int[np.ndarray, "B P"]:
        """Return the rows of each window except its last row."""
        window, lengths = self.window, np.bincount(observed.run_of_row)
        offsets = np.cumsum(lengths) - lengths
        starts = [
            offset + np.append(np.arange(0, length - 1 - window, window), length - 1 - window)
            for offset, length in zip(offsets, lengths, strict=True)
            if length > window
        ]
        if not starts:
            raise DataError(
                f"MultiStep(window={window}) needs runs of at least {window + 1} rows; the longest "
                f"training part of a run has {lengths.max()}. Choose a smaller window or hold out "
                "less."
            )
        return np.concatenate(starts)[:, None] + np.arange(window)


def OneStep(method: str = "rk4") -> MultiStep:
    """Return `MultiStep(1)`. This is its former, deprecated name. [eq:fit_loss_step]

    Parameters
    ----------
    method
        one-step solver Psi: "rk4" or "euler".

    Returns
    -------
    loss
        1/|T| sum |x_{t+1} - Psi_dt(x_t; f)|^2 over all observed transitions.

    Examples
    --------
    >>> import orthoreg as og
    >>> og.MultiStep(1)  # in place of og.OneStep()
    MultiStep(window=1, method='rk4')
    """
    warnings.warn("OneStep() is deprecated: use MultiStep(1).", DeprecationWarning, stacklevel=2)
    return MultiStep(1, method)


def _step_starts(run_of_row: np.ndarray) -> np.ndarray:
    """Return the row at which the step of each row begins.

    This is the row itself or, for the last row of a run, the previous row.

    The result is undefined for runs with a single row.
    """
    rows = np.arange(len(run_of_row))
    changes = run_of_row[1:] != run_of_row[:-1]
    is_last, is_first = np.append(changes, True), np.append(True, changes)
    return np.where(is_last & ~is_first, rows - 1, rows)


def _step(
    method: str,
    field: Field,
    x: Any,
    dt: Any,
    first: Any,
    inputs: tuple[Any, Any],
    loop: Callable[..., tuple[Any, Any]],
) -> Any:
    """Return Psi_dt(x), the state after one step, for each row. `first` is f(x).

    Each further slope is evaluated after a fraction of the step along the previous slope.
    """
    before, after = inputs
    first_weight, stages, weights = METHODS[method]
    dt = dt[:, None]

    def stage(carry: tuple[Any, Any], position_and_weight: Any) -> tuple[tuple[Any, Any], None]:
        slope, mean = carry
        position, weight = position_and_weight[0], position_and_weight[1]
        z = x + position * dt * slope
        if before.shape[1]:
            inputs_there = before + position * (after - before)
            z = namespace(z, inputs_there).concatenate([z, inputs_there], axis=1)
        slope = field(z)
        return (slope, mean + weight * slope), None

    if not stages:
        return x + dt * first_weight * first
    table = np.column_stack([stages, weights]).astype(x.dtype)
    (_, mean), _ = loop(stage, (first, first_weight * first), table)
    return x + dt * mean


def _python_loop(body: Callable[..., Any], carry: Any, items: Any) -> tuple[Any, None]:
    """Run a loop like `jax.lax.scan`, for NumPy."""
    for item in items:
        carry, _ = body(carry, item)
    return carry, None
