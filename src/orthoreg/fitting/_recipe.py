"""`Recipe`: the parts that a model is made of, every default filled in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from .._common.errors import InputError
from ..augmentations import AbstractAugmentation
from ..field.gate import Gate
from ..libraries import AbstractLibrary
from ..losses import AbstractLoss
from ..physics import Physics
from ..selection import AbstractSelection
from ..solvers import AbstractSolver, Regularization


@final
@dataclass(frozen=True, eq=False)
class Recipe:
    """The parts of a model.

    `library_is_default` says that nobody chose the library. `fallback_sparsity` chooses the terms
    where a loss has no rows for the selection to work on; without it that is refused.
    `follows_trajectories` lets forecasts decide about the residual, and refines the constants of
    noisy runs. `physics` is what is known beside the data, `units` the units of columns.
    """

    library: AbstractLibrary
    augmentation: AbstractAugmentation
    regularization: Regularization
    loss: AbstractLoss
    solver: AbstractSolver
    selection: AbstractSelection | None = None
    gate: Gate | None = None
    seed: Any = 0
    library_is_default: bool = False
    fallback_sparsity: float | None = None
    follows_trajectories: bool = False
    physics: Physics | None = None
    units: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self):
        for name, kind, example in (
            ("library", AbstractLibrary, "Polynomial(2) or text such as 'poly(2)'"),
            ("augmentation", AbstractAugmentation, "RandomFeatures(400) or Zero()"),
            ("solver", AbstractSolver, "Exact() or Adam()"),
            ("loss", AbstractLoss, "VectorField() or MultiStep(10)"),
        ):
            part = getattr(self, name)
            if not isinstance(part, kind):
                raise InputError(f"{name} must be a part such as {example}; got {part!r}.")
        if self.selection is not None and not isinstance(self.selection, AbstractSelection):
            raise InputError(
                f"selection must be a part such as Extrapolation() or None; got {self.selection!r}."
            )
        if self.physics is not None and not isinstance(self.physics, Physics):
            raise InputError(
                f"physics must be what is known, such as Physics(equations={{'x': 'v'}}), or None; "
                f"got {self.physics!r}."
            )
        if self.gate is not None and not isinstance(self.gate, Gate):
            raise InputError(f"gate must be Gate() or None; got {self.gate!r}.")
        whole = isinstance(self.seed, int | np.integer) and not isinstance(self.seed, bool)
        if not whole or self.seed < 0:
            raise InputError(f"seed must be a whole number of at least 0; got {self.seed!r}.")


def needs_rows(recipe: Recipe) -> bool:
    """Whether a fit looks at rows one by one: sums over them are not enough for networks that are
    trained by gradients, and for losses that are predictions in time."""
    return recipe.solver.needs_rows or not recipe.loss.is_linear
