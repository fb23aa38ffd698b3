"""Slopes of cubic smoothing splines."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from .._common.errors import InputError
from .._common.registry import part
from ..data import Dataset
from ._differentiator import AbstractDifferentiator

_FOLDS = 3
_MIN_POINTS = 8  # leaves five, SciPy's least, when every third is held out
_STRENGTHS = 10.0 ** np.arange(-4, 9)


@part
@final
@dataclass(frozen=True)
class SmoothingSpline(AbstractDifferentiator):
    """Slope of the cubic spline s that minimises sum (y - s)^2 + smoothing * integral s''^2.

    Works on any steps. Runs that share a grid are fitted in one call.

    Parameters
    ----------
    smoothing
        the strength; with None each state gets, on each time grid, the one that best predicts
        held-out points.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 121)
    >>> model = og.OrthoReg("poly(1)", og.Zero(), loss=og.VectorField(og.SmoothingSpline()))
    >>> model.fit(np.exp(-t)[:, None], t=t).equations(2)
    ["x0' = -1.0 x0"]
    """

    smoothing: float | None = None

    def __post_init__(self):
        if self.smoothing is not None and not self.smoothing >= 0:
            raise InputError(
                f"SmoothingSpline(smoothing=...) must be None or at least 0; got {self.smoothing}."
            )

    @property
    def min_points(self) -> int:
        return _MIN_POINTS

    def slopes(self, data: Dataset) -> Float[np.ndarray, "N n"]:
        from scipy.interpolate import make_smoothing_spline

        result = np.empty_like(data.states)
        for runs in runs_by_grid(data):
            rows = data.offsets[runs][:, None] + np.arange(int(data.run_lengths[runs[0]]))
            times = data.times[rows[0]]
            for state in range(data.n_states):
                values = np.ascontiguousarray(data.states[rows, state].T)
                strength = self.smoothing
                if strength is None:
                    strength = best_strength(times, values)
                spline = make_smoothing_spline(times, values, lam=strength)
                result[rows, state] = spline.derivative()(times).T
        return result


def best_strength(times: Float[np.ndarray, " T"], values: Float[np.ndarray, "T R"]) -> float:
    """The strength with the least squared error at held-out inner points, over all runs."""
    from scipy.interpolate import make_smoothing_spline

    unit = np.mean(np.diff(times)) ** 3
    inner = np.arange(1, len(times) - 1)
    errors = np.zeros(len(_STRENGTHS))
    for fold in range(_FOLDS):
        out = inner[fold::_FOLDS]
        kept = np.delete(np.arange(len(times)), out)
        for i, strength in enumerate(_STRENGTHS):
            spline = make_smoothing_spline(times[kept], values[kept], lam=strength * unit)
            errors[i] += np.sum((spline(times[out]) - values[out]) ** 2)
    return float(_STRENGTHS[np.argmin(errors)] * unit)


def runs_by_grid(data: Dataset) -> list[np.ndarray]:
    """Run indices, grouped by equal times."""
    groups: dict[bytes, list[int]] = {}
    for run in range(data.n_runs):
        times = data.times[data.offsets[run] : data.offsets[run + 1]]
        groups.setdefault(times.tobytes(), []).append(run)
    return [np.array(group) for group in groups.values()]
