"""The search for one equation: families of functions apart and together, best candidates first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Bool

from . import _limits as limits
from ._beam import Support, added_gains, beam, best_of, best_pairs, exchange, measured
from ._candidates import Candidate, make_readable, polish, prune, rescored
from ._composed import add_denominators, add_products
from ._equation import Equation
from ._projection import project
from ._variants import with_steps

FAMILIES = (
    ("poly",),
    ("poly", "time"),
    ("poly", "trig"),
    ("poly", "rational", "power"),
    ("poly", "exp"),
    ("poly", "time", "trig", "rational", "power", "exp", "product", "own"),
)
_LABELS = {
    "poly": "polynomials",
    "time": "functions of time",
    "trig": "sines and cosines",
    "power": "fractions and powers",
    "exp": "exponentials",
    "own": "all together",
}


@final
@dataclass(frozen=True, eq=False)
class Found:
    """Candidates of one equation, best first; `base` is the best of known terms alone."""

    base: Candidate
    candidates: tuple[Candidate, ...]


def search(
    equation: Equation,
    support: Sequence[int] = (),
    *,
    required: Sequence[int] = (),
    allow: Callable[[Candidate], bool] = lambda found: True,
    goes_on: Callable[[], bool] = lambda: True,
    told: Callable[[int, str], None] = lambda part, what: None,
    most: int = 16,
) -> Found:
    """Candidates of the equation that are allowed. `support` are known columns that a model uses
    already, `required` those that every candidate should have.

    Beams are guided by the noise that rows are known to have; candidates are judged by what the
    best of them leaves, where that is more.
    """
    equation.noise = 1.0
    needed = tuple(int(k) for k in required)
    start = tuple(dict.fromkeys([*needed, *(int(k) for k in support)]))
    starts = [needed] if start == needed else [needed, start]
    told(0, "terms of the library")
    known = beam(equation, equation.known, starts, depth=limits.BEAM_DEPTH + 3)
    chosen = best_of(equation, known, limits.POLISHED_SUPPORTS)
    everything = list(known)
    settled = _is_settled(equation, known, allow)
    if not settled:
        _seed(equation, known)
        add_denominators(equation)
    for part, names in enumerate(() if settled else FAMILIES, start=1):
        if not goes_on():
            break
        told(part, _LABELS.get(names[-1], names[-1]))
        present = {equation.shapes[place].family for place in equation.shape}
        if names[-1] == "own" or names[-1] in present:
            begun = starts if names != FAMILIES[-1] else [*starts, *_paired(equation, known)]
            supports = _in_family(equation, names, begun)
            everything += supports
            chosen += best_of(equation, supports, limits.POLISHED_SUPPORTS)
    if goes_on() and _has_room(equation, everything):
        told(len(FAMILIES), "products of two functions")
        begun = add_products(equation, _beside(equation, known, everything), goes_on)
        supports = _in_family(equation, FAMILIES[-1], [*starts, *begun]) if begun else []
        everything += supports
        chosen += best_of(equation, supports, limits.POLISHED_SUPPORTS)
    equation.noise = least_left(equation, [(one.rss, len(one.columns)) for one in everything])
    columns = {frozenset(one.columns): one.columns for one in chosen}
    polished = [polish(equation, one) for one in columns.values()]
    found = [one for one in polished if one is not None]
    found += [one for smooth in found for one in with_steps(equation, smooth)]
    return compare(equation, found, allow, most)


def compare(
    equation: Equation, found: Sequence[Candidate], allow: Callable[[Candidate], bool], most: int
) -> Found:
    """The candidates that are allowed, best first, by what the best of them leaves."""
    ordered = in_order(equation, found, allow, most)
    allowed = [one for one in ordered if allow(one)]
    known_alone = [one for one in (*allowed, *ordered) if not one.new]
    return Found(known_alone[0], tuple(allowed[:most]) or (known_alone[0],))


def _is_settled(
    equation: Equation, known: Sequence[Support], allow: Callable[[Candidate], bool]
) -> bool:
    """Whether no other formula could cost less than the best of known terms: that leaves no more
    than the least that counts, is allowed, and no other column is cheaper than all of it."""
    others = equation.price[~equation.known]
    scores = [float(equation.nats(one.rss)) + one.price for one in known]
    if not len(others) or min(scores) > float(equation.nats(0.0)) + float(others.min()):
        return False
    best = polish(equation, known[int(np.argmin(scores))].columns)
    return best is not None and allow(best)


def _seed(equation: Equation, known: Sequence[Support]) -> None:
    """Adds, beside the best known support of each small size, the functions that serve it best
    alone, with their parameters estimated: a coarse grid may hide the right one."""
    for size in range(limits.MAX_SEEDED_SIZE + 1):
        same = [one for one in known if len(one.columns) == size]
        for one in sorted(same, key=lambda one: one.rss)[: limits.SEEDED_SUPPORTS]:
            gains = added_gains(equation, one.columns)
            best: dict[int, int] = {}
            for k in np.argsort(-gains):
                if equation.values[k] and np.isfinite(gains[k]):
                    best.setdefault(int(equation.shape[k]), int(k))
                if len(best) == limits.SEEDS:
                    break
            _sharpened(
                equation,
                [Support((*one.columns, k), 0.0, 0.0) for k in best.values()],
            )


def _paired(equation: Equation, known: Sequence[Support]) -> list[tuple[int, ...]]:
    """Known supports of each size with the two columns that serve them best."""
    starts = []
    for size in range(limits.MAX_START_SIZE + 1):
        same = [one for one in known if len(one.columns) == size]
        for one in sorted(same, key=lambda one: one.rss)[: limits.START_SUPPORTS]:
            pairs = best_pairs(equation, one, _allowed(equation, FAMILIES[-1]), limits.PAIRS)
            starts += [pair.columns for pair in pairs]
    return starts


def _has_room(equation: Equation, supports: Sequence[Support]) -> bool:
    """Whether the best support misses so much, or pays so much for functions that the library
    lacks, that the right product could be clearly better, and the library leaves more than what
    sums over windows miss."""
    known = [one.rss for one in supports if equation.known[list(one.columns)].all()]
    if min(known) < limits.MIN_UNEXPLAINED * equation.square:
        return False
    scores = [float(equation.nats(one.rss)) + one.price for one in supports]
    best = supports[int(np.argmin(scores))]
    kept = sum(float(equation.price[k]) for k in best.columns if equation.known[k])
    least = 0.5 * np.log(max(equation.count, 2.0)) + limits.PRODUCT_SYMBOLS * limits.SYMBOL_PRICE
    paid = min(scores) - float(equation.nats(len(equation.target))) - kept
    return bool(paid > least + limits.MIN_PRODUCT_GAIN)


def _beside(
    equation: Equation, known: Sequence[Support], everything: Sequence[Support]
) -> list[Support]:
    """Supports that products are sought beside: all known terms, the best of them of each small
    size, and the best of all."""
    found = [*best_of(equation, known, 1), *best_of(equation, everything, 1)]
    for size in range(limits.MAX_START_SIZE + 1):
        same = [one for one in known if len(one.columns) == size]
        found += sorted(same, key=lambda one: one.rss)[: limits.START_SUPPORTS]
    whole = tuple(np.flatnonzero(equation.known).tolist())
    if len(whole) <= limits.MAX_TERMS_BESIDE:
        found.append(measured(equation, whole))
    return list({frozenset(one.columns): one for one in found}.values())


def least_left(equation: Equation, fits: Sequence[tuple[float, int]]) -> float:
    """The least variance that any of the fits leaves, no less than that of the noise."""
    rows = len(equation.target)
    return max(1.0, min(rss / max(rows - 2 * size, 1) for rss, size in fits))


def _in_family(
    equation: Equation, names: Sequence[str], starts: Sequence[tuple[int, ...]]
) -> list[Support]:
    """The best supports with columns of a family; parameters of the best are estimated, and
    these columns added, before the beam runs again."""
    supports: list[Support] = []
    for _ in range(limits.SHARPENING_ROUNDS):
        allowed = _allowed(equation, names)
        supports = beam(equation, allowed, starts, depth=limits.BEAM_DEPTH)
        supports = exchange(equation, allowed, supports)
        if not _sharpened(equation, best_of(equation, supports, limits.SHARPENED_SUPPORTS)):
            break
    return supports


def _sharpened(equation: Equation, supports: Sequence[Support]) -> int:
    """Adds the columns of these supports with their parameters estimated; how many."""
    before = len(equation)
    seen = {(int(s), v) for s, v in zip(equation.shape, equation.values, strict=True)}
    for one in supports:
        places = [int(equation.shape[k]) for k in one.columns]
        is_open = any(equation.shapes[p].parameters for p in places)
        if not is_open or frozenset(one.columns) in equation.sharpened:
            continue
        equation.sharpened.add(frozenset(one.columns))
        fit = project(
            equation,
            [equation.shapes[p] for p in places],
            [equation.values[k] for k in one.columns],
            errors=False,
        )
        for place, values in zip(places, fit.values if fit else (), strict=False):
            rounded = tuple(float(f"{v:.8g}") for v in values)
            if values and (place, rounded) not in seen:
                seen.add((place, rounded))
                equation.add(place, rounded)
    return len(equation) - before


def _allowed(equation: Equation, names: Sequence[str]) -> Bool[np.ndarray, " K"]:
    chosen = np.array([shape.family in names for shape in equation.shapes])
    return chosen[equation.shape] | equation.known


def in_order(
    equation: Equation, found: Sequence[Candidate], allow: Callable[[Candidate], bool], most: int
) -> list[Candidate]:
    """The best of each structure, best first, with readable constants where these may bring it
    among the first `most` that are allowed. Where one leaves much less than was thought to be
    noise, all are judged by that."""
    least = least_left(equation, [(one.fit.rss, len(one.fit.covariance)) for one in found])
    if least < limits.NOISE_REDUCTION * equation.noise:
        equation.noise = least
        found = [prune(equation, rescored(equation, one)) for one in found]
    best = _best_of_each_structure(found)
    last = [one.score for one in best if allow(one)][most - 1 : most]

    def may_matter(one: Candidate) -> bool:
        return not last or one.score - limits.MAX_READABLE_GAIN * len(one.fit.free) <= last[0]

    return _best_of_each_structure(
        [make_readable(equation, one) if may_matter(one) else one for one in best]
    )


def _best_of_each_structure(found: Sequence[Candidate]) -> list[Candidate]:
    best: dict[frozenset[str], Candidate] = {}
    for one in sorted(found, key=lambda one: one.score):
        best.setdefault(one.structure, one)
    return list(best.values())
