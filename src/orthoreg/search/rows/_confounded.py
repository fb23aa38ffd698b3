"""Find pairs of terms that the data do not distinguish, and data that would distinguish them."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int

from ..._common.arrays import Mask
from ...solving import PartitionedMoments
from ...terms import FeatureMap
from . import _limits as limits
from ._search import Splits, least_squares, splits, squared_errors
from ._selection import (
    SelectionEvidence,
    SelectionResult,
    candidate_terms,
    error_floor,
    one_standard_error_choice,
)


@final
@dataclass(frozen=True)
class ConfoundedPair:
    """Two terms of one equation that fit the data equally well: the selected `term`, and `other`.

    `correlation` is the correlation of their residuals after regression on the equation's other
    terms. `advice` states which data would distinguish the terms.
    """

    equation: int
    term: int
    other: int
    correlation: float
    advice: str


def confounded_pairs(
    selected: SelectionResult,
    evidence: SelectionEvidence,
    features: FeatureMap,
    *,
    support: Mask,
    probability: Float[np.ndarray, "c K"] | None = None,
) -> list[ConfoundedPair]:
    """Return swaps of a term in use (`support`) with a similar term that fits about as well.

    Only equations without known parts are considered. If trajectories provide the `probability` of
    terms, it decides on a swap. Otherwise, the outer error must change by less than its standard
    error.
    """
    scaled, feature_scale, _ = evidence.cells.scaled()
    parts = splits(scaled, evidence.held_out, caution=evidence.caution)
    pairs = []
    grouped = {c for group, _ in selected.groups for c in group.equations}
    for c, used in enumerate(support):
        if c in grouped:
            continue
        chosen = np.flatnonzero(used)
        if probability is None:
            swaps = _swaps(scaled, parts, c, chosen, evidence.allowed[c])
        else:
            probable = probability[c] >= limits.CONFOUNDED_PROBABILITY
            others = np.flatnonzero(evidence.allowed[c] & ~used)
            swaps = _probable_swaps(parts.all[0], chosen, others, probable)
        for term, other, correlation in swaps:
            swapped = np.where(chosen == term, other, chosen)
            difference, error = np.zeros(len(feature_scale)), 0.0
            for sign, terms in ((1, chosen), (-1, swapped)):
                w = least_squares(parts.all, terms[None], parts.target(c))
                error = max(error, squared_errors(parts.all, terms[None], parts.target(c), w)[0, 0])
                difference[terms] += sign * w[0, 0] / feature_scale[terms]
            min_difference = max(limits.TELLING_DIFFERENCE, float(np.sqrt(error)))
            where = (features, difference, min_difference, evidence.span)
            advice = _advice(
                features.names[term], features.names[other], _between(*where), _parting(*where)
            )
            pairs.append(ConfoundedPair(c, term, other, correlation, advice))
    return pairs


def _swaps(
    cells: PartitionedMoments,
    parts: Splits,
    equation: int,
    chosen: Int[np.ndarray, " k"],
    allowed: np.ndarray,
) -> list[tuple[int, int, float]]:
    """Return (selected term, other term, correlation) for each swap with about the same error."""
    floor = error_floor(cells, equation)
    A = parts.all[0]
    _, chosen_error = parts.errors(chosen[None], equation)
    swaps = []
    for term in chosen.tolist():
        remaining = chosen[chosen != term]
        for other in np.setdiff1d(candidate_terms(cells.all, allowed), chosen).tolist():
            correlation = _partial_correlation(A, term, other, remaining)
            if abs(correlation) < limits.CONFOUNDED_CORRELATION:
                continue
            swapped = np.sort(np.append(remaining, other))
            _, outer = parts.errors(swapped[None], equation)
            logs = np.log(np.concatenate([outer, chosen_error]) + floor)
            if (
                one_standard_error_choice(logs)[0] == 0
            ):  # the swapped set comes first, although it was not selected
                swaps.append((term, other, correlation))
    return swaps


def _probable_swaps(
    A: Float[np.ndarray, "P P"],
    chosen: Int[np.ndarray, " k"],
    others: Int[np.ndarray, " r"],
    probable: Bool[np.ndarray, " K"],
) -> list[tuple[int, int, float]]:
    """Return (selected term, other term, correlation) for similar terms.

    The other term must be probable according to trajectories, or proportional to the selected term.
    """
    swaps = []
    for term in chosen.tolist():
        for other in others.tolist():
            cosine = abs(A[term, other]) / np.sqrt(max(A[term, term] * A[other, other], 1e-300))
            if not probable[other] and cosine < 1 - limits.PROPORTIONAL:
                continue
            correlation = _partial_correlation(A, term, other, chosen[chosen != term])
            if abs(correlation) >= limits.CONFOUNDED_CORRELATION:
                swaps.append((term, other, correlation))
    return swaps


def _partial_correlation(
    A: Float[np.ndarray, "P P"], i: int, j: int, others: Int[np.ndarray, " r"]
) -> float:
    """Return the correlation of two terms after regression on the other terms."""
    pair = np.array([i, j])
    solved = np.linalg.lstsq(A[np.ix_(others, others)], A[np.ix_(others, pair)], rcond=1e-14)[0]
    residual = A[np.ix_(pair, pair)] - A[np.ix_(pair, others)] @ solved
    size = np.sqrt(max(residual[0, 0], 0.0) * max(residual[1, 1], 0.0))
    return float(residual[0, 1] / size) if size > 1e-12 else 0.0


def _parting(
    features: FeatureMap,
    difference: Float[np.ndarray, " K"],
    min_difference: float,
    span: Float[np.ndarray, "3 V"],
) -> tuple[str, float, float, float] | None:
    """Return the nearest point beyond the data, along one variable, at which two equations differ.

    The result contains the variable, its value there and the ends of its range. `difference` is the
    difference of the equations' coefficients relative to the target, and `min_difference` the
    smallest difference that counts.
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
        distinct = np.flatnonzero(beyond & np.isfinite(gap) & (gap > min_difference))
        if len(distinct) and np.abs(steps[distinct]).min() < nearest:
            index = distinct[np.argmin(np.abs(steps[distinct]))]
            nearest = abs(steps[index])
            best = (name, float(points[index, v]), float(low[v]), float(high[v]))
    return best


