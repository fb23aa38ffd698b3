"""Sequentially thresholded least squares, the solver that SINDy is known by."""

from typing import final

from .._model import AbstractModel
from ..augmentations import Zero
from ..fitting import Recipe
from ..libraries import AbstractLibrary, Fourier, Polynomial, as_library
from ..losses import AbstractLoss, VectorField
from ..selection import Thresholding
from ..solvers import Exact, Regularization


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

    def recipe(self) -> Recipe:
        return Recipe(
            Polynomial(2) + Fourier(1) if self.library is None else as_library(self.library),
            Zero(),
            Regularization(0.0, 0.0, 0.0),
            VectorField() if self.loss is None else self.loss,
            Exact(),
            Thresholding(self.threshold, self.alpha, self.rounds),
        )
