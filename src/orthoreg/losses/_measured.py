"""The default: derivatives of clean data, the weak form of noisy ones."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from .._registry import part
from ..data import Dataset, Rows
from ..smoothing import noise_level
from ._loss import AbstractLoss, Segments
from ._vector_field import VectorField
from ._weak import Weak

CLEAN = 1e-3
"""Noise of less than this share of a state's standard deviation leaves its derivative alone."""


@part
@final
@dataclass(frozen=True)
class Measured(AbstractLoss):
    """`VectorField()` where the data are clean, or come with derivatives; `Weak()` where they are
    noisy: where noise is more than a thousandth of the standard deviation of some state."""

    def rule(self, data: Dataset) -> AbstractLoss:
        return Weak().rule(data) if is_noisy(data) else VectorField()

    def observe(self, data: Dataset) -> Rows:
        return self.rule(data).observe(data)

    def linear_rows(self, observed) -> Rows | None:
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
    return data.derivatives is None and bool((noise_share(data) > CLEAN).any())


def noise_share(data: Dataset) -> np.ndarray:
    """The noise of each state that was measured, over the state's standard deviation; zero where
    what is seen is no noise."""
    level, is_noise = noise_level(data.times, data.states, data.offsets)
    spread = data.states.std(axis=0)
    measured = np.array([name not in data.estimated for name in data.state_names])
    return np.where(measured & is_noise & (spread > 0), level / np.maximum(spread, 1e-300), 0.0)
