"""Pairs of terms that the data cannot tell apart, and the data that would."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Float, Int

from ..._common.typing import Mask
from ...solving import PartitionedMoments
from . import _limits as limits
from ._search import Splits, least_squares, splits, squared_errors
from ._selection import (
    Evidence,
    SelectionResult,
    candidate_terms,
    error_floor,
    one_standard_error_choice,
)


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
    selected: SelectionResult,
    evidence: Evidence,
    features: Any,
    *,
    support: Mask,
    probability: Float[np.ndarray, "c K"] | None = None,
) -> list[ConfoundedPair]:
    """Swaps of one term in use (`support`) by a similar one that does about as well, in equations
    of which nothing is known: on trajectories, where these say how probable each term is, else on
    the outer error, which changes by less than its standard error."""
    scaled, feature_scale, _ = evidence.cells.scaled()
    parts = splits(scaled, evidence.held_out, caution=evidence.caution)
    found = []
    known = {c for group, _ in selected.groups for c in group.equations}
    for c, used in enumerate(support):
        if c in known:
            continue
        chosen = np.flatnonzero(used)
        if probability is None:
            swaps = _swaps(scaled, parts, c, chosen, evidence.allowed[c])
        else:
            probable = probability[c] >= limits.CONFOUNDED_PROBABILITY
            swaps = _probable_swaps(parts.all[0], chosen, np.flatnonzero(probable & ~used))
        for term, other, correlation in swaps:
            swapped = np.where(chosen == term, other, chosen)
            difference, error = np.zeros(len(feature_scale)), 0.0
            for sign, terms in ((1, chosen), (-1, swapped)):
                w = least_squares(parts.all, terms[None], parts.target(c))
                error = max(error, squared_errors(parts.all, terms[None], parts.target(c), w)[0, 0])
                difference[terms] += sign * w[0, 0] / feature_scale[terms]
            telling = max(limits.TELLING_DIFFERENCE, float(np.sqrt(error)))
            where = (features, difference, telling, evidence.span)
            advice = _advice(
                features.names[term], features.names[other], _between(*where), _parting(*where)
            )
            found.append(ConfoundedPair(c, term, other, correlation, advice))
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
    for term in chosen.tolist():
        rest = chosen[chosen != term]
        for other in np.setdiff1d(candidate_terms(cells.all, allowed), chosen).tolist():
            correlation = _partial_correlation(A, term, other, rest)
            if abs(correlation) < limits.CONFOUNDED_CORRELATION:
                continue
            swapped = np.sort(np.append(rest, other))
            _, outer = parts.errors(swapped[None], equation)
            logs = np.log(np.concatenate([outer, own]) + floor)
            if (
                one_standard_error_choice(logs)[0] == 0
            ):  # the one that came first, though not chosen
                found.append((term, other, correlation))
    return found


def _probable_swaps(
    A: Float[np.ndarray, "P P"], chosen: Int[np.ndarray, " k"], others: Int[np.ndarray, " r"]
) -> list[tuple[int, int, float]]:
    """Chosen term, other term and their correlation, where trajectories leave the other probable
    and it is similar to the chosen one."""
    found = []
    for term in chosen.tolist():
        for other in others.tolist():
            correlation = _partial_correlation(A, term, other, chosen[chosen != term])
            if abs(correlation) >= limits.CONFOUNDED_CORRELATION:
                found.append((term, other, correlation))
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
        margin = limits.BEYOND_MARGIN * extent[v]
        beyond = (points[:, v] < low[v] - margin) | (points[:, v] > high[v] + margin)
        tells = np.flatnonzero(beyond & np.isfinite(gap) & (gap > telling))
        if len(tells) and np.abs(steps[tells]).min() < nearest:
            place = tells[np.argmin(np.abs(steps[tells]))]
            nearest = abs(steps[place])
            best = (name, float(points[place, v]), float(low[v]), float(high[v]))
    return best


def _between(
    features: Any,
    difference: Float[np.ndarray, " K"],
    telling: float,
    span: Float[np.ndarray, "3 V"],
) -> str | None:
    """The variable between whose ends the two equations differ, though not at its ends: it takes
    few values, and no other one where they differ."""
    mean, low, high = span
    for v, name in enumerate(features.variables):
        points = np.tile(mean, (3, 1))
        points[0, v], points[2, v] = low[v], high[v]
        with np.errstate(all="ignore"):
            gap = np.abs(features(points) @ difference)
        if gap[1] > telling and max(gap[0], gap[2]) < limits.SAME_AT_ENDS * gap[1]:
            return str(name)
    return None


def _advice(
    term: str, other: str, between: str | None, place: tuple[str, float, float, float] | None
) -> str:
    """What to measure, in one sentence."""
    both = f"'{term}' and '{other}' do about equally well on these data"
    if between is not None:
        return (
            f"{both}, as {between} takes few values; they differ between these: a run with other "
            f"values of {between} would tell them apart."
        )
    if place is None:
        times = f"{limits.EXTRAPOLATION_STEPS[-1]:.0f}"
        return f"{both}, and differ little up to {times} times as far from their mean."
    name, value, low, high = place
    return (
        f"{both}; they differ clearly at {name} = {value:.3g}, beyond the data ({low:.3g} to "
        f"{high:.3g}): a run that gets there would tell them apart."
    )
