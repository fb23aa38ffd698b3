"""Candidates judged by the scores of whole models, and the evidence for each proposal."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import final

import numpy as np
from jaxtyping import Bool, Float

from ...data import Extent
from ...matching import Misfit, max_noise_ratio
from ...terms import parameters_of, to_text
from . import _limits as limits
from ._candidates import Candidate, candidate, interval_half
from ._equation import Equation
from ._projection import project
from ._proposals import Gap
from ._ranking import Ranked, column_of


def points_around(extent: Extent) -> Float[np.ndarray, "P V"]:
    """Points drawn within one and a half times the range of the data; a variable of one sign keeps
    it."""
    middle, half = (extent.high + extent.low) / 2, (extent.high - extent.low) / 2
    low, high = middle - limits.COMPARISON_REACH * half, middle + limits.COMPARISON_REACH * half
    low, high = extent.with_signs(np.stack([low, high]))
    return np.random.default_rng(0).uniform(low, high, (limits.COMPARISON_POINTS, len(middle)))


Place = tuple[int, int | None]
"""Term k and its inner parameter i, or None for the coefficient of term k."""


@final
@dataclass(frozen=True, eq=False)
class Judged:
    """A candidate, and the score in nats of the best model that has it."""

    candidate: Candidate
    score: float
    find_intervals: Callable[[], Mapping[Place, tuple[float, float]]] = dict

    @cached_property
    def intervals(self) -> Mapping[Place, tuple[float, float]]:
        """The 95% intervals of the constants, where trajectories were matched."""
        return self.find_intervals()


@final
@dataclass(frozen=True, eq=False)
class Judgement:
    """One equation: the best that the library can do, and the proposals, best first.

    `is_settled` says that trajectories of the best model, which has the first proposal, leave noise
    only: what that proposal leaves in single rows is noise too.
    """

    equation: Equation
    base: Judged
    proposals: tuple[Judged, ...]
    is_settled: bool = False


def judged_by_rows(gap: Gap) -> Judgement:
    """The judgement where only rows are given: the scores of the rows."""
    judged = [Judged(one, one.score) for one in gap.candidates]
    return _judgement(gap.equation, Judged(gap.base, gap.base.score), judged, judged[0].score)


def judged_by_trajectories(
    gap: Gap, ranked: Sequence[Ranked], misfit: Misfit | None = None
) -> Judgement:
    """The judgement by the scores of ranked models: that of the best model with each candidate.
    `misfit` is what trajectories of the best model leave of the equation's state."""
    equation, candidates = gap.equation, list[Judged]()
    base: Judged | None = None
    for one in ranked:
        judged = _matched(one, equation)
        if judged is None:
            continue
        if judged.candidate.new:
            candidates.append(judged)
        elif base is None:
            base = judged
    base = base or Judged(gap.base, np.inf)
    found = _judgement(equation, base, candidates, ranked[0].score)
    is_first = bool(found.proposals) and found.proposals[0].score == ranked[0].score
    is_settled = is_first and misfit is not None and not misfit.exceeds_noise
    return replace(found, is_settled=is_settled)


def _judgement(
    equation: Equation, base: Judged, candidates: Sequence[Judged], best: float
) -> Judgement:
    """The candidates with new terms that are clearly better than the library, each formula once."""
    proposals: list[Judged] = []
    for one in candidates:
        if not one.candidate.new or base.score - one.score < limits.MIN_GAIN:
            continue
        if one.score - best > limits.MAX_GAP:
            continue
        if not any(_is_same(equation, one.candidate, other.candidate) for other in proposals):
            proposals.append(one)
    return Judgement(equation, base, tuple(proposals))


def _is_same(equation: Equation, one: Candidate, other: Candidate) -> bool:
    """Whether two candidates propose the same formula, or are the same function within and around
    the data, such as sin(a - b) and sin(b - a)."""
    if one.proposes_the_same(other):
        return True
    points = points_around(equation.rows.extent)
    with np.errstate(all="ignore"):
        values = np.stack([one.values(points), other.values(points)])
    values = values[:, np.isfinite(values).all(axis=0)]
    size = np.sqrt(np.mean(values**2)) if values.size else 0.0
    return bool(size > 0 and np.abs(values[0] - values[1]).max() <= limits.SAME_FUNCTION * size)


