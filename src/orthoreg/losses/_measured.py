"""The default: derivatives of clean data, the weak form of noisy ones."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from .._registry import part
from ..data import AnyRows, Dataset, Rows
from ..smoothing import noise_level
from ._loss import AbstractLoss, Segments
from ._vector_field import VectorField
from ._weak import Weak

CLEAN = 1e-3
"""Noise of less than this share of a state's standard deviation leaves its derivative alone."""
CLEAR = 0.1
"""The same for second differences, as a share of the acceleration."""
COARSE = 2e-3
"""The same for what a derivative is off by where samples are too far apart for it."""
_MOST_ROWS = 20_000  # on which that is looked at
_LONG = 40  # rows of a run, below which windows are too few to replace derivatives of clean data


@part
@final
@dataclass(frozen=True)
class Measured(AbstractLoss):
    """`VectorField()` where the data are clean, or come with derivatives; `Weak()` where they are
    noisy or far apart: where noise is more than a thousandth of the standard deviation of some
    state, or would be more than a tenth of an acceleration in its plain second differences, or
    where estimated derivatives are off by more than a five-hundredth and runs hold many windows.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 121)
    >>> model = og.OrthoReg("poly(1)", og.Zero(), loss=og.Measured())
    >>> model.fit(np.exp(-t)[:, None], t=t).equations(2)
    ["x0' = -1.0 x0"]
    """

    def rule(self, data: Dataset) -> AbstractLoss:
        long = data.n_runs and np.median(data.run_lengths) >= _LONG
        weak = is_noisy(data) or (long and is_coarse(data))
        return Weak().rule(data) if weak else VectorField()

    def observe(self, data: Dataset) -> Rows:
        return self.rule(data).observe(data)

    def linear_rows(self, observed) -> AnyRows | None:
        return observed

    def segments(self, observed) -> Segments:
        return self._of(observed).segments(observed)

    def segment_rows(self, observed) -> np.ndarray:
        return np.arange(len(observed.targets))

    def errors(self, field, values, segments, scale) -> Any:
        return VectorField().errors(field, values, segments, scale)

    def targets(self, observed, field) -> np.ndarray:
        return observed.targets

    def derivatives(self, data: Dataset, field) -> np.ndarray:
        return VectorField().derivatives(data, field)

    def _of(self, observed: Rows) -> AbstractLoss:
        return VectorField() if observed.windows is None else Weak()


def is_noisy(data: Dataset) -> bool:
    """Whether derivatives of these data would suffer from noise."""
    if data.derivatives is not None:
        return False
    return bool((noise_share(data) > CLEAN).any() or (curvature_noise(data) > CLEAR).any())


def is_coarse(data: Dataset) -> bool:
    """Whether samples are too far apart for their derivatives to be known well."""
    return data.derivatives is None and derivative_error(data.some_runs(_MOST_ROWS)) > COARSE


def derivative_error(data: Dataset) -> float:
    """The largest error of an estimated derivative, over its root mean square."""
    rows = VectorField().observe(data)
    size = np.mean(rows.targets**2, axis=0)
    moves = size > 0
    return float(np.sqrt(np.max(rows.target_mse[moves] / size[moves], initial=0.0)))


def curvature_noise(data: Dataset) -> np.ndarray:
    """For each position whose velocity was not measured, what its noise leaves in a plain second
    difference, over the size of its acceleration."""
    if not set(data.velocity_of.values()) & set(data.estimated):
        return np.zeros(0)
    level, is_noise = noise_level(data.times, data.states, data.offsets)
    place = {name: c for c, name in enumerate(data.state_names)}
    inside = np.diff(data.run_of_row) == 0
    steps = np.diff(data.times)[inside]
    found = []
    for position, velocity in data.velocity_of.items():
        if velocity in data.estimated and is_noise[place[position]]:
            rate = np.diff(data.states[:, place[velocity]])[inside] / steps
            blurred = np.sqrt(6) * level[place[position]] / np.median(steps) ** 2
            found.append(blurred / max(float(rate.std()), 1e-300))
    return np.array(found)


def noise_share(data: Dataset) -> np.ndarray:
    """The noise of each state that was measured, over the state's standard deviation; zero where
    what is seen is no noise."""
    level, is_noise = noise_level(data.times, data.states, data.offsets)
    spread = data.states.std(axis=0)
    measured = data.is_measured
    return np.where(measured & is_noise & (spread > 0), level / np.maximum(spread, 1e-300), 0.0)
