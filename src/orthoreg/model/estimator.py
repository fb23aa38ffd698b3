"""`OrthoReg`: sparse equations and an orthogonal residual."""

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
from . import _limits as limits
from .model import AbstractModel


@final
class OrthoReg(AbstractModel):
    """dx/dt = f_phy(x) + f_aug(x): sparse equations plus a residual orthogonal to their terms.

    Features and targets are scaled internally, so states and derivatives should have their own
    units: a preceding `StandardScaler` scales the states, but not their derivatives.

    Parameters
    ----------
    library
        candidate terms, as a library or as text such as "poly(2) + fourier(1) + exp(-x)";
        `Polynomial(2) + Fourier(1)` if None. Its sines and cosines are candidates for angles, and
        for other columns only if the data clearly prefer them.
    augmentation
        the residual; `RandomFeatures(400)` if None, `Zero()` for equations alone.
    sparsity
        mu, the weight of the L1 norm of the coefficients, which then selects the terms; if None,
        `selection` does.
    orthogonality
        lam, the weight of the squared overlap of residual and terms; `math.inf` makes the residual
        exactly orthogonal.
    magnitude
        lam2, the weight of the squared size of the residual.
    loss
        how runs become targets; `Auto()` if None: derivatives of clean data, the weak form for
        noisy data.
    selection
        selects the terms of each equation before the solver runs; `Extrapolation()` if None: terms
        that also hold on data that were not fitted. Their coefficients are estimated without L1,
        and the residual is orthogonal to them only. Cannot be combined with `sparsity`, nor with a
        loss on states, which has no derivatives to select by and uses sparsity 0.05.
    solver
        `Exact(normalize=True, most_rows=32768)` if None: weights are relative to the size of
        features and targets, coefficients have no shrinkage (even if `sparsity` selected the
        terms), and at most 32768 rows shape the residual. `Exact()` minimises the objective in the
        units of the data.
    physics
        what is known besides the data, as in `Physics(equations={"theta": "omega"})`.
    gate
        beyond the training data, keeps the residual at its value near their edge. `Gate()` if True;
        None for no gate.
    seed
        seed of the random numbers of the augmentation.

    Attributes
    ----------
    coefficients_
        (equations, terms) in the units of the data; `feature_names_` are the names of the terms,
        and `support_` marks nonzero coefficients.
    selection_
        the result of `selection`: the selected terms, and the error of the best set for each number
        of terms.
    certificate_
        overlap, bounds, duality gap and error split on the training data.
    field_
        the fitted function; its variables are `state_names_` and `input_names_`.
    input_interpolation_
        how each input changes between its rows in simulations: "cubic", or "hold" if it changes in
        steps.

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
                f"selection and sparsity both select the terms; got selection={selection!r} "
                f"and sparsity={self.sparsity!r}. Give only one of them."
            )
        if selection is None and self.sparsity is None:
            selection = Extrapolation()
        elif selection is None and self.solver is None:
            selection = Shrinkage()  # estimates the terms that L1 selects again, without shrinkage
        default_solver = Exact(normalize=True, most_rows=limits.MAX_RESIDUAL_ROWS)
        loss = Auto() if self.loss is None else self.loss
        solver = default_solver if self.solver is None else self.solver
        sparsity = 0.0 if self.sparsity is None else self.sparsity
        return Recipe(
            Polynomial(2) + Fourier(1) if self.library is None else as_library(self.library),
            RandomFeatures() if self.augmentation is None else self.augmentation,
            Regularization(sparsity, self.orthogonality, self.magnitude),
            loss,
            solver,
            selection,
            Gate() if self.gate is True else self.gate or None,
            self.seed,
            library_is_default=self.library is None,
            fallback_sparsity=limits.FALLBACK_SPARSITY if self.selection is None else None,
            follows_trajectories=loss == Auto() and solver == default_solver,
            physics=self.physics,
        )