def _matched(one: Ranked, equation: Equation) -> Judged | None:
    """The candidate that a ranked model has for an equation, with the constants that were matched,
    without the terms that were pruned. None where it is not finite at the rows."""
    found = [each for each in one.combination.candidates if each.output == equation.output]
    if not found:
        return None
    old, suffix = found[0], str(equation.output)
    features, fit = one.field.features, old.fit
    row = np.asarray(one.field.coefficients)[equation.output]
    matched = dict(zip(features.parameters, features.values, strict=True))
    columns = [column_of(features, fit.written(k, suffix)[0]) for k in range(len(fit.shapes))]
    kept = [k for k, column in enumerate(columns) if row[column]]
    values = [
        tuple(
            value if is_held else matched[fit.parameter_name(k, name, suffix)]
            for name, value, is_held in zip(
                fit.shapes[k].parameters, fit.values[k], fit.held[k], strict=True
            )
        )
        for k in kept
    ]
    again = project(
        equation, [fit.shapes[k] for k in kept], values, [fit.held[k] for k in kept], rounds=0
    )
    if again is None:
        return None
    again = replace(again, coefficients=row[[columns[k] for k in kept]])
    new = candidate(equation, again)
    if new is None:
        return None
    places = {k: i for i, k in enumerate(kept)}
    snapped = {(places[k], i): ends for (k, i), ends in old.snapped.items() if k in places}
    return Judged(
        replace(new, snapped=snapped),
        one.score,
        partial(_intervals, one, equation.output, old, kept, columns),
    )


def _intervals(
    one: Ranked, output: int, old: Candidate, kept: Sequence[int], columns: Sequence[int]
) -> dict[Place, tuple[float, float]]:
    known = one.matched.refinement()
    ends = None if known is None else known.interval()
    if known is None or ends is None:
        return {}
    by_place = dict(zip(known.places, ends[: len(known.places)].tolist(), strict=True))
    by_name = dict(zip(known.parameters, ends[len(known.places) :].tolist(), strict=True))
    found: dict[Place, tuple[float, float]] = {}
    for i, k in enumerate(kept):
        if (output, columns[k]) in by_place:
            low, high = by_place[output, columns[k]]
            found[i, None] = (low, high)
        for j, name in enumerate(old.fit.shapes[k].parameters):
            own = old.fit.parameter_name(k, name, str(output))
            if not old.fit.held[k][j] and own in by_name:
                low, high = by_name[own]
                found[i, j] = (low, high)
    return found


@final
@dataclass(frozen=True)
class Constant:
    """A number of a proposal with its 95% interval; `is_snapped` says that a simple number was
    put in the place of the estimate, whose interval this is."""

    name: str
    value: float
    low: float
    high: float
    is_snapped: bool = False


@final
@dataclass(frozen=True)
class Alternative:
    """Another candidate that the data hardly tell apart: by how many nats it is worse, and at
    which states the two differ most, within one and a half times the range of the data."""

    formula: str
    gap: float
    where: dict[str, float]
    difference: float


@final
@dataclass(frozen=True, eq=False)
class Evidence:
    """Of what the library leaves beyond noise, the share that a candidate explains: inside, and on
    the outer shell with coefficients from inside; None where it leaves noise only. `probability`
    is how often resamples of runs or stretches prefer it to the library alone. `partial` has a row
    for each target: what the new terms say there, and what the others leave for them."""

    inside: float | None
    outside: float | None
    probability: float
    constants: tuple[Constant, ...]
    alternatives: tuple[Alternative, ...]
    changes: dict[str, tuple[float, float]]
    partial: Float[np.ndarray, "R 2"]


def gather_evidence(judgement: Judgement, judged: Judged, before: Mapping[str, float]) -> Evidence:
    """The evidence for one proposal against the best of the library's terms alone; `before` are
    the coefficients that the model has, by the terms."""
    equation, base, found = judgement.equation, judgement.base.candidate, judged.candidate
    distance = equation.rows.extent.distance(equation.rows.centres)
    inner = distance <= np.quantile(distance, limits.INNER_SHARE)
    settled = [judgement.proposals[0].candidate] if judgement.is_settled else []
    left = [residual(equation, one, inner) for one in (base, found, *settled)]
    return Evidence(
        _share(left, inner, equation.count),
        _share(left, ~inner, equation.count),
        _preferred(equation, base, found),
        constants(judged),
        alternatives(equation, judged, judgement.proposals),
        _changes(before, found),
        partial_residual(equation, found),
    )


def partial_residual(equation: Equation, found: Candidate) -> Float[np.ndarray, "R 2"]:
    """What the new terms of a candidate say at each row, and the target without the others: equal
    but for noise where the terms are right."""
    fit, new = found.fit, set(found.new)
    parts = [
        w * equation.whitened(shape, values)
        for shape, values, w in zip(fit.shapes, fit.values, fit.coefficients, strict=True)
    ]
    own = sum((part for k, part in enumerate(parts) if k in new), np.zeros(len(equation.target)))
    left = equation.target - sum(part for k, part in enumerate(parts) if k not in new)
    return np.column_stack([own, left]) / equation.weight[:, None]


def residual(
    equation: Equation, found: Candidate, fitted: Bool[np.ndarray, " R"] | None = None
) -> Float[np.ndarray, " R"]:
    """What a candidate leaves in each row, in units of noise; coefficients from the rows
    `fitted`, if these are given."""
    fit = found.fit
    columns = [equation.whitened(s, v) for s, v in zip(fit.shapes, fit.values, strict=True)]
    phi = np.column_stack(columns) if columns else np.zeros((len(equation.target), 0))
    w = fit.coefficients
    if fitted is not None and len(columns):
        size = np.sqrt(np.vecdot(phi.T, phi.T))
        w = np.linalg.lstsq(phi[fitted] / size, equation.target[fitted], rcond=1e-11)[0] / size
    return equation.target - phi @ w


