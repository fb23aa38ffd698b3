"""Candidates of one equation with the scores of the whole models that have them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import final

import numpy as np

from ...matching import Misfit
from ._candidates import Candidate, candidate
from ._combinations import column_of
from ._equation import Equation
from ._points import points_around
from ._projection import project
from ._proposals import LEAST_GAIN, Gap
from ._ranking import Ranked

_FARTHEST = 60.0  # nats behind the best model, up to which others are proposed

_SAME = 1e-3  # of the size of a right-hand side: a smaller difference is that of a descent's end

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
        if not one.candidate.new or base.score - one.score < LEAST_GAIN:
            continue
        if one.score - best > _FARTHEST:
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
    return bool(size > 0 and np.abs(values[0] - values[1]).max() <= _SAME * size)


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
