"""`Plan`: the parts that a model is made of, every default filled in."""

from dataclasses import dataclass
from typing import Any, final

from ._errors import InputError
from ._gate import Gate
from .augmentations import AbstractAugmentation
from .libraries import AbstractLibrary
from .losses import AbstractLoss
from .selection import AbstractSelection
from .solvers import AbstractSolver, Strengths


@final
@dataclass(frozen=True, eq=False)
class Plan:
    """The parts of a model with every default filled in."""

    library: AbstractLibrary
    augmentation: AbstractAugmentation
    strengths: Strengths
    loss: AbstractLoss
    solver: AbstractSolver
    selection: AbstractSelection | None = None
    gate: Gate | None = None


def checked_plan(
    library: Any,
    augmentation: Any,
    strengths: Strengths,
    loss: Any,
    solver: Any,
    selection: Any = None,
    gate: Any = None,
) -> Plan:
    """The plan, after a look at the kind of each part."""
    for name, part, kind, example in (
        ("library", library, AbstractLibrary, "Polynomial(2) or text such as 'poly(2)'"),
        ("augmentation", augmentation, AbstractAugmentation, "RandomFeatures(400) or Zero()"),
        ("solver", solver, AbstractSolver, "Exact() or Adam()"),
        ("loss", loss, AbstractLoss, "VectorField() or OneStep()"),
    ):
        if not isinstance(part, kind):
            raise InputError(f"{name} must be a part such as {example}; got {part!r}.")
    if selection is not None and not isinstance(selection, AbstractSelection):
        raise InputError(
            f"selection must be a part such as Extrapolation() or None; got {selection!r}."
        )
    if gate is not None and not isinstance(gate, Gate):
        raise InputError(f"gate must be Gate() or None; got {gate!r}.")
    return Plan(library, augmentation, strengths, loss, solver, selection, gate)
