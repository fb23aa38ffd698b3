"""Rank proposals by the scores of whole models, and gather the evidence for each proposal."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import final

import numpy as np
from jaxtyping import Bool, Float

from ...data import PURE_NUMBER, Extent
from ...matching import Misfit, max_noise_ratio
from ...terms import UnitAlgebra, parameters_of, rounded, to_text, unit_with_numbers
from . import _limits as limits
from ._candidates import Candidate, interval_half, scored_fit
from ._equation import DictionaryProblem
from ._measurements import Measurements
from ._parametric_term import ParametricTerm
from ._projection import project
from ._proposals import EquationResult
from ._ranking import RankedModel, column_of


def points_around(extent: Extent) -> Float[np.ndarray, "P V"]:
    """Return points within `COMPARISON_REACH` times the range of the data.

    A variable of one sign keeps its sign.
    """
    middle, half = (extent.high + extent.low) / 2, (extent.high - extent.low) / 2
    low, high = middle - limits.COMPARISON_REACH * half, middle + limits.COMPARISON_REACH * half
    low, high = extent.with_signs(np.stack([low, high]))
    return np.random.default_rng(0).uniform(low, high, (limits.COMPARISON_POINTS, len(middle)))


ConstantIndex = tuple[int, int | None]
"""Indices (k, i) of the inner parameter i of term k, or (k, None) for the coefficient of term k."""


@final
@dataclass(frozen=True, eq=False)
class ScoredCandidate:
    """A candidate with the score, in nats, of the best model that contains it."""

    candidate: Candidate
    score: float
    find_intervals: Callable[[], Mapping[ConstantIndex, tuple[float, float]]] = dict

    @cached_property
    def intervals(self) -> Mapping[ConstantIndex, tuple[float, float]]:
        """The 95% intervals of the constants, if trajectories were matched."""
        return self.find_intervals()


@final
@dataclass(frozen=True, eq=False)
class EquationProposals:
    """The best library candidate of one equation and its proposals, best first.

    If `is_resolved`, the trajectory misfit of the best model, which contains the first proposal, is
    only noise. The residual of this proposal in single rows is then noise too.
    """

    equation: DictionaryProblem
    base: ScoredCandidate
    proposals: tuple[ScoredCandidate, ...]
    is_resolved: bool = False


def proposals_by_rows(result: EquationResult) -> EquationProposals:
    """Return the proposals of an equation, scored on rows."""
    scored = [ScoredCandidate(candidate, candidate.score) for candidate in result.candidates]
    return _distinct(
        result.equation, ScoredCandidate(result.base, result.base.score), scored, scored[0].score
    )


def proposals_by_trajectories(
    result: EquationResult, ranked: Sequence[RankedModel], misfit: Misfit | None = None
) -> EquationProposals:
    """Return the proposals of an equation, each with the score of the best model that contains it.

    `misfit` is the trajectory misfit of the best model in the equation's state.
    """
    equation, candidates = result.equation, list[ScoredCandidate]()
    base: ScoredCandidate | None = None
    for model in ranked:
        scored = _matched(model, equation)
        if scored is None:
            continue
        if scored.candidate.new:
            candidates.append(scored)
        elif base is None:
            base = scored
    base = base or ScoredCandidate(result.base, np.inf)
    judged = _distinct(equation, base, candidates, ranked[0].score)
    is_first = bool(judged.proposals) and judged.proposals[0].score == ranked[0].score
    is_resolved = is_first and misfit is not None and not misfit.exceeds_noise
    return replace(judged, is_resolved=is_resolved)


def _distinct(
    equation: DictionaryProblem,
    base: ScoredCandidate,
    candidates: Sequence[ScoredCandidate],
    best: float,
) -> EquationProposals:
    """Return candidates with new terms that clearly beat the library, one per formula."""
    proposals: list[ScoredCandidate] = []
    for scored in candidates:
        if not scored.candidate.new or base.score - scored.score < limits.MIN_GAIN:
            continue
        if scored.score - best > limits.MAX_GAP:
            continue
        if not any(_is_same(equation, scored.candidate, other.candidate) for other in proposals):
            proposals.append(scored)
    return EquationProposals(equation, base, tuple(proposals))


def _is_same(equation: DictionaryProblem, first: Candidate, second: Candidate) -> bool:
    """Return whether two candidates propose the same formula or equal functions.

    Functions such as sin(a - b) and -sin(b - a) are equal on and around the data.
    """
    if first.proposes_the_same(second):
        return True
    points = points_around(equation.rows.extent)
    with np.errstate(all="ignore"):
        values = np.stack([first.values(points), second.values(points)])
    values = values[:, np.isfinite(values).all(axis=0)]
    size = np.sqrt(np.mean(values**2)) if values.size else 0.0
    return bool(size > 0 and np.abs(values[0] - values[1]).max() <= limits.SAME_FUNCTION * size)


def _matched(model: RankedModel, equation: DictionaryProblem) -> ScoredCandidate | None:
    """Return a ranked model's candidate for an equation, with matched constants and without pruned
    terms.

    Return None if it is not finite at the rows.
    """
    of_equation = [
        other for other in model.combination.candidates if other.output == equation.output
    ]
    if not of_equation:
        return None
    old, suffix = of_equation[0], str(equation.output)
    features, fit = model.field.features, old.fit
    row = np.asarray(model.field.coefficients)[equation.output]
    matched = dict(zip(features.parameters, features.values, strict=True))
    columns = [column_of(features, fit.written(k, suffix)[0]) for k in range(len(fit.terms))]
    remaining = [k for k, column in enumerate(columns) if row[column]]
    values = [
        tuple(
            value if is_held else matched[fit.parameter_name(k, name, suffix)]
            for name, value, is_held in zip(
                fit.terms[k].parameters, fit.values[k], fit.held[k], strict=True
            )
        )
        for k in remaining
    ]
    refitted = project(
        equation,
        [fit.terms[k] for k in remaining],
        values,
        [fit.held[k] for k in remaining],
        rounds=0,
    )
    if refitted is None:
        return None
    refitted = replace(refitted, coefficients=row[[columns[k] for k in remaining]])
    new = scored_fit(equation, refitted)
    if new is None:
        return None
    indices = {k: i for i, k in enumerate(remaining)}
    snapped = {
        (indices[k], i): interval for (k, i), interval in old.snapped.items() if k in indices
    }
    return ScoredCandidate(
        replace(new, snapped=snapped),
        model.score,
        partial(_intervals, model, equation.output, old, remaining, columns),
    )


def _intervals(
    model: RankedModel,
    output: int,
    old: Candidate,
    remaining: Sequence[int],
    columns: Sequence[int],
) -> dict[ConstantIndex, tuple[float, float]]:
    """Return the intervals of the constants that trajectories determine."""
    refinement = model.matched.refinement()
    intervals = None if refinement is None else refinement.interval()
    if refinement is None or intervals is None:
        return {}
    by_place = dict(
        zip(refinement.places, intervals[: len(refinement.places)].tolist(), strict=True)
    )
    by_name = dict(
        zip(refinement.parameters, intervals[len(refinement.places) :].tolist(), strict=True)
    )
    result: dict[ConstantIndex, tuple[float, float]] = {}
    for i, k in enumerate(remaining):
        if (output, columns[k]) in by_place:
            low, high = by_place[output, columns[k]]
            result[i, None] = (low, high)
        for j, name in enumerate(old.fit.terms[k].parameters):
            full_name = old.fit.parameter_name(k, name, str(output))
            if not old.fit.held[k][j] and full_name in by_name:
                low, high = by_name[full_name]
                result[i, j] = (low, high)
    return result


@final
@dataclass(frozen=True)
class ProposalConstant:
    """A number in a proposal, with its 95% interval.

    If `is_snapped`, it is a simple number that replaces an estimate, and the interval belongs to
    the estimate. `unit` is '' if it is unknown or that of a pure number.
    """

    name: str
    value: float
    low: float
    high: float
    is_snapped: bool = False
    unit: str = ""


@final
@dataclass(frozen=True)
class Alternative:
    """Another candidate that the data hardly distinguish from the proposal.

    It has a gap in nats, and the states within one and a half times the range of the data at which
    the two candidates differ most.
    """

    formula: str
    gap: float
    where: dict[str, float]
    difference: float


@final
@dataclass(frozen=True, eq=False)
class ProposalEvidence:
    """The evidence for a candidate.

    `inside` and `outside` are the fractions of the library's residual, beyond noise, that the
    candidate explains on the inner rows and on the outer shell, with coefficients from the inner
    rows. They are None if this residual is noise. `probability` is the fraction of resamples of
    runs or stretches that prefer the candidate to the library. `partial` has two columns: the new
    terms at each row, and the target minus the other terms.
    """

    inside: float | None
    outside: float | None
    probability: float
    constants: tuple[ProposalConstant, ...]
    alternatives: tuple[Alternative, ...]
    changes: dict[str, tuple[float, float]]
    partial: Float[np.ndarray, "R 2"]


def gather_evidence(
    judgement: EquationProposals, judged: ScoredCandidate, before: Mapping[str, float]
) -> ProposalEvidence:
    """Return the evidence for one proposal, compared with the best library candidate.

    `before` contains the model's coefficients by term.
    """
    equation, base, proposed = judgement.equation, judgement.base.candidate, judged.candidate
    distance = equation.rows.extent.distance(equation.rows.centres)
    inner = distance <= np.quantile(distance, limits.INNER_SHARE)
    resolved = [judgement.proposals[0].candidate] if judgement.is_resolved else []
    residuals = [residual(equation, candidate, inner) for candidate in (base, proposed, *resolved)]
    return ProposalEvidence(
        _share(residuals, inner, equation.count),
        _share(residuals, ~inner, equation.count),
        _preferred(equation, base, proposed),
        constants(judged, equation.rows),
        alternatives(equation, judged, judgement.proposals),
        _changes(before, proposed),
        partial_residual(equation, proposed),
    )


def partial_residual(equation: DictionaryProblem, candidate: Candidate) -> Float[np.ndarray, "R 2"]:
    """Return the new terms of a candidate at each row, and the target minus the other terms.

    If the terms are correct, both are equal up to noise.
    """
    fit, new = candidate.fit, set(candidate.new)
    parts = [
        w * equation.whitened(term, values)
        for term, values, w in zip(fit.terms, fit.values, fit.coefficients, strict=True)
    ]
    explained = sum(
        (part for k, part in enumerate(parts) if k in new), np.zeros(len(equation.target))
    )
    remaining = equation.target - sum(part for k, part in enumerate(parts) if k not in new)
    return np.column_stack([explained, remaining]) / equation.weight[:, None]


def residual(
    equation: DictionaryProblem, candidate: Candidate, fitted: Bool[np.ndarray, " R"] | None = None
) -> Float[np.ndarray, " R"]:
    """Return the residual of a candidate in units of noise.

    Coefficients are estimated from the rows `fitted`, if given.
    """
    fit = candidate.fit
    columns = [equation.whitened(s, v) for s, v in zip(fit.terms, fit.values, strict=True)]
    phi = np.column_stack(columns) if columns else np.zeros((len(equation.target), 0))
    w = fit.coefficients
    if fitted is not None and len(columns):
        size = np.sqrt(np.vecdot(phi.T, phi.T))
        w = (
            np.linalg.lstsq(
                phi[fitted] / size, equation.target[fitted], rcond=limits.SINGULAR_CUTOFF
            )[0]
            / size
        )
    return equation.target - phi @ w


def constants(judged: ScoredCandidate, rows: Measurements) -> tuple[ProposalConstant, ...]:
    """Return the coefficients of new terms and the parameters inside them."""
    candidate, intervals = judged.candidate, judged.intervals
    errors = candidate.standard_errors()
    result = []
    for k, text in zip(candidate.new, short_terms(candidate), strict=True):
        term, values = candidate.fit.terms[k], candidate.fit.values[k]
        w = float(candidate.fit.coefficients[k])
        unit, units = term_units(rows, candidate.output, term, values)
        by_rows = _interval(f"coefficient of {text}", w, float(errors[k]))
        by_rows = replace(by_rows, unit=unit)
        result.append(_with_ends(by_rows, intervals.get((k, None))))
        for i, (name, value) in enumerate(zip(term.parameters, values, strict=True)):
            label = f"{name} in {to_text(term.expression)}"
            estimate = candidate.snapped.get((k, i), (value, interval_half(candidate, (k, i))))
            constant = _interval(label, *estimate)
            constant = replace(
                constant, value=value, is_snapped=candidate.fit.held[k][i], unit=units.get(name, "")
            )
            result.append(_with_ends(constant, intervals.get((k, i))))
    return tuple(result)


def term_units(
    rows: Measurements, output: int, term: ParametricTerm, values: Sequence[float]
) -> tuple[str, dict[str, str]]:
    """Return the unit of a term's coefficient, and the units of its parameters.

    Unknown units and those of pure numbers are omitted.
    """
    if rows.units is None:
        return "", {}
    algebra, unit = UnitAlgebra(rows.units), None
    if all(rows.combine_like([term.expression])):
        unit = algebra.of(term.expression)
    if unit is None:
        unit = unit_with_numbers(term.at(values), rows.units)
    rate = rows.units.rate(rows.outputs[output])
    found = {"": None if unit is None or rate is None else rate / unit} | algebra.constants
    texts = {name: rows.units.text(unit) for name, unit in found.items()}
    texts = {name: text for name, text in texts.items() if text not in ("", PURE_NUMBER)}
    return texts.pop("", ""), texts


def _with_ends(
    constant: ProposalConstant, interval: tuple[float, float] | None
) -> ProposalConstant:
    return constant if interval is None else replace(constant, low=interval[0], high=interval[1])


def alternatives(
    equation: DictionaryProblem, judged: ScoredCandidate, proposals: Sequence[ScoredCandidate]
) -> tuple[Alternative, ...]:
    """Return the other proposals with similar scores, best first, without equal formulas."""
    candidate = judged.candidate
    near = [
        other
        for other in proposals
        if abs(other.score - judged.score) < limits.MAX_ALTERNATIVE_GAP
        and not other.candidate.proposes_the_same(candidate)
    ]
    points = points_around(equation.rows.extent)
    return tuple(_alternative(equation, judged, other, points) for other in near)


def formula(candidate: Candidate) -> str:
    """Return the new terms as a sum, with rounded numbers."""
    return " + ".join(short_terms(candidate)) or "0"


def written_terms(candidate: Candidate) -> str:
    """Return all terms as a sum, without coefficients."""
    return " + ".join(to_text(term) for term in candidate.expressions) or "0"


def short_terms(candidate: Candidate) -> tuple[str, ...]:
    """Return the new terms with rounded numbers."""
    terms, values = candidate.fit.terms, candidate.fit.values
    return tuple(to_text(rounded(terms[k].at(values[k]))) for k in candidate.new)


def _interval(name: str, value: float, error: float) -> ProposalConstant:
    half = limits.NORMAL_QUANTILE * error
    return ProposalConstant(name, float(value), float(value - half), float(value + half))


def _share(
    residuals: Sequence[np.ndarray], rows: Bool[np.ndarray, " R"], count: float
) -> float | None:
    """Return the fraction of the first residual, beyond noise, that the second explains in these
    rows.

    Return None if the first residual is noise. A third residual, if given, sets the noise level.
    `count` is the number of independent rows.
    """
    base, proposed, *resolved = (float(np.mean(residual[rows] ** 2)) for residual in residuals)
    noise = max([1.0, *resolved])
    if base <= noise * max_noise_ratio(count * float(rows.mean())):
        return None
    return 1 - max(proposed - noise, 0.0) / (base - noise)


def _preferred(equation: DictionaryProblem, base: Candidate, proposed: Candidate) -> float:
    """Return the fraction of resamples of groups in which the candidate has the better score."""
    group = np.unique(equation.rows.group, return_inverse=True)[1]
    count = int(group.max()) + 1
    sums = [
        np.bincount(group, residual(equation, candidate) ** 2, count)
        for candidate in (base, proposed)
    ]
    rows = np.bincount(group, minlength=count)
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(count, np.full(count, 1 / count), size=limits.RESAMPLES)
    total = np.maximum(drawn @ rows, 1) / len(equation.target)
    scores = [
        equation.nats(drawn @ candidate / total) + price
        for candidate, price in zip(sums, (base.price, proposed.price), strict=True)
    ]
    return float(np.mean(scores[1] < scores[0]))


def _changes(before: Mapping[str, float], candidate: Candidate) -> dict[str, tuple[float, float]]:
    """Return the coefficients of library terms before and after the candidate's terms are added."""
    after = {
        to_text(rounded(expression)): float(w)
        for expression, w, term in zip(
            candidate.expressions, candidate.fit.coefficients, candidate.fit.terms, strict=True
        )
        if term.known and not parameters_of(expression)
    }
    return {name: (before.get(name, 0.0), after.get(name, 0.0)) for name in {**before, **after}}


def _alternative(
    equation: DictionaryProblem,
    judged: ScoredCandidate,
    other: ScoredCandidate,
    points: Float[np.ndarray, "P V"],
) -> Alternative:
    with np.errstate(all="ignore"):
        distance = np.abs(judged.candidate.values(points) - other.candidate.values(points))
    distance = np.nan_to_num(distance)
    index = int(np.argmax(distance))
    where = dict(zip(equation.rows.names, points[index].tolist(), strict=True))
    gap = other.score - judged.score
    return Alternative(formula(other.candidate), gap, where, float(distance[index]))