def _between(
    features: FeatureMap,
    difference: Float[np.ndarray, " K"],
    min_difference: float,
    span: Float[np.ndarray, "3 V"],
) -> str | None:
    """Return a variable with few values such that the equations differ between these values.

    At the ends of its range, the equations agree.
    """
    mean, low, high = span
    for v, name in enumerate(features.variables):
        points = np.tile(mean, (3, 1))
        points[0, v], points[2, v] = low[v], high[v]
        with np.errstate(all="ignore"):
            gap = np.abs(features(points) @ difference)
        if gap[1] > min_difference and max(gap[0], gap[2]) < limits.SAME_AT_ENDS * gap[1]:
            return str(name)
    return None


def _advice(
    term: str, other: str, between: str | None, place: tuple[str, float, float, float] | None
) -> str:
    """Return a sentence that recommends measurements."""
    both = f"'{term}' and '{other}' fit these data about equally well"
    if between is not None:
        return (
            f"{both}, because {between} has few values and they differ between these values: a run "
            f"with other values of {between} would distinguish them."
        )
    if place is None:
        times = f"{limits.EXTRAPOLATION_STEPS[-1]:.0f}"
        return f"{both} and differ little up to {times} times their distance from the mean."
    name, value, low, high = place
    return (
        f"{both}; they differ clearly at {name} = {value:.3g}, beyond the data ({low:.3g} to "
        f"{high:.3g}): a run that reaches this value would distinguish them."
    )
