"""The default loss: derivatives of clean data, the weak form of noisy or coarsely sampled data."""

import warnings
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
class Auto(AbstractRowLoss):
    """`VectorField()` for clean data and data with derivatives, `Weak()` for other data.

    `Weak()` is used if the noise of a state exceeds a thousandth of its standard deviation, or
    the noise in second differences of a position exceeds a tenth of the acceleration. Runs that
    hold many windows also use it if an input jumps or if the error of an estimated derivative
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
        is_long = data.n_runs and np.median(data.run_lengths) >= limits.MIN_ROWS_WEAK_FORM
        use_weak_form = data.plan.is_noisy or (is_long and is_coarse(data))
        return Weak().rule(data) if use_weak_form else VectorField()

    def observe(self, data: Dataset) -> Rows:
        return self.rule(data).observe(data)

    def derivatives(self, data: Dataset, field) -> np.ndarray:
        return VectorField().derivatives(data, field)


def Measured() -> Auto:
    """`Auto()` by its former name, which is deprecated.

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
    """Whether samples are too sparse for accurate derivatives, or an input jumps between them.

    At a jump of an input the derivative has two values.
    """
    return data.plan.decided(_is_coarse)


def _is_coarse(data: Dataset) -> bool:
    if data.derivatives is not None:
        return False
    kinds = input_interpolation(data.input_names, data).values()
    if Interpolation.hold in kinds:
        return True
    subset = data.subsample(limits.MAX_ROWS_DERIVATIVE_ERROR)
    return derivative_error(subset) > limits.COARSE_DERIVATIVE_ERROR


def derivative_error(data: Dataset) -> float:
    """Return the largest root mean squared error of a derivative over its root mean square."""
    rows = VectorField().observe(data)
    mean_square = np.mean(rows.targets**2, axis=0)
    moves = mean_square > 0
    return float(np.sqrt(np.max(rows.target_mse[moves] / mean_square[moves], initial=0.0)))
