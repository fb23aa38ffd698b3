"""`Recipe`, the components of a model, and `Fit`, the frozen result of fitting it."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
from jaxtyping import Float

from .._common.arrays import Mask
from .._common.errors import InputError
from ..data import CLEAN, Dataset, Schema
from ..diagnostics import Certificate
from ..field import AbstractAugmentation
from ..field.gate import Gate
from ..field.hybrid import HybridField, switching_terms
from ..losses import AbstractLoss
from ..matching import Inclusion, Refinement, Uncertainty, refine
from ..physics import Knowledge, Physics
from ..search import DelayEstimate
from ..search.rows import AbstractSelection, SelectionResult, TermEvidence, term_evidence
from ..solving import AbstractSolver, Regularization, Training
from ..terms import AbstractLibrary, UnitAlgebra, parameter_bounds
from . import _limits as limits
from ._update import Drift, RowRecord


@final
@dataclass(frozen=True, eq=False)
class Recipe:
    """The components of a model.

    `library_is_default` is true if the user did not choose the library. `fallback_sparsity` selects
    terms if the loss has no rows for the selection; without it, such a loss is an error. With
    `follows_trajectories`, forecasts decide whether the residual is kept, and the constants of
    noisy runs are matched to trajectories. `physics` is prior knowledge, `units` are the units of
    the columns, and `algebra` contains the units that can be compared. `left_out` names
    terms of the library that are not candidates.
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
    units: Mapping[str, str] = dataclasses.field(default_factory=dict)
    algebra: UnitAlgebra | None = None
    left_out: tuple[str, ...] = ()

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
                f"physics must be a part such as Physics(equations={{'x': 'v'}}), or None; "
                f"got {self.physics!r}."
            )
        if self.gate is not None and not isinstance(self.gate, Gate):
            raise InputError(f"gate must be Gate() or None; got {self.gate!r}.")
        is_integer = isinstance(self.seed, int | np.integer) and not isinstance(self.seed, bool)
        if not is_integer or self.seed < 0:
            raise InputError(f"seed must be a whole number of at least 0; got {self.seed!r}.")

    def parameter_bounds(self, known: Knowledge) -> dict[str, tuple[float, float]]:
        """Return the bounds on parameters in the library and in the physics."""
        return parameter_bounds(self.library) | known.parameter_bounds


def needs_rows(recipe: Recipe) -> bool:
    """Return whether a fit needs individual rows.

    Networks trained by gradients and losses that predict in time need them. For other fits, sums
    over rows are sufficient.
    """
    return recipe.solver.needs_rows or not recipe.loss.is_linear


@final
@dataclass(frozen=True, eq=False)
class TrainingRuns:
    """Runs, the loss that converts them to rows, and the interpolation of inputs between
    samples.
    """

    data: Dataset
    loss: AbstractLoss
    interpolation: Mapping[str, str]


@final
@dataclass(frozen=True, eq=False)
class Columns:
    """Names and meaning of the columns of the training data.

    `outputs` are the variables whose derivatives the equations give, `interpolation` is the
    interpolation of inputs between samples, and `loss` is the loss that converted the data to rows.
    `target_is_flat` is true if the targets were one-dimensional. `feature_names` are the column
    names of a data frame, as in scikit-learn.
    """

    schema: Schema
    outputs: tuple[str, ...]
    interpolation: Mapping[str, str]
    loss: AbstractLoss | None = None
    target_is_flat: bool = False
    feature_names: np.ndarray | None = None


