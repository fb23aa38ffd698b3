"""Other methods with the interface of `OrthoReg`, for comparison."""

from collections.abc import Mapping
from typing import final

from ..field import MLP, Zero
from ..fitting import Recipe
from ..losses import AbstractLoss, Informed, VectorField
from ..search.rows import Thresholding
from ..solving import AbstractSolver, Adam, Exact, Regularization
from ..terms import AbstractLibrary, Empty, Fourier, Polynomial, as_library
from .model import AbstractModel


@final
class STLSQ(AbstractModel):
    """Equations without a residual: least squares with repeated removal of small coefficients
    (STLSQ).

    The Gram matrix is computed in one pass over the data. The cost of all further steps does not
    depend on the number of samples.

    Parameters
    ----------
    threshold
        minimum size of a coefficient that is kept. The remaining terms are refitted without the
        ridge.
    library
        candidate terms, as a library or as text, as for `OrthoReg`.
    alpha
        weight of the ridge during the removal, for sums of squares.
    rounds
        maximum number of rounds.
    loss
        loss that converts runs to targets; `VectorField()` if None.

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


@final
class UniversalODE(AbstractModel):
    """dx/dt = N(x): a network without equations.

    Parameters
    ----------
    width, depth
        size of the network, as for `MLP`.
    loss
        loss; the default `MultiStep()` trains the network through the integrator, on states only.
    solver
        solver; `Adam(normalize=True)` if None.
    seed
        seed of the initial weights.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 121)
    >>> solver = og.Adam(epochs=5)
    >>> model = og.UniversalODE(width=8, depth=1, solver=solver)
    >>> model.fit(np.exp(-t)[:, None], t=t).predict([[0.5]]).shape
    (1, 1)
    """

    def __init__(
        self,
        width: int = 128,
        depth: int = 3,
        *,
        loss: AbstractLoss | None = None,
        solver: AbstractSolver | None = None,
        seed: int = 0,
    ):
        self.width = width
        self.depth = depth
        self.loss = loss
        self.solver = solver
        self.seed = seed

    def recipe(self) -> Recipe:
        return _network_recipe(
            self.width,
            self.depth,
            VectorField() if self.loss is None else self.loss,
            self.solver,
            self.seed,
        )


@final
class PINN(AbstractModel):
    """dx/dt = N(x), where N is trained towards partly known equations.

    Parameters
    ----------
    known
        known equations by state, with numerical constants, as in {"omega": "-sin(theta) -
        0.2*omega"}. Other states have no known equation.
    weight
        weight of the squared distance between N and the known equations at the measured states,
        relative to the squared distance to the derivatives.
    width, depth
        size of the network, as for `MLP`.
    solver
        solver; `Adam(normalize=True)` if None.
    seed
        seed of the initial weights.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 121)
    >>> solver = og.Adam(epochs=5)
    >>> model = og.PINN({"x0": "-x0"}, width=8, depth=1, solver=solver)
    >>> model.fit(np.exp(-t)[:, None], t=t).predict([[0.5]]).shape
    (1, 1)
    """

    def __init__(
        self,
        known: Mapping[str, str] | None = None,
        *,
        weight: float = 1.0,
        width: int = 128,
        depth: int = 3,
        solver: AbstractSolver | None = None,
        seed: int = 0,
    ):
        self.known = known
        self.weight = weight
        self.width = width
        self.depth = depth
        self.solver = solver
        self.seed = seed

    def recipe(self) -> Recipe:
        return _network_recipe(
            self.width,
            self.depth,
            VectorField() if self.known is None else Informed(self.known, self.weight),
            self.solver,
            self.seed,
        )


def _network_recipe(
    width: int, depth: int, loss: AbstractLoss, solver: AbstractSolver | None, seed: int
) -> Recipe:
    return Recipe(
        Empty(),
        MLP(width, depth),
        Regularization(0.0, 0.0, 0.0),
        loss,
        Adam(normalize=True) if solver is None else solver,
        seed=seed,
    )
