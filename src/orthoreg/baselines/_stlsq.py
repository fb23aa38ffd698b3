"""Sequentially thresholded least squares, the solver that SINDy is known by."""

from typing import final

from .._model import AbstractModel
from .._plan import Plan, checked_plan
from ..augmentations import Zero
from ..libraries import AbstractLibrary, Fourier, Polynomial, as_library
from ..losses import AbstractLoss, VectorField
from ..solvers import Strengths, Thresholding, TwoStage


@final
class STLSQ(AbstractModel):
    """Equations alone: least squares in which small coefficients are struck out until none is left.

    Terms below `threshold` leave, `alpha` is the ridge weight on the sum of squares meanwhile, and
    the coefficients of the terms that stay are refitted without it. Computed from the Gram matrix:
    the cost does not grow with the number of samples after one pass. `library` may be text, as for
    `OrthoReg`.

    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 200)
    >>> x = np.column_stack([np.cos(t), -np.sin(t)])
    >>> og.STLSQ(threshold=0.1, library=og.Polynomial(2)).fit(x, t=t).equations()
    ["x0' = 1.000 x1", "x1' = -1.000 x0"]
    """

    seed = 0

    def __init__(
        self,
        threshold: float = 0.045,
        library: AbstractLibrary | str | None = None,
        *,
        alpha: float = 0.05,
        rounds: int = 20,
        loss: AbstractLoss | None = None,
    ):
        self.threshold = threshold
        self.library = library
        self.alpha = alpha
        self.rounds = rounds
        self.loss = loss

    def _plan(self) -> Plan:
        return checked_plan(
            Polynomial(2) + Fourier(1) if self.library is None else as_library(self.library),
            Zero(),
            Strengths(0.0, 0.0, 0.0),
            VectorField() if self.loss is None else self.loss,
            TwoStage(Thresholding(self.threshold, self.alpha, self.rounds)),
        )
