"""Search for one equation, in each family of functions separately and in all jointly."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Bool

from . import _limits as limits
from ._beam import Support, added_gains, beam, best_of, best_pairs, exchange, support_of
from ._candidates import Candidate, make_readable, polish, prune, rescored
from ._composed import add_denominators, add_products
from ._equation import DictionaryProblem
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
class SearchOutcome:
    """Candidates of one equation, best first. `base` is the best candidate with only known
    terms.
    """

    base: Candidate
    candidates: tuple[Candidate, ...]


def search(
    equation: DictionaryProblem,
    support: Sequence[int] = (),
    *,
    required: Sequence[int] = (),
    allow: Callable[[Candidate], bool] = lambda candidate: True,
    should_continue: Callable[[], bool] = lambda: True,
    on_progress: Callable[[int, str], None] = lambda part, what: None,
) -> SearchOutcome:
    """Return the allowed candidates of an equation.

    `support` are the known columns that a model uses, and `required` the columns that every
    candidate must contain. Beams use the known noise of the rows. If the residual of the best
    candidate is larger, all candidates are scored with this residual.
    """
    equation.noise = 1.0
    first = tuple(int(k) for k in required)
    second = tuple(dict.fromkeys([*first, *(int(k) for k in support)]))
    starts = [first] if second == first else [first, second]
    on_progress(0, "terms of the library")
    known = beam(equation, equation.known, starts, depth=limits.BEAM_DEPTH + 3)
    chosen = best_of(equation, known, limits.POLISHED_SUPPORTS)
    supports = list(known)
    families = () if _is_resolved(equation, known, allow) else FAMILIES
    if families:
        _seed(equation, known)
        add_denominators(equation)
    for part, names in enumerate(families, start=1):
        if not should_continue():
            break
        on_progress(part, _LABELS.get(names[-1], names[-1]))
        present = {equation.terms[k].family for k in equation.term_of_column}
        if names[-1] == "own" or names[-1] in present:
            paired = _paired(equation, known) if names == FAMILIES[-1] else []
            in_family = _in_family(equation, names, [*starts, *paired])
            supports += in_family
            chosen += best_of(equation, in_family, limits.POLISHED_SUPPORTS)
    if should_continue() and _has_room(equation, supports):
        on_progress(len(FAMILIES), "products of two functions")
        products = add_products(equation, _beside(equation, known, supports), should_continue)
        if products:
            in_family = _in_family(equation, FAMILIES[-1], [*starts, *products])
            supports += in_family
            chosen += best_of(equation, in_family, limits.POLISHED_SUPPORTS)
    fits = [(support.rss, len(support.columns)) for support in supports]
    equation.noise = smallest_noise(equation, fits)
    columns = {frozenset(support.columns): support.columns for support in chosen}
    polished = [polish(equation, each) for each in columns.values()]
    candidates = [candidate for candidate in polished if candidate is not None]
    candidates += [step for smooth in candidates for step in with_steps(equation, smooth)]
    return compare(equation, candidates, allow)


def compare(
    equation: DictionaryProblem,
    candidates: Sequence[Candidate],
    allow: Callable[[Candidate], bool],
) -> SearchOutcome:
    """Return the allowed candidates, best first.

    They are scored with the residual of the best candidate.
    """
    ordered = ranked_structures(equation, candidates, allow)
    allowed = [candidate for candidate in ordered if allow(candidate)]
    known_alone = [candidate for candidate in (*allowed, *ordered) if not candidate.new]
    best = tuple(allowed[: limits.MAX_CANDIDATES])
    return SearchOutcome(known_alone[0], best or (known_alone[0],))


def _is_resolved(
    equation: DictionaryProblem, known: Sequence[Support], allow: Callable[[Candidate], bool]
) -> bool:
    """Return whether no other formula can beat the best known terms.

    This is so if their misfit is at the noise floor, they are allowed, and every other column costs
    more.
    """
    others = equation.price[~equation.known]
    scores = [float(equation.nats(support.rss)) + support.price for support in known]
    if not len(others) or min(scores) > float(equation.nats(0.0)) + float(others.min()):
        return False
    best = polish(equation, known[int(np.argmin(scores))].columns)
    return best is not None and allow(best)


def _seed(equation: DictionaryProblem, known: Sequence[Support]) -> None:
    """Add the best functions to the best known support of each small size, with estimated
    parameters.

    The correct values may be missing from a coarse grid.
    """
    for size in range(limits.MAX_SEEDED_SIZE + 1):
        of_size = [support for support in known if len(support.columns) == size]
        for support in sorted(of_size, key=lambda support: support.rss)[: limits.SEEDED_SUPPORTS]:
            gains = added_gains(equation, support.columns)
            best: dict[int, int] = {}
            for k in np.argsort(-gains):
                if equation.values[k] and np.isfinite(gains[k]):
                    best.setdefault(int(equation.term_of_column[k]), int(k))
                if len(best) == limits.SEEDS:
                    break
            _sharpened(
                equation,
                [Support((*support.columns, k), 0.0, 0.0) for k in best.values()],
            )


def _paired(equation: DictionaryProblem, known: Sequence[Support]) -> list[tuple[int, ...]]:
    """Return known supports of each size with the best pairs of columns added."""
    starts = []
    for size in range(limits.MAX_START_SIZE + 1):
        of_size = [support for support in known if len(support.columns) == size]
        for support in sorted(of_size, key=lambda support: support.rss)[: limits.START_SUPPORTS]:
            pairs = best_pairs(equation, support, _allowed(equation, FAMILIES[-1]), limits.PAIRS)
            starts += [pair.columns for pair in pairs]
    return starts


def _has_room(equation: DictionaryProblem, supports: Sequence[Support]) -> bool:
    """Return whether a product could clearly beat the best support.

    This also requires that the library's residual exceeds the error of sums over windows.
    """
    known = [support.rss for support in supports if equation.known[list(support.columns)].all()]
    if min(known) < limits.MIN_UNEXPLAINED * equation.square:
        return False
    scores = [float(equation.nats(support.rss)) + support.price for support in supports]
    best = supports[int(np.argmin(scores))]
    known_price = sum(float(equation.price[k]) for k in best.columns if equation.known[k])
    product_price = 0.5 * np.log(max(equation.count, 2.0)) + limits.PRODUCT_SYMBOLS * limits.SYMBOL
    paid = min(scores) - float(equation.nats(len(equation.target))) - known_price
    return bool(paid > product_price + limits.MIN_GAIN)


def _beside(
    equation: DictionaryProblem, known: Sequence[Support], everything: Sequence[Support]
) -> list[Support]:
    """Return the supports to which products are added.

    These are all known terms, the best known support of each small size, and the best support
    overall.
    """
    chosen = [*best_of(equation, known, 1), *best_of(equation, everything, 1)]
    for size in range(limits.MAX_START_SIZE + 1):
        of_size = [support for support in known if len(support.columns) == size]
        chosen += sorted(of_size, key=lambda support: support.rss)[: limits.START_SUPPORTS]
    all_known = tuple(np.flatnonzero(equation.known).tolist())
    if len(all_known) <= limits.MAX_TERMS_BESIDE:
        chosen.append(support_of(equation, all_known))
    return list({frozenset(support.columns): support for support in chosen}.values())


def smallest_noise(equation: DictionaryProblem, fits: Sequence[tuple[float, int]]) -> float:
    """Return the smallest residual variance of any fit, which is at least that of the noise."""
    rows = len(equation.target)
    return max(1.0, min(rss / max(rows - 2 * size, 1) for rss, size in fits))


def _in_family(
    equation: DictionaryProblem, names: Sequence[str], starts: Sequence[tuple[int, ...]]
) -> list[Support]:
    """Return the best supports with columns of a family.

    Parameters of the best supports are estimated and added as columns before the beam is repeated.
    """
    supports: list[Support] = []
    for _ in range(limits.SHARPENING_ROUNDS):
        allowed = _allowed(equation, names)
        supports = beam(equation, allowed, starts, depth=limits.BEAM_DEPTH)
        supports = exchange(equation, allowed, supports)
        if not _sharpened(equation, best_of(equation, supports, limits.SHARPENED_SUPPORTS)):
            break
    return supports


def _sharpened(equation: DictionaryProblem, supports: Sequence[Support]) -> int:
    """Add the columns of these supports with estimated parameters.

    Return the number of columns added.
    """
    before = len(equation)
    seen = {(int(s), v) for s, v in zip(equation.term_of_column, equation.values, strict=True)}
    for support in supports:
        terms = [int(equation.term_of_column[k]) for k in support.columns]
        is_open = any(equation.terms[p].parameters for p in terms)
        if not is_open or frozenset(support.columns) in equation.sharpened:
            continue
        equation.sharpened.add(frozenset(support.columns))
        fit = project(
            equation,
            [equation.terms[p] for p in terms],
            [equation.values[k] for k in support.columns],
            errors=False,
        )
        for term, values in zip(terms, fit.values if fit else (), strict=False):
            rounded = tuple(float(f"{v:.8g}") for v in values)
            if values and (term, rounded) not in seen:
                seen.add((term, rounded))
                equation.add(term, rounded)
    return len(equation) - before


def _allowed(equation: DictionaryProblem, names: Sequence[str]) -> Bool[np.ndarray, " K"]:
    chosen = np.array([term.family in names for term in equation.terms])
    return chosen[equation.term_of_column] | equation.known


def ranked_structures(
    equation: DictionaryProblem,
    candidates: Sequence[Candidate],
    allow: Callable[[Candidate], bool],
) -> list[Candidate]:
    """Return the best candidate of each structure, best first.

    Constants are made readable only for candidates that may then rank among the first
    `MAX_CANDIDATES` allowed ones. If the residual of a candidate is much smaller than the assumed
    noise, all candidates are scored again.
    """
    fits = [(candidate.fit.rss, len(candidate.fit.covariance)) for candidate in candidates]
    noise = smallest_noise(equation, fits)
    if noise < limits.NOISE_REDUCTION * equation.noise:
        equation.noise = noise
        candidates = [prune(equation, rescored(equation, candidate)) for candidate in candidates]
    best = _best_of_each_structure(candidates)
    scores = [candidate.score for candidate in best if allow(candidate)]
    count = limits.MAX_CANDIDATES
    limit = scores[count - 1] if len(scores) >= count else np.inf

    def may_matter(candidate: Candidate) -> bool:
        return candidate.score - limits.MAX_READABLE_GAIN * len(candidate.fit.free) <= limit

    return _best_of_each_structure(
        [
            make_readable(equation, candidate) if may_matter(candidate) else candidate
            for candidate in best
        ]
    )


def _best_of_each_structure(candidates: Sequence[Candidate]) -> list[Candidate]:
    best: dict[frozenset[str], Candidate] = {}
    for candidate in sorted(candidates, key=lambda candidate: candidate.score):
        best.setdefault(candidate.structure, candidate)
    return list(best.values())
