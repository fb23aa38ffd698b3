"""`OrthoReg`: sparse equations and an orthogonal residual, the estimator of this package."""

import math
from typing import final

from .._common.errors import InputError
from ..field import AbstractAugmentation, RandomFeatures
from ..field.gate import Gate
from ..fitting import Recipe
from ..losses import AbstractLoss, Auto
from ..physics import Physics
from ..search.rows import AbstractSelection, Extrapolation, Shrinkage
from ..solving import AbstractSolver, Exact, Regularization
from ..terms import AbstractLibrary, Fourier, Polynomial, as_library
from .model import AbstractModel

_SPARSITY = 0.05  # where a loss on states leaves nothing to select by
_MOST_ROWS = 2**15  # that the default residual is shaped on


@final
class OrthoReg(AbstractModel):
    """dx/dt = f_phy(x) + f_aug(x): sparse equations plus a residual orthogonal to their terms.

    Give states and derivatives in their own units. Features and targets are scaled inside; a
    `StandardScaler` in front would scale the states but not the derivatives that belong to them.

    Parameters
    ----------
    library
        candidate terms, as a library or as text such as "poly(2) + fourier(1) + exp(-x)";
        `Polynomial(2) + Fourier(1)` if None, whose sines and cosines are candidates only for
        angles, and for other columns if the data clearly prefer them.
    augmentation
        the residual; `RandomFeatures(400)` if None, `Zero()` for equations alone.
    sparsity
        mu, the weight of the L1 norm of the coefficients, which then chooses the terms; None leaves
        that to `selection`.
    orthogonality
        lam, the weight of the squared overlap of residual and terms; `math.inf` makes the residual
        exactly orthogonal.
    magnitude
        lam2, the weight of the squared size of the residual.
    loss
        how runs become targets; `Auto()` if None: derivatives where the data are clean, the
        weak form where they are noisy.
    selection
        chooses the terms of each equation before the solver sees them; `Extrapolation()` if None:
        those that still hold where they were not fitted. They are solved for without L1, and the
        residual is kept orthogonal to them alone. Cannot be given with `sparsity`, nor with a loss
        on states, which has no derivatives to select by and takes sparsity 0.05.
    solver
        `Exact(normalize=True, most_rows=32768)` if None: weights relative to the size of features
        and targets, coefficients without shrinkage (also of terms that `sparsity` chose), a
        residual that is shaped on at most so many rows. `Exact()` minimises the objective as it
        stands, in the units of the data.
    physics
        what is known beside the data, as in `Physics(equations={"theta": "omega"})`.
    gate
        holds the residual beyond the training data at what it is near their edge; `Gate()` if True,
        and None lets it go on.
    seed
        of the random numbers that the augmentation starts from.

    Attributes
    ----------
    coefficients_
        (equations, terms) in the units of the data; `feature_names_` names the terms, `support_`
        says which are not zero.
    selection_
        what `selection` found: the chosen terms, and the error of the best choice for each number
        of terms.
    certificate_
        overlap, bounds, duality gap and error split on the training data.
    field_
        the fitted function; `state_names_`, `input_names_` its variables.
    input_interpolation_
        for each input how it runs between its rows in simulations, as far as the data show:
        "cubic", or "hold" where it changes in steps.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 200)
    >>> x = np.column_stack([np.cos(t), -np.sin(t)])
    >>> model = og.OrthoReg(library=og.Polynomial(1)).fit(x, t=t)
    >>> model.equations()
    ["x0' = 1.000 x1", "x1' = -1.000 x0"]
    >>> model.simulate([1.0, 0.0], np.linspace(0, 1, 3)).x.round(3)[-1].tolist()
    [0.54, -0.841]
    """

    def __init__(
        self,
        library: AbstractLibrary | str | None = None,
        augmentation: AbstractAugmentation | None = None,
        *,
        sparsity: float | None = None,
        orthogonality: float = math.inf,
        magnitude: float = 0.0,
        loss: AbstractLoss | None = None,
        selection: AbstractSelection | None = None,
        solver: AbstractSolver | None = None,
        physics: Physics | None = None,
        gate: Gate | bool | None = True,
        seed: int = 0,
    ):
        self.library = library
        self.augmentation = augmentation
        self.sparsity = sparsity
        self.orthogonality = orthogonality
        self.magnitude = magnitude
        self.loss = loss
        self.selection = selection
        self.solver = solver
        self.physics = physics
        self.gate = gate
        self.seed = seed

    def recipe(self) -> Recipe:
        selection = self.selection
        if selection is not None and self.sparsity is not None:
            raise InputError(
                f"selection and sparsity both choose the terms; got selection={selection!r} "
                f"and sparsity={self.sparsity!r}. Give one of them and leave the other out."
            )
        if selection is None and self.sparsity is None:
            selection = Extrapolation()
        elif selection is None and self.solver is None:
            selection = Shrinkage()  # what L1 leaves is solved for again, without shrinkage
        sparsity = 0.0 if self.sparsity is None else self.sparsity
        return Recipe(
            Polynomial(2) + Fourier(1) if self.library is None else as_library(self.library),
            RandomFeatures() if self.augmentation is None else self.augmentation,
            Regularization(sparsity, self.orthogonality, self.magnitude),
            Auto() if self.loss is None else self.loss,
            Exact(normalize=True, most_rows=_MOST_ROWS) if self.solver is None else self.solver,
            selection,
            Gate() if self.gate is True else self.gate or None,
            self.seed,
            library_is_default=self.library is None,
            fallback_sparsity=_SPARSITY if self.selection is None else None,
            follows_trajectories=self.loss is None and self.solver is None,
            physics=self.physics,
        )
