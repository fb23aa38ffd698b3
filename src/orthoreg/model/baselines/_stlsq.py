"""Sequentially thresholded least squares, the solver that SINDy is known by."""

from typing import final

from ...field import Zero
from ...fitting import Recipe
from ...losses import AbstractLoss, VectorField
from ...search.rows import Thresholding
from ...solving import Exact, Regularization
from ...terms import AbstractLibrary, Fourier, Polynomial, as_library
from ..model import AbstractModel


@final
class STLSQ(AbstractModel):
    """Equations alone: least squares in which small coefficients are struck out until none is left.

    Computed from the Gram matrix: the cost does not grow with the number of samples after one pass.

    Parameters
    ----------
    threshold
        terms below it leave; the others are refitted without the ridge.
    library
        candidate terms, as a library or as text, as for `OrthoReg`.
    alpha
        the ridge weight on the sum of squares meanwhile.
    rounds
        at most so many times.
    loss
        how runs become targets; `VectorField()` if None.

    Examples
    --------
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
