"""Which terms: sets that the integral form proposes, judged by the trajectories they make."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import final

import numpy as np
from jaxtyping import Bool, Float

from .._field import HybridField
from .._progress import step
from ..data import Dataset
from ..libraries import complexity
from ..losses import smooth_states
from ..moments import CenteredTerms
from ..physics import Knowledge
from ..smoothing import noise_growth, relative_variance
from ._beam import Support, beam_search, solved
from ._colour import is_noise, residual_time
from ._constants import Constants
from ._integral import NormalEquations, integral_form, without_given
from ._likelihood import Match, Noise, misfit
from ._problem import TRIFLE, Problem
from ._stages import Effort, Stage, all_stages

_MOST_ROWS = 3000  # on which sets of terms are compared
_SYMBOL = 1.0  # price of a symbol, in units of log likelihood
_CLOSE = 5.0  # by which a set may be worse than the best and is still tried
_ALTERNATIVES = 4  # of an equation
_MOST_TRIALS = 16
_EFFORT = Effort(8, 5.0, rounds=1, tolerance=0.05, evaluations=8, substeps=4, longest=200, jump=4.0)
_HOPELESS = 15.0  # worse than the best on segments of the same length
_EXCESS = 1.2  # times the noise variance: a misfit that may be noise of another kind
_MOST_EXCESS = 40.0  # the same: more than smoothing leaves of noise that lasts forty rows
_CANCELS = 6.0  # times that terms may be larger than their sum
_FOLLOWED = 4.0  # times the noise variance: a misfit with which alternatives can be compared


@step("Choosing terms by their trajectories")
def choose_structure(
    field: HybridField,
    data: Dataset,
    allowed: Bool[np.ndarray, "c K"],
    *,
    interpolation: Mapping[str, str] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    knowledge: Knowledge | None = None,
) -> Match | None:
    """The field, or one with other `allowed` terms whose trajectories follow noisy runs better,
    fewer and simpler terms counting in its favour; None if no trajectory can be followed. Where
    the field leaves more than smoothing takes away, but nothing that adds up along trajectories,
    noise is what it leaves, and so many rows count as differ in it.

    Sets of terms come from the integral form of each equation, twice: with states smoothed by
    polynomials, then as the best model has them. One equation after the other takes the set with
    which all trajectories together score best: the log likelihood of their misfit, half a log N
    for every constant and every start of a segment, and a price for each symbol. Equations that
    `knowledge` completes or couples keep their terms; in others what is given is subtracted, what
    is required is in every set, and no set goes beyond a bound.
    """
    known = knowledge or Knowledge.none(field.features.mask.shape)
    some = data.some_runs(_MOST_ROWS)
    some = some.only(np.arange(some.n_samples) < _MOST_ROWS)
    matcher = _Matcher(field, some, allowed, dict(interpolation or {}), dict(bounds or {}), known)
    best, smoothed = matcher.match(field), matcher.smoothed
    if best is not None and best.coloured is not None and _EXCESS < best.misfit < _MOST_EXCESS:
        smoothed = best.states
        best = matcher.judge_by(best.coloured, field)
    for _ in range(2):
        best = matcher.improve(best, smoothed)
        if best is None or not best.misfit < _FOLLOWED:
            break
        smoothed = best.states
    if best is None:
        return None
    return replace(best, is_coloured=matcher.is_coloured, inclusion=matcher.inclusion(best))


@final
class _Matcher:
    """Fits fields to trajectories, and remembers which it has seen."""

    def __init__(
        self,
        field: HybridField,
        data: Dataset,
        allowed: Bool[np.ndarray, "c K"],
        interpolation: Mapping[str, str],
        bounds: Mapping[str, tuple[float, float]],
        known: Knowledge,
    ):
        self.field, self.data, self._allowed = field, data, allowed
        self._interpolation = interpolation or dict.fromkeys(data.input_names, "cubic")
        self._bounds, self._known = bounds, known
        self._kept = {*known.complete, *np.flatnonzero(known.related.any(axis=1)).tolist()}
        self._fixed = list(data.given_rates)
        found = smooth_states(data)
        self.smoothed, self._leverage = found.values, found.leverage
        self._growth = noise_growth(data.states, self.smoothed)
        self._relative = relative_variance(self.smoothed, self._growth)
        self._noise = np.maximum(self._left(self.smoothed), 1e-300)
        self._measured = data.is_measured
        self._price = np.array(
            [0.5 * np.log(data.n_samples) + _SYMBOL * complexity(t) for t in field.features.terms]
        )
        self._rows = np.full(data.n_states, float(data.n_samples))
        self.is_coloured = False
        self._centered: CenteredTerms | None = None
        self._seen: dict[bytes, Match | None] = {}
        self._lowest: dict[int, float] = {}  # the score of the best, by length
        self._trials = 0

    def judge_by(self, noise: Noise, field: HybridField) -> Match | None:
        """From now on with this noise; the field once more."""
        self._noise, self.is_coloured = np.maximum(noise.variance, 1e-300), True
        self._rows = self.data.n_samples / noise.time
        self._seen, self._lowest, self._trials = {}, {}, 0
        return self.match(field)

    def match(self, field: HybridField) -> Match | None:
        """The field with the constants that follow the trajectories best; None if it cannot."""
        support = np.asarray(field.coefficients) != 0
        key = support.tobytes()
        if key not in self._seen and self._trials < _MOST_TRIALS:
            self._trials += 1
            self._seen[key] = self._match(field, support)
        return self._seen.get(key)

    def improve(self, best: Match | None, smoothed: Float[np.ndarray, "N n"]) -> Match | None:
        """The best match with sets of terms that the integral form proposes for these states."""
        current = self.field if best is None else best.field
        proposals = self._proposals(current, smoothed)
        whole = np.array(current.coefficients)
        for c, sets in proposals.items():
            whole[c] = sets[0][1]
        best = _better(best, self.match(replace(current, coefficients=whole)))
        changed = best is not None and best.misfit < _FOLLOWED
        while changed:
            changed = False
            for gap, c, row in sorted(
                ((gap, c, row) for c, sets in proposals.items() for gap, row in sets),
                key=lambda item: item[0],
            ):
                assert best is not None
                whole = np.array(best.field.coefficients)
                if gap > _CLOSE or ((whole[c] != 0) == (row != 0)).all():
                    continue
                whole[c] = row
                found = self.match(replace(best.field, coefficients=whole))
                if found is not None and found.score < best.score:
                    best, changed = found, True
        return best

    def inclusion(self, best: Match) -> Float[np.ndarray, "c K"]:
        """How probable each term is: sets that the integral form has, weighted by exp(-score), the
        one that trajectories prefer being as good as the best of them."""
        support = np.asarray(best.field.coefficients) != 0
        probability = support.astype(float)
        for c, _, given, sets in self._sets(best.field, best.states):
            own = _places(support[c] & ~self._known.given[c])
            scores = np.array([score for score, _ in sets])
            scores[[chosen == own for _, chosen in sets]] = scores.min()
            weights = np.exp(scores.min() - scores)
            probability[c] = given != 0
            for weight, (_, chosen) in zip(weights / weights.sum(), sets, strict=True):
                probability[c, list(chosen)] += weight
        return np.clip(probability, 0.0, 1.0)

    def _proposals(
        self, field: HybridField, smoothed: Float[np.ndarray, "N n"]
    ) -> dict[int, list[tuple[float, np.ndarray]]]:
        """For each equation rows of coefficients, with how much worse than the first they are."""
        found = {}
        for c, equations, given, sets in self._sets(field, smoothed):
            rated = [(score, self._row(c, equations, given, support)) for score, support in sets]
            within = [(score, row) for score, row in rated if row is not None][:_ALTERNATIVES]
            if within:
                found[c] = [(score - within[0][0], row) for score, row in within]
        return found

    def _sets(
        self, field: HybridField, smoothed: Float[np.ndarray, "N n"]
    ) -> Iterator[tuple[int, NormalEquations, np.ndarray, list[tuple[float, Support]]]]:
        """For each equation its integral form without what is given, that, and sets of terms with
        their scores, the best first."""
        data, features = self.data, field.features
        trifle = np.maximum((TRIFLE * data.states.std(axis=0)) ** 2, 1e-300)
        variance = self._relative * np.maximum(self._left(smoothed), trifle)
        for c, equations in integral_form(data, smoothed, features, variance).items():
            if c in self._kept:
                continue
            given = np.where(self._known.given[c], self._known.low[c], 0.0)
            equations = without_given(equations, given)
            own = _places((np.asarray(field.coefficients)[c] != 0) & ~self._known.given[c])
            rows = (equations.rows - equations.offsets) * self._rows[c] / data.n_samples
            sets = beam_search(
                equations, self._allowed[c] & ~self._known.given[c], self._price,
                lambda v, n=rows: misfit(v, n), own, _places(self._known.required[c]),
            )  # fmt: skip
            if sets:
                yield c, equations, given, sets

    def _left(self, states: Float[np.ndarray, "N n"]) -> Float[np.ndarray, " n"]:
        """The variance of the noise, if these are the states without it. What was smoothed follows
        part of it."""
        left = ((self.data.states - states) ** 2 / self._relative).mean(axis=0)
        return left / (1 - self._leverage) if states is self.smoothed else left

    def _row(
        self, c: int, equations: NormalEquations, given: np.ndarray, support: Support
    ) -> Float[np.ndarray, " K"] | None:
        """The coefficients of an equation with these terms; None where one that is not required
        goes beyond a bound."""
        row = given.copy()
        row[list(support)] += solved(equations, support)
        inside = np.clip(row, self._known.low[c], self._known.high[c])
        beyond = (row != inside) & ~self._known.required[c] & ~self._known.given[c]
        return None if beyond.any() else inside

    def _match(self, field: HybridField, support: np.ndarray) -> Match | None:
        constants = Constants.of(field, self._fixed, residual=False, knowledge=self._known)
        sizes = self.data.states.std(axis=0)
        problem = Problem(
            field, constants, self.data, self._interpolation,
            np.where(sizes > 0, sizes, 1.0), self._measured, growth=self._growth,
        )  # fmt: skip
        if not constants.size:
            return None
        scores: list[tuple[float, float]] = []

        def goes_on(stage: Stage) -> bool:
            scores.append(self._score(problem, stage, support))
            return bool(scores[-1][0] < self._lowest.get(stage.length, np.inf) + _HOPELESS)

        ends = constants.bounds(field, self._bounds, self._known)
        with np.errstate(all="ignore"):
            stages, states = all_stages(problem, ends, effort=_EFFORT, goes_on=goes_on)
        if not stages:
            return None
        chosen = int(np.argmin([score for score, _ in scores]))
        if scores[chosen][0] < min(self._lowest.values(), default=np.inf):
            self._lowest = {
                stage.length: score for stage, (score, _) in zip(stages, scores, strict=True)
            }
        noise = None
        if is_noise(problem, stages):
            time = residual_time(problem, stages[-1])
            noise = Noise(np.where(self._measured, stages[-1].sigma, 0.0) ** 2, time)
        matched = constants.write(field, stages[chosen].p)
        if self._cancels(matched):
            return None
        return Match(matched, scores[chosen][0], states, scores[chosen][1], noise)

    def _cancels(self, field: HybridField) -> bool:
        """Whether an equation has other terms than it came with, and these are many times larger
        than their sum: so is what imitates a missing term, and falls apart beyond the data."""
        old, new = np.asarray(self.field.coefficients), np.asarray(field.coefficients)
        other = ((old != 0) != (new != 0)).any(axis=1)
        size = np.sqrt(np.mean(field.symbolic(self.data.variables) ** 2, axis=0))
        if self._centered is None:
            self._centered = CenteredTerms.of(field.features, self.data.variables)
        return bool((self._centered.cancellation(new[other], size[other]) > _CANCELS).any())

    def _score(self, problem: Problem, stage: Stage, support: np.ndarray) -> tuple[float, float]:
        """The score of a stage, and its largest misfit in a state's noise variance."""
        normal, m = stage.solution.normal, self._measured
        square = problem.misfit(normal.states, stage.segments, normal.sound)[m]
        ratio = np.maximum(square, (TRIFLE * problem.sizes[m]) ** 2) / self._noise[m]
        rows = self.data.n_samples
        starts = max(rows / stage.length, self.data.n_runs) * self.data.n_states
        learned = np.delete(support, self._fixed, axis=0)
        free = starts + len(problem.constants.inner)
        price = float((learned @ self._price).sum() + 0.5 * np.log(rows) * free)
        told = sum(misfit(float(v), n) for v, n in zip(ratio, self._rows[m], strict=True))
        return told + price, float(ratio.max())


def _places(mask: Bool[np.ndarray, " K"]) -> Support:
    return tuple(int(k) for k in np.flatnonzero(mask))


def _better(one: Match | None, other: Match | None) -> Match | None:
    if one is None or other is None:
        return one or other
    return other if other.score < one.score else one
