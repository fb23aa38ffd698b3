"""Pairs of terms that the data cannot tell apart, and the data that would."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Float, Int

from .._typing import Mask
from ..data import Samples
from ..moments import Cells
from ._selected import Selected
from ._selection import AbstractSelection, candidate_terms, error_floor, smallest_unbeaten
from ._splits import Splits, least_squares, splits

_ALIKE = 0.99  # correlation of two terms, once the other terms are taken out of both
_STEPS = np.linspace(-3.0, 3.0, 61)  # multiples of the largest distance from the mean
_TELLING = 0.1  # of the target's size: a difference that is easily measured


@final
@dataclass(frozen=True)
class Lookalike:
    """In one equation, `other` in place of the chosen `term` does as well on the data.

    `correlation` is theirs once the equation's other terms are taken out of both; `advice` says
    which data would tell them apart.
    """

    equation: int
    term: int
    other: int
    correlation: float
    advice: str


def lookalikes(
    selection: AbstractSelection,
    cells: Cells,
    selected: Selected,
    allowed: Mask,
    features: Any,
    samples: Samples,
) -> list[Lookalike]:
    """Swaps of one chosen term for another that change the outer error by less than its doubt."""
    scaled, feature_scale, _ = cells.scaled()
    parts = splits(scaled, selection.held_out(scaled))
    found = []
    for c, support in enumerate(selected.support):
        chosen = np.flatnonzero(support)
        for term, other, correlation in _swaps(scaled, parts, c, chosen, allowed[c]):
            swapped = np.where(chosen == term, other, chosen)
            w = [
                least_squares(parts.all, terms[None], parts.target(c))[0, 0] / feature_scale[terms]
                for terms in (chosen, swapped)
            ]

            def gap(variables: np.ndarray, pair=((chosen, w[0]), (swapped, w[1]))) -> np.ndarray:
                values = features(variables)
                return np.abs(
                    values[:, pair[0][0]] @ pair[0][1] - values[:, pair[1][0]] @ pair[1][1]
                )

            names = (features.names[term], features.names[other])
            advice = _advice(gap, samples.variables, features.variables, names)
            found.append(Lookalike(c, int(term), int(other), float(correlation), advice))
    return found


def _swaps(
    cells: Cells, parts: Splits, equation: int, chosen: Int[np.ndarray, " k"], allowed: np.ndarray
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
            if abs(correlation) < _ALIKE:
                continue
            swapped = np.sort(np.append(rest, other))
            _, outer = parts.errors(swapped[None], equation)
            logs = np.log(np.concatenate([outer, own]) + floor)
            if smallest_unbeaten(logs)[0] == 0:  # the one that came first, though not chosen
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


def _advice(
    gap: Any, variables: Float[np.ndarray, "N V"], names: tuple[str, ...], terms: tuple[str, str]
) -> str:
    """Where the two equations differ enough to measure: the nearest place along one variable.

    `gap` is their distance at given variables, relative to the target's size.
    """
    mean = variables.mean(axis=0)
    extent = np.abs(variables - mean).max(axis=0)
    both = f"'{terms[0]}' and '{terms[1]}' fit these data equally well"
    best = None
    for v, name in enumerate(names):
        points = np.tile(mean, (len(_STEPS), 1))
        points[:, v] += _STEPS * extent[v]
        values = np.nan_to_num(gap(points), nan=0.0, posinf=0.0)
        place = _first_telling(values)
        if place is not None and (best is None or abs(_STEPS[place]) < abs(_STEPS[best[1]])):
            best = (name, place, points[place, v], variables[:, v].min(), variables[:, v].max())
    if best is None:
        return f"{both}, and far beyond them as well: either will do."
    name, _, value, low, high = best
    return (
        f"{both}; they part at {name} = {value:.3g}, where the data reach from {low:.3g} to "
        f"{high:.3g}: runs that get there would tell them apart."
    )


def _first_telling(values: Float[np.ndarray, " S"]) -> int | None:
    """The step nearest to the mean at which the difference can be measured."""
    telling = np.flatnonzero(values > _TELLING)
    return int(telling[np.argmin(np.abs(_STEPS[telling]))]) if len(telling) else None