@final
@dataclass(frozen=True, eq=False)
class Fit:
    """The result of a fit. A model holds one `Fit`; every change creates a new one.

    From rows: the field, its certificate, the selection of terms, the training, and the range of
    each variable. From trajectories: the refinement of constants, the probabilities of terms, and
    the interpolation of inputs. `uncertainty` comes from rows and is used without a refinement.
    From named data: the columns, the knowledge about coefficients, the bounds on inner parameters,
    the noisy runs from which intervals are computed, accepted proposals and estimated delays. From
    a model file: the stored evidence for the terms, because model files contain no moments. For
    updates with new data: sums over the rows of the fit, the number of updates, and the last test
    of drift. `horizon` is the time for which forecasts of a chaotic system are reliable, or None
    for other systems.
    """

    field: HybridField
    certificate: Certificate
    selection: SelectionResult | None
    training: Training | None
    range: Float[np.ndarray, "2 V"]
    refinement: Refinement | None = None
    uncertainty: Uncertainty | None = None
    inclusion: Inclusion | None = None
    interpolation: Mapping[str, str] | None = None
    columns: Columns | None = None
    knowledge: Knowledge | None = None
    bounds: Mapping[str, tuple[float, float]] = dataclasses.field(default_factory=dict)
    runs: TrainingRuns | None = None
    accepted: tuple[Mapping[str, Any], ...] = ()
    stored_evidence: TermEvidence | None = None
    delays: DelayEstimate | None = None
    record: RowRecord | None = None
    updates: int = 0
    drift: Drift | None = None
    horizon: float | None = None

    def with_columns(
        self,
        columns: Columns,
        knowledge: Knowledge,
        bounds: Mapping[str, tuple[float, float]],
        runs: TrainingRuns | None = None,
    ) -> "Fit":
        """Return the fit of rows as a fit of named data.

        `runs` are kept if intervals will be computed from them.
        """
        keeps_runs = runs is not None and _needs_runs(self, runs)
        if self.interpolation is not None:
            columns = replace(columns, interpolation=self.interpolation)
        return replace(
            self,
            columns=columns,
            knowledge=knowledge,
            bounds=bounds,
            runs=runs if keeps_runs else None,
        )

    def with_field(self, field: HybridField, certificate: Certificate) -> "Fit":
        """Return the fit with a new field for other data.

        Results that describe the old field are dropped.
        """
        assert self.columns is not None
        selection = self.selection
        return Fit(
            field, certificate, selection and replace(selection, evidence=None), None, self.range,
            columns=self.columns, knowledge=self.knowledge, bounds=self.bounds,
            accepted=self.accepted,
        )  # fmt: skip

    @property
    def support(self) -> Mask:
        """Mask of the terms in use."""
        return np.asarray(self.field.coefficients) != 0

    @cached_property
    def matched(self) -> Refinement | None:
        """The refinement of the constants on trajectories.

        If the fit was not refined, the refinement is computed from the stored noisy runs, because
        noise biases derivatives.
        """
        is_kept = self.refinement is not None and self.refinement.kept
        if is_kept or self.runs is None:
            return self.refinement
        return refine(
            self.field,
            self.runs.data,
            interpolation=self.runs.interpolation,
            bounds=self.bounds,
            residual=False,
            knowledge=self.knowledge,
        )

    @cached_property
    def estimates(self) -> Uncertainty | None:
        """The constants with their joint covariance, from which all intervals are computed.

        They come from trajectories if available, otherwise from rows. None if there are too few
        rows to show noise.
        """
        matched = self.matched
        result = self.uncertainty
        if matched is not None and matched.uncertainty is not None:
            if self._has_few_rows and not self._trajectories_show_noise:
                return None  # few exact rows show neither noise nor differences between runs
            result = matched.uncertainty
        if result is None or self.delays is None:
            return result
        return self.delays.joined(result)

    @cached_property
    def evidence(self) -> TermEvidence | None:
        """Evidence for the terms, from resamples and trajectories.

        None if no selection chose the terms and the runs are not noisy.
        """
        evidence = self._selection_evidence
        return self._trajectory_evidence() if evidence is None else self.with_intervals(evidence)

    def resampled_evidence(self, resamples: int, seed: int) -> TermEvidence | None:
        """Return the evidence from other resamples, or None without a selection."""
        if self.selection is None:
            return None
        evidence = term_evidence(
            self.selection, self.field.features, self.support, matched=self.inclusion,
            resamples=resamples, seed=seed,
        )  # fmt: skip
        return None if evidence is None else self.with_intervals(evidence)

    def with_intervals(self, evidence: TermEvidence) -> TermEvidence:
        """Return the evidence with the intervals of the estimates."""
        if self.estimates is None:
            return evidence
        coefficients = np.asarray(self.field.coefficients)
        return replace(evidence, interval=self.estimates.coefficient_intervals(coefficients))

    @cached_property
    def _selection_evidence(self) -> TermEvidence | None:
        if self.stored_evidence is not None or self.selection is None:
            return self.stored_evidence
        return term_evidence(
            self.selection, self.field.features, self.support, matched=self.inclusion
        )

    @property
    def _has_few_rows(self) -> bool:
        if self.selection is not None and self.selection.evidence is not None:
            return not self.selection.evidence.can_be_resampled
        evidence = self._selection_evidence
        return evidence is not None and bool(np.isnan(evidence.interval).any())

    @property
    def _trajectories_show_noise(self) -> bool:
        """Return whether the residuals of trajectories are noise.

        Otherwise, they are rounding errors of integrators and files.
        """
        matched = self.matched
        if matched is None or matched.noise is None:
            return False
        noise = np.where(np.isfinite(matched.noise), matched.noise, 0.0)
        span = self.range[1, : len(noise)] - self.range[0, : len(noise)]
        return bool((noise > CLEAN * span / 4).any())

    def _trajectory_evidence(self) -> TermEvidence | None:
        """Return the evidence from trajectories alone, for terms that no selection chose.

        The odds of a term follow from the Bayesian information criterion. They are exp(z^2 / 2) /
        sqrt(N), where z is the coefficient in standard errors.
        """
        matched = self.matched
        if matched is None or matched.uncertainty is None:
            return None
        intervals = matched.coefficient_intervals()
        errors, values = matched.standard_errors, matched.values
        assert intervals is not None and values is not None and errors is not None
        support = self.support
        probability = support.astype(float)
        count = len(matched.places)
        z = values[:count] / np.maximum(errors[:count], 1e-300)
        for place, gain in zip(matched.places, z**2 - np.log(matched.rows_used), strict=True):
            probability[place] = 1 / (1 + np.exp(-np.clip(gain, -50, 50) / 2))
        return TermEvidence(support, probability, intervals, (), from_trajectories=True)


def _needs_runs(fit: Fit, runs: TrainingRuns) -> bool:
    """Return whether intervals of this fit are computed from its runs.

    This requires noisy runs that are not too large, and a fit without residual and jumps.
    """
    return (
        fit.refinement is None
        and runs.data.n_samples <= limits.MAX_ROWS_KEPT
        and not np.any(np.asarray(fit.field.weights))
        and not switching_terms(fit.field)
        and runs.data.plan.is_noisy
    )
