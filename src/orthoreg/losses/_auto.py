"""The default loss: derivatives of clean data, the weak form of noisy data."""

from dataclasses import dataclass
from typing import final

import numpy as np

from .._common.registry import part
from ..data import Dataset, Rows
from ..simulation import Interpolation, input_interpolation
from . import _limits as limits
from ._loss import AbstractRowLoss
from ._vector_field import VectorField
from ._weak import Weak


@part
@final
@dataclass(frozen=True)
class Measured(AbstractRowLoss):
    """`VectorField()` where the data are clean, or come with derivatives; `Weak()` where they are
    noisy or far apart: where noise is more than a thousandth of the standard deviation of some
    state, or would be more than a tenth of an acceleration in its plain second differences, or
    where an input jumps or estimated derivatives are off by more than a five-hundredth, and runs
    hold many windows.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 121)
    >>> model = og.OrthoReg("poly(1)", og.Zero(), loss=og.Measured())
    >>> model.fit(np.exp(-t)[:, None], t=t).equations(2)
    ["x0' = -1.0 x0"]
    """

    def rule(self, data: Dataset) -> AbstractRowLoss:
        long = data.n_runs and np.median(data.run_lengths) >= limits.MIN_ROWS_WEAK_FORM
        weak = data.plan.is_noisy or (long and is_coarse(data))
        return Weak().rule(data) if weak else VectorField()

    def observe(self, data: Dataset) -> Rows:
        return self.rule(data).observe(data)

    def derivatives(self, data: Dataset, field) -> np.ndarray:
        return VectorField().derivatives(data, field)


def is_coarse(data: Dataset) -> bool:
    """Whether samples are too far apart for their derivatives to be known well, or an input jumps
    between them: derivatives have two values there."""
    return data.plan.decided(_is_coarse)


def _is_coarse(data: Dataset) -> bool:
    if data.derivatives is not None:
        return False
    kinds = input_interpolation(data.input_names, data).values()
    if Interpolation.hold in kinds:
        return True
    some = data.some_runs(limits.MAX_ROWS_DERIVATIVE_ERROR)
    return derivative_error(some) > limits.COARSE_DERIVATIVE_ERROR


def derivative_error(data: Dataset) -> float:
    """The largest error of an estimated derivative, over its root mean square."""
    rows = VectorField().observe(data)
    size = np.mean(rows.targets**2, axis=0)
    moves = size > 0
    return float(np.sqrt(np.max(rows.target_mse[moves] / size[moves], initial=0.0)))
