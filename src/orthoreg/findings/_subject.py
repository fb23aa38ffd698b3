"""`Subject`: the parts of a fitted model that findings need."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Bool

from ..data import PerRun
from ..diagnostics import Certificate
from ..export import CoefficientUnits, equation_names, learned_equations
from ..field.hybrid import HybridField
from ..fitting import Recipe
from ..losses import AbstractDifferentiator
from ..matching import Correlation, Undetermined
from ..physics import ImplicitSystem, Starts
from ..search.rows import EquationPath, TermEvidence


@final
@dataclass(frozen=True, eq=False)
class Subject:
    """The parts of a fitted model that findings need.

    `recipe` has the model's library and known physics but default settings and no residual. It
    serves to try other columns.

    `field` is f with its terms and coefficients. `evidence` is the evidence for the terms from
    resamples or trajectories if a selection chose them (`is_selected`). `left_out` are terms of the
    default library that were not considered. `velocity_of` and `given` are the given equations,
    `parameters` the estimated constants with their intervals, and `estimated` the unmeasured
    states. `widths` are the half-widths of the weak form, if it was used. `refined` describes the
    result of matching trajectories. `is_stuck` is true if the match found no minimum, and
    `knows_noise` if the intervals come from the match. `units` are the units of the columns,
    `coefficient_units` those of the coefficients if known. `fixed` (equations x terms) marks given
    coefficients. `complete` are the equations to which no terms can be added, `systems` the
    equations with several derivatives, and `paths` the selections of terms. `accepted` are the
    terms added to the library, by equation. `correlations` are correlations of estimates,
    `at_bounds` the estimates at a bound. `discrete` is true if the equations are a map. `hidden`
    states and constants `per_run` were estimated, with rules for their `starts`. The data determine
    only combinations of `undetermined` constants.
    """

    equations: tuple[str, ...]
    outputs: tuple[str, ...]
    discrete: bool
    velocity_of: Mapping[str, str]
    given: tuple[str, ...]
    parameters: tuple[tuple[str, float, tuple[float, float] | None], ...]
    estimated: tuple[str, ...]
    field: HybridField
    recipe: Recipe
    differentiation: AbstractDifferentiator
    certificate: Certificate
    evidence: TermEvidence | None
    is_selected: bool
    left_out: tuple[str, ...] = ()
    widths: tuple[float, ...] = ()
    refined: str = ""
    accepted: tuple[str, ...] = ()
    correlations: tuple[Correlation, ...] = ()
    at_bounds: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    per_run: tuple[PerRun, ...] = ()
    starts: Starts | None = None
    undetermined: Undetermined | None = None
    is_stuck: bool = False
    knows_noise: bool = False
    units: Mapping[str, str] | None = None
    coefficient_units: CoefficientUnits | None = None
    fixed: Bool[np.ndarray, "c K"] | None = None
    complete: tuple[int, ...] = ()
    systems: tuple[ImplicitSystem, ...] = ()
    interpolation: Mapping[str, str] | None = None
    paths: tuple[EquationPath, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The left sides of the equations, such as theta' for a second-order equation."""
        return equation_names(self.outputs, self.velocity_of, discrete=self.discrete)

    @property
    def learned(self) -> list[int]:
        """The indices of equations that were not given, or of all equations if all were given."""
        learned = learned_equations(self.outputs, self.velocity_of)
        constants = {constant.name for constant in self.per_run}
        learned = [c for c in learned if self.outputs[c] not in constants]
        return [c for c in learned if self.outputs[c] not in self.given] or learned