def constants(judged: Judged) -> tuple[Constant, ...]:
    """The coefficients of new terms and the parameters inside them."""
    found, known = judged.candidate, judged.intervals
    errors = found.standard_errors()
    result = []
    for k, text in zip(found.new, short_terms(found), strict=True):
        shape, values = found.fit.shapes[k], found.fit.values[k]
        w = float(found.fit.coefficients[k])
        by_rows = _interval(f"coefficient of {text}", w, float(errors[k]))
        result.append(_with_ends(by_rows, known.get((k, None))))
        for i, (name, value) in enumerate(zip(shape.parameters, values, strict=True)):
            label = f"{name} in {to_text(shape.expression)}"
            estimate = found.snapped.get((k, i), (value, interval_half(found, (k, i))))
            ends = _interval(label, *estimate)
            ends = replace(ends, value=value, is_snapped=found.fit.held[k][i])
            result.append(_with_ends(ends, known.get((k, i))))
    return tuple(result)


def _with_ends(constant: Constant, ends: tuple[float, float] | None) -> Constant:
    return constant if ends is None else replace(constant, low=ends[0], high=ends[1])


def alternatives(
    equation: Equation, judged: Judged, others: Sequence[Judged]
) -> tuple[Alternative, ...]:
    """The other proposals of about the same score, best first. A formula is no alternative to
    itself."""
    found = judged.candidate
    near = [
        one
        for one in others
        if abs(one.score - judged.score) < limits.MAX_ALTERNATIVE_GAP
        and not one.candidate.proposes_the_same(found)
    ]
    points = points_around(equation.rows.extent)
    return tuple(_alternative(equation, judged, one, points) for one in near)


def formula(found: Candidate) -> str:
    """The new terms as one sum, numbers in them rounded."""
    return " + ".join(short_terms(found)) or "0"


def written_terms(found: Candidate) -> str:
    """All terms as one sum, without coefficients."""
    return " + ".join(to_text(term) for term in found.terms) or "0"


def short_terms(found: Candidate) -> tuple[str, ...]:
    """The new terms, numbers in them rounded."""
    rounded = []
    for k in found.new:
        values = [float(f"{v:.4g}") for v in found.fit.values[k]]
        rounded.append(to_text(found.fit.shapes[k].at(values)))
    return tuple(rounded)


def _interval(name: str, value: float, error: float) -> Constant:
    half = limits.NORMAL_QUANTILE * error
    return Constant(name, float(value), float(value - half), float(value + half))


def _share(left: Sequence[np.ndarray], rows: Bool[np.ndarray, " R"], count: float) -> float | None:
    """Of what the first leaves in these rows beyond noise, the share that the second does not. If
    there is a third, it leaves noise only, of which there may be more than rows are expected to
    have. `count` is how many of all rows are independent of each other."""
    base, found, *settled = (float(np.mean(one[rows] ** 2)) for one in left)
    noise = max([1.0, *settled])
    if base <= noise * max_noise_ratio(count * float(rows.mean())):
        return None
    return 1 - max(found - noise, 0.0) / (base - noise)


def _preferred(equation: Equation, base: Candidate, found: Candidate) -> float:
    """The share of resamples of groups in which the candidate scores better."""
    group = np.unique(equation.rows.group, return_inverse=True)[1]
    count = int(group.max()) + 1
    sums = [np.bincount(group, residual(equation, one) ** 2, count) for one in (base, found)]
    rows = np.bincount(group, minlength=count)
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(count, np.full(count, 1 / count), size=limits.RESAMPLES)
    total = np.maximum(drawn @ rows, 1) / len(equation.target)
    scores = [
        equation.nats(drawn @ one / total) + price
        for one, price in zip(sums, (base.price, found.price), strict=True)
    ]
    return float(np.mean(scores[1] < scores[0]))


def _changes(before: Mapping[str, float], found: Candidate) -> dict[str, tuple[float, float]]:
    """The coefficients of library terms before and after, of terms in one of the two."""
    after = {
        to_text(term): float(w)
        for term, w, shape in zip(
            found.terms, found.fit.coefficients, found.fit.shapes, strict=True
        )
        if shape.known and not parameters_of(term)
    }
    return {name: (before.get(name, 0.0), after.get(name, 0.0)) for name in {**before, **after}}


def _alternative(
    equation: Equation, judged: Judged, other: Judged, points: Float[np.ndarray, "P V"]
) -> Alternative:
    with np.errstate(all="ignore"):
        apart = np.abs(judged.candidate.values(points) - other.candidate.values(points))
    apart = np.nan_to_num(apart)
    place = int(np.argmax(apart))
    where = dict(zip(equation.rows.names, points[place].tolist(), strict=True))
    gap = other.score - judged.score
    return Alternative(formula(other.candidate), gap, where, float(apart[place]))
