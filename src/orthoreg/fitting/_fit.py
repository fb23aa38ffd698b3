"""`Fit`: all that was learned, frozen, and what follows from it about terms and constants."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
from jaxtyping import Float

from .._common.typing import Mask
from ..data import CLEAN, Dataset, Schema
from ..diagnostics import Certificate
from ..field.hybrid import HybridField, switching_terms
from ..losses import AbstractLoss
from ..physics import Knowledge
from ..refinement import Refinement, Uncertainty, refine
from ..selection import SelectionResult, TermEvidence, term_evidence
from ..solvers import Training
from . import _limits as limits


@final
@dataclass(frozen=True, eq=False)
class Runs:
    """The runs that rows were made of, by which loss, and how their inputs run between samples."""

    data: Dataset
    loss: AbstractLoss
    interpolation: Mapping[str, str]


@final
@dataclass(frozen=True, eq=False)
class Columns:
    """What the data that a model was fitted to are called: their schema, what each equation is the
    derivative of, how inputs run between samples, the loss that made rows of them, and whether
    targets had a single dimension. `feature_names` are those of a frame, as scikit-learn has them.
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
    """All that a fit learned. A model holds one, and what changes it makes another one.

    Of rows: the function, what can be proved of it, how its terms were chosen, how training went,
    the least and largest value of each variable, what refining its constants on trajectories gave,
    how well rows determine the constants where trajectories do not, how probable trajectories make
    each term, and how inputs run between samples, where trajectories decided. Of data with names:
    these, what is known of the coefficients with the bounds of inner parameters, the noisy runs
    that intervals ask, and the proposals that were accepted. Of a model file: the evidence about
    the terms, whose moments it does not hold.
    """

    field: HybridField
    certificate: Certificate
    selection: SelectionResult | None
    training: Training | None
    range: Float[np.ndarray, "2 V"]
    refinement: Refinement | None = None
    uncertainty: Uncertainty | None = None
    inclusion: Float[np.ndarray, "c K"] | None = None
    interpolation: Mapping[str, str] | None = None
    columns: Columns | None = None
    knowledge: Knowledge | None = None
    bounds: Mapping[str, tuple[float, float]] = dataclasses.field(default_factory=dict)
    runs: Runs | None = None
    accepted: tuple[Mapping[str, Any], ...] = ()
    filed_evidence: TermEvidence | None = None

    def of(
        self,
        columns: Columns,
        knowledge: Knowledge,
        bounds: Mapping[str, tuple[float, float]],
        runs: Runs | None = None,
    ) -> "Fit":
        """The fit of rows as one of data with names. `runs` are those of a fit that did not follow
        them; they are kept where intervals will ask them."""
        keeps = runs is not None and _keeps_runs(self, runs)
        if self.interpolation is not None:
            columns = replace(columns, interpolation=self.interpolation)
        return replace(
            self, columns=columns, knowledge=knowledge, bounds=bounds, runs=runs if keeps else None
        )

    def changed(self, field: HybridField, certificate: Certificate) -> "Fit":
        """The fit with other coefficients, for other data: what was said of the old ones goes."""
        assert self.columns is not None
        selection = self.selection
        return Fit(
            field, certificate, selection and replace(selection, evidence=None), None, self.range,
            columns=self.columns, knowledge=self.knowledge, bounds=self.bounds,
            accepted=self.accepted,
        )  # fmt: skip

    @property
    def support(self) -> Mask:
        """The terms in use."""
        return np.asarray(self.field.coefficients) != 0

    @cached_property
    def matched(self) -> Refinement | None:
        """What trajectories say about the constants: where the fit was refined, and else, of noisy
        runs that were kept for it. Derivatives know nothing of noise, and are biased by it."""
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
        """The constants with their joint covariance, which all intervals are read from: by matched
        trajectories, else by the rows of the fit. None where rows are too few to show noise."""
        matched = self.matched
        if matched is None or matched.uncertainty is None:
            return self.uncertainty
        if self._has_few_rows and not self._trajectories_show_noise:
            return None  # so few exact rows show neither noise nor differences between runs
        return matched.uncertainty

    @cached_property
    def evidence(self) -> TermEvidence | None:
        """What resamples and trajectories say about the terms; None where no selection chose them,
        and runs are not noisy."""
        known = self._selection_evidence
        return self._trajectory_evidence() if known is None else self.with_intervals(known)

    def resampled(self, resamples: int, seed: int) -> TermEvidence | None:
        """The evidence from other resamples; None without what the terms were chosen from."""
        if self.selection is None:
            return None
        found = term_evidence(
            self.selection, self.field.features, self.support, probability=self.inclusion,
            resamples=resamples, seed=seed,
        )  # fmt: skip
        return None if found is None else self.with_intervals(found)

    def with_intervals(self, evidence: TermEvidence) -> TermEvidence:
        """The evidence with the intervals of the estimates."""
        if self.estimates is None:
            return evidence
        coefficients = np.asarray(self.field.coefficients)
        return replace(evidence, interval=self.estimates.coefficient_intervals(coefficients))

    @cached_property
    def _selection_evidence(self) -> TermEvidence | None:
        if self.filed_evidence is not None or self.selection is None:
            return self.filed_evidence
        return term_evidence(
            self.selection, self.field.features, self.support, probability=self.inclusion
        )

    @property
    def _has_few_rows(self) -> bool:
        if self.selection is not None and self.selection.evidence is not None:
            return not self.selection.evidence.can_be_resampled
        known = self._selection_evidence
        return known is not None and bool(np.isnan(known.interval).any())

    @property
    def _trajectories_show_noise(self) -> bool:
        """Whether what trajectories leave is noise, not what integrators and files round away."""
        matched = self.matched
        if matched is None or matched.noise is None:
            return False
        noise = np.where(np.isfinite(matched.noise), matched.noise, 0.0)
        span = self.range[1, : len(noise)] - self.range[0, : len(noise)]
        return bool((noise > CLEAN * span / 4).any())

    def _trajectory_evidence(self) -> TermEvidence | None:
        """What matched trajectories alone say about the terms of a model that no selection chose.

        A term is weighed against its absence as the Bayesian information criterion does: with z its
        distance from zero in standard errors, exp(z^2 / 2) against sqrt(N).
        """
        matched = self.matched
        if matched is None or matched.uncertainty is None:
            return None
        ends = matched.coefficient_intervals()
        errors, values = matched.standard_errors, matched.values
        assert ends is not None and values is not None and errors is not None
        support = self.support
        probability = support.astype(float)
        count = len(matched.places)
        z = values[:count] / np.maximum(errors[:count], 1e-300)
        for place, gain in zip(matched.places, z**2 - np.log(matched.rows_used), strict=True):
            probability[place] = 1 / (1 + np.exp(-np.clip(gain, -50, 50) / 2))
        return TermEvidence(support, probability, ends, (), from_trajectories=True)


def _keeps_runs(fit: Fit, runs: Runs) -> bool:
    """Whether intervals of this fit will ask its runs: they are noisy, few enough to be kept, and
    its equations, which are all of it, can be followed."""
    return (
        fit.refinement is None
        and runs.data.n_samples <= limits.MAX_ROWS_KEPT
        and not np.any(np.asarray(fit.field.weights))
        and not switching_terms(fit.field)
        and runs.data.plan.is_noisy
    )
