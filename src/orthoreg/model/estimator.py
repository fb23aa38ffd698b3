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

    Features and targets are scaled internally, so states and derivatives should keep their original
    units. A preceding `StandardScaler` would scale the states, but not their derivatives.

    Parameters
    ----------
    library
        candidate terms, as a library or as text such as "poly(2) + fourier(1) + exp(-x)";
        `Polynomial(2) + Fourier(1)` if None. The default library has sines and cosines of angles,
        and of other columns only if the data clearly prefer them.
    augmentation
        residual; `RandomFeatures(400)` if None, `Zero()` for equations alone.
    sparsity
        mu, weight of the L1 norm of the coefficients, which then selects the terms. If None,
        `selection` selects the terms.
    orthogonality
        lam, weight of the squared overlap of residual and terms; `math.inf` makes the residual
        exactly orthogonal.
    magnitude
        lam2, weight of the squared size of the residual.
    loss
        loss that converts runs to regression targets. `Auto()` if None: derivatives of clean data,
        the weak form for noisy data.
    selection
        method that selects the terms of each equation before the solver runs. `Extrapolation()` if
        None: it selects terms that also hold on data that were not fitted. The coefficients of the
        selected terms are estimated without L1, and the residual is orthogonal only to these terms.
        Cannot be combined with `sparsity`, nor with a loss on states, which provides no derivatives
        for the selection and uses sparsity 0.05.
    solver
        solver; `Exact(normalize=True, most_rows=32768)` if None: weights are relative to the size
        of features and targets, coefficients are not shrunk (even if `sparsity` selected the
        terms), and at most 32768 rows determine the shape of the residual. `Exact()` minimizes the
        objective in the units of the data.
    physics
        known physics, as in `Physics(equations={"theta": "omega"})`.
    gate
        trust region of the residual. Outside the training data, the residual keeps its value at
        their edge. `Gate()` if True; None for no gate.
    seed
        seed of the random numbers of the augmentation.

    Attributes
    ----------
    coefficients_
        coefficients (equations, terms) in the units of the data. `feature_names_` are the names of
        the terms, and `support_` marks nonzero coefficients.
    selection_
        result of `selection`: the selected terms, and the error of the best set of terms of each
        size.
    certificate_
        overlap, bounds, duality gap and error split on the training data.
    field_
        fitted function of the variables `state_names_` and `input_names_`.
    input_interpolation_
        interpolation of each input between its rows in simulations: "cubic", or "hold" if the input
        changes in steps.

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
            selection = Shrinkage()  # selects terms by L1, then estimates them without shrinkage
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
