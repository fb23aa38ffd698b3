"""Pairs of terms that the data cannot tell apart, and the data that would."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Float, Int

from ..moments import PartitionedMoments
from . import _limits as limits
from ._result import Evidence, SelectionResult
from ._selection import candidate_terms, error_floor, one_standard_error_choice
from ._splits import Splits, least_squares, splits, squared_errors


@final
@dataclass(frozen=True)
class ConfoundedPair:
    """In one equation, `other` in place of the chosen `term` does as well on the data.

    `correlation` is theirs once the equation's other terms are taken out of both; `advice` says
    which data would tell them apart.
    """

    equation: int
    term: int
    other: int
    correlation: float
    advice: str


def confounded_pairs(
    selected: SelectionResult, evidence: Evidence, features: Any
) -> list[ConfoundedPair]:
    """Swaps of one chosen term that change the outer error by less than its standard error, in
    equations of which nothing is known."""
    scaled, feature_scale, _ = evidence.cells.scaled()
    parts = splits(scaled, evidence.held_out, caution=evidence.caution)
    found = []
    known = {c for group, _ in selected.groups for c in group.equations}
    for c, support in enumerate(selected.support):
        if c in known:
            continue
        chosen = np.flatnonzero(support)
        for term, other, correlation in _swaps(scaled, parts, c, chosen, evidence.allowed[c]):
            swapped = np.where(chosen == term, other, chosen)
            difference, error = np.zeros(len(feature_scale)), 0.0
            for sign, terms in ((1, chosen), (-1, swapped)):
                w = least_squares(parts.all, terms[None], parts.target(c))
                error = max(error, squared_errors(parts.all, terms[None], parts.target(c), w)[0, 0])
                difference[terms] += sign * w[0, 0] / feature_scale[terms]
            telling = max(limits.TELLING_DIFFERENCE, float(np.sqrt(error)))
            place = _parting(features, difference, telling, evidence.span)
            advice = _advice(features.names[term], features.names[other], place)
            found.append(ConfoundedPair(c, int(term), int(other), float(correlation), advice))
    return found


def _swaps(
    cells: PartitionedMoments,
    parts: Splits,
    equation: int,
    chosen: Int[np.ndarray, " k"],
    allowed: np.ndarray,
) -> list[tuple[int, int, float]]:
    """Chosen term, other term and their correlation, where the other does as well."""
    floor = error_floor(cells, equation)
    A = parts.all[0]
    _, own = parts.errors(chosen[None], equation)
    found = []
    for term in chosen:
        rest = chosen[chosen != term]
        for other in np.setdiff1d(candidate_terms(cells.all, allowed), chosen):
            correlation = _partial_correlation(A, int(term), int(other), rest)
            if abs(correlation) < limits.CONFOUNDED_CORRELATION:
                continue
            swapped = np.sort(np.append(rest, other))
            _, outer = parts.errors(swapped[None], equation)
            logs = np.log(np.concatenate([outer, own]) + floor)
            if (
                one_standard_error_choice(logs)[0] == 0
            ):  # the one that came first, though not chosen
                found.append((int(term), int(other), correlation))
    return found


def _partial_correlation(
    A: Float[np.ndarray, "P P"], i: int, j: int, rest: Int[np.ndarray, " r"]
) -> float:
    """The correlation of two terms, once the others are taken out of both."""
    pair = np.array([i, j])
    solved = np.linalg.lstsq(A[np.ix_(rest, rest)], A[np.ix_(rest, pair)], rcond=1e-14)[0]
    left = A[np.ix_(pair, pair)] - A[np.ix_(pair, rest)] @ solved
    size = np.sqrt(max(left[0, 0], 0.0) * max(left[1, 1], 0.0))
    return float(left[0, 1] / size) if size > 1e-12 else 0.0


def _parting(
    features: Any,
    difference: Float[np.ndarray, " K"],
    telling: float,
    span: Float[np.ndarray, "3 V"],
) -> tuple[str, float, float, float] | None:
    """The nearest place beyond the data, along one variable, where the two equations differ.

    `difference` are the coefficients of one less those of the other, relative to the size of the
    target, as is `telling`, which their difference must exceed. With the name and the value of
    the variable come the ends of its range.
    """
    mean, low, high = span
    extent = np.maximum(high - mean, mean - low)
    best, nearest = None, np.inf
    steps = limits.EXTRAPOLATION_STEPS
    for v, name in enumerate(features.variables):
        points = np.tile(mean, (len(steps), 1))
        points[:, v] += steps * extent[v]
        with np.errstate(all="ignore"):
            gap = np.abs(features(points) @ difference)
        beyond = (points[:, v] < low[v]) | (points[:, v] > high[v])
        tells = np.flatnonzero(beyond & np.isfinite(gap) & (gap > telling))
        if len(tells) and np.abs(steps[tells]).min() < nearest:
            place = tells[np.argmin(np.abs(steps[tells]))]
            nearest = abs(steps[place])
            best = (name, float(points[place, v]), float(low[v]), float(high[v]))
    return best


def _advice(term: str, other: str, place: tuple[str, float, float, float] | None) -> str:
    """What to measure, in one sentence."""
    both = f"'{term}' and '{other}' do about equally well on these data"
    if place is None:
        return f"{both}, and far beyond them as well: either will do."
    name, value, low, high = place
    return (
        f"{both}; they differ clearly at {name} = {value:.3g}, beyond the data ({low:.3g} to "
        f"{high:.3g}): a run that gets there would tell them apart."
    )
