"""Which terms: sets that linearized trajectories propose, judged by the trajectories they make."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float

from .._common.progress import step
from ..data import Dataset
from ..field.hybrid import HybridField
from ..libraries import complexity, sine_argument
from ..moments import CenteredTerms
from ..physics import Knowledge
from . import _limits as limits
from ._colour import is_noise, residual_time
from ._constants import Constants
from ._integral import integral_form, without_given
from ._likelihood import Match, Noise, excess, least_misfit, trajectory_score
from ._linearization import Quadratic, linearize
from ._problem import Problem
from ._segments import cut
from ._stages import Stage, all_stages, first_precision, is_followed, lengths, run_stage
from ._subsets import descend, neighbours, scores_nearby


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
    """Return the best-scoring model among `field` and those with other `allowed` terms, or None if
    no candidate can be simulated.

    The score of a set of terms is the negative log likelihood of the misfit of its trajectories,
    half a log N for every constant and every initial state of a segment, and a price for each
    symbol. On segments of one length after the other, the sum of squares is linearized in the
    coefficients of all candidates at once; sets with one term added, removed or exchanged are
    compared on that, and the best ones are matched and scored. Equations that `knowledge` completes
    or couples keep their terms. What is given is not estimated, what is required is in every set,
    and no set goes beyond a bound.

    If the best model leaves more than white noise, but nothing that grows along trajectories, the
    noise is correlated: its variance and the effective number of rows are then taken from what the
    field leaves, and the search is repeated.
    """
    known = knowledge or Knowledge.none(field.features.mask.shape)
    some = data.subsample_rows(limits.SEARCH_ROWS)
    search = _Search(field, some, allowed, dict(interpolation or {}), dict(bounds or {}), known)
    best = search.run()
    if best is None or not best.leaves_noise:
        noise = search.correlated_noise()
        if noise is not None:
            search.judge_by(noise)
            best = search.run()
    return best


def held_inputs(
    field: HybridField,
    data: Dataset,
    interpolation: Mapping[str, str],
    *,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    knowledge: Knowledge | None = None,
) -> tuple[str, ...]:
    """Return the inputs that the data show to be held from row to row, though other values follow
    in each: one after the other, those with which trajectories of the same equations score better
    by more than `HELD`. None where the equations leave noise as the inputs are read.

    All readings are matched to segments of the same length, the shortest on which the misfit
    exceeds the noise.
    """
    known = knowledge or Knowledge.none(field.features.mask.shape)
    some = data.subsample_rows(limits.SEARCH_ROWS)
    kinds, held = dict(interpolation), []
    candidates = [
        name for name in kinds if kinds[name] != "hold" and name != data.schema.time_input
    ]

    def trial(kinds: Mapping[str, str], length: int | None = None) -> _Trial | None:
        none = np.zeros_like(field.features.mask)
        search = _Search(field, some, none, kinds, dict(bounds or {}), known)
        return search.misfitting(length)

    before = trial(kinds) if candidates else None
    while candidates and before is not None:
        found = {name: trial({**kinds, name: "hold"}, before.stage.length) for name in candidates}
        best = _best(list(found.values()))
        if best is None or not best.score < before.score - limits.HELD:
            break
        before = best
        name = next(name for name in candidates if found[name] is best)
        kinds[name] = "hold"
        candidates.remove(name)
        held.append(name)
    return tuple(held)


@final
class _Trial(NamedTuple):
    """A field matched to segments of one length, its score and its misfit in noise variances."""

    field: HybridField
    stage: Stage
    score: float
    misfit: float

    @property
    def support(self) -> Bool[np.ndarray, "c K"]:
        return np.asarray(self.field.coefficients) != 0


@final
class _Tried(NamedTuple):
    """A set of terms, its score (infinite where it cannot be followed), and its field."""

    support: Bool[np.ndarray, "c K"]
    score: float
    field: HybridField


@final
class _Search:
    """A search for terms on one set of runs."""

    def __init__(
        self,
        field: HybridField,
        data: Dataset,
        allowed: Bool[np.ndarray, "c K"],
        interpolation: Mapping[str, str],
        bounds: Mapping[str, tuple[float, float]],
        known: Knowledge,
    ):
        self.field, self.data, self._known = field, data, known
        self._interpolation = interpolation or dict.fromkeys(data.input_names, "cubic")
        self._bounds, self._fixed = bounds, list(data.given_rates)
        kept = [*known.complete, *np.flatnonzero(known.related.any(axis=1)), *self._fixed]
        self._open = np.array(allowed) & ~known.given  # terms that may come and go
        self._open[kept] = False
        plan = data.plan
        self._smoothed, self._relative = plan.smoothed, plan.relative_variance
        left = ((data.states - plan.smoothed) ** 2 / self._relative).mean(axis=0)
        self._least = least_misfit(data.states)
        self._noise = np.maximum(left / (1 - plan.smoother.leverage), self._least)
        sizes = data.states.std(axis=0)
        self._sizes, self._measured = np.where(sizes > 0, sizes, 1.0), data.is_measured
        # one term among K: the extended information criterion [Chen and Chen 2008]
        each = 0.5 * np.log(data.n_samples) + np.log(len(field.features.terms))
        symbols = np.array([complexity(term) for term in field.features.terms])
        self._price = each + limits.SYMBOL * symbols
        self._is_sine = np.array([sine_argument(term) is not None for term in field.features.terms])
        self._rows = np.full(data.n_states, float(data.n_samples))
        self._coloured: Noise | None = None
        self._centered: CenteredTerms | None = None
        self._tried: list[_Tried] = []  # sets that were matched on segments of this length

    @property
    def _excess(self) -> float:
        """Noise variances that the misfit of a true model hardly exceeds."""
        return excess(float(self._rows[self._measured].min(initial=np.inf)))

    # -- the search ----------------------------------------------------------------------

    def run(self) -> Match | None:
        """The best model: from the shortest segments to the longest that can be followed."""
        best: _Trial | None = None
        states = self._smoothed
        quadratic: tuple[Problem, Quadratic] | None = None
        rivals: list[HybridField] = []
        for length in lengths(self._problem(self.field, None), limits.SEARCH_EFFORT):
            self._tried = []
            if best is None:
                fields = self._first_fields()
                trial = _best([self._try(field, length, states) for field in fields])
            elif self._errors_grow(best, length, states):
                break
            else:
                trial = self._try(best.field, length, states, best.stage)
            if trial is None:
                break
            trial, quadratic = self._improved(trial, states, rivals)
            rivals = self._rivals(trial)
            best, states = trial, self._states_of(trial, states)
            if trial.misfit > limits.FOLLOWED:
                break
        if best is None:
            return None
        inclusion = None if quadratic is None else self._inclusion(best, *quadratic)
        return Match(
            best.field,
            best.score,
            states,
            best.misfit,
            best.stage.length,
            self._coloured,
            inclusion,
            excess=self._excess,
        )

    def misfitting(self, length: int | None = None) -> _Trial | None:
        """The field on segments of this length, or on the shortest on which its misfit exceeds the
        noise; None where it cannot be followed so far, or leaves noise on all. Of clean data the
        shortest segments show it."""
        trial, states = None, self._smoothed
        schedule = lengths(self._problem(self.field, None), limits.SEARCH_EFFORT)
        for each in schedule if self.data.plan.is_noisy else schedule[:1]:
            if trial is not None and self._errors_grow(trial, each, states):
                return None
            before = None if trial is None else trial.stage
            trial = self._trial(self.field, each, states, before)
            if trial is None or each == length:
                return trial
            if length is None and trial.misfit > self._excess:
                return trial
            states = self._states_of(trial, states)
        return None

    def _improved(
        self, best: _Trial, states: Float[np.ndarray, "N n"], rivals: Sequence[HybridField]
    ) -> tuple[_Trial, tuple[Problem, Quadratic] | None]:
        """The best model on segments of this length, and the last linearization. Where that has no
        better proposal, the `rivals` of shorter segments are tried again."""
        while True:
            found = self._linearized(best)
            if found is None or len(self._tried) >= limits.MAX_TRIALS:
                return best, found
            better = None
            for field in (*self._proposals(best, *found), *rivals):
                if self._was_tried(field):
                    continue
                length = best.stage.length
                trial = self._try(field, length, self._states_of(best, states), best.stage)
                if trial is not None and trial.score < best.score:
                    better = trial
                    break
            if better is None:
                return best, found
            best = better

    def _try(
        self,
        field: HybridField,
        length: int,
        states: Float[np.ndarray, "N n"],
        before: Stage | None = None,
    ) -> _Trial | None:
        """The trial of a set of terms, which is remembered."""
        trial = self._trial(field, length, states, before)
        support = np.asarray(field.coefficients) != 0
        score = np.inf if trial is None else trial.score
        self._tried.append(_Tried(support, score, field if trial is None else trial.field))
        return trial

    def _was_tried(self, field: HybridField) -> bool:
        support = np.asarray(field.coefficients) != 0
        return any(np.array_equal(support, tried.support) for tried in self._tried)

    def _rivals(self, best: _Trial) -> list[HybridField]:
        """The sets that short segments hardly tell from the best one."""
        near = [t for t in self._tried if best.score < t.score < best.score + limits.RIVAL]
        return [t.field for t in sorted(near, key=lambda t: t.score)[: limits.MAX_RIVALS]]

    def _proposals(
        self, best: _Trial, problem: Problem, quadratic: Quadratic
    ) -> Iterator[HybridField]:
        """Fields with other sets of terms, the one with the lowest linearized score first."""
        place = self._place(problem.constants)
        candidates = place.open
        own = best.support[place.rows, place.columns] | place.always
        price = np.where(place.open, self._price[place.columns], 0.0)
        temperature = _temperature(quadratic)
        found: dict[bytes, tuple[float, np.ndarray]] = {}
        searches = [(own, candidates, place.always), (place.always, candidates, place.always)]
        for c in np.unique(place.rows[candidates]):  # one equation anew, the others as they are
            others = place.always | (own & (place.rows != c))
            searches.append((others, candidates & (place.rows == c), others))
        for start, free, kept in searches:
            score, support, _ = descend(quadratic, start, free, kept, price, temperature)
            found.setdefault(support.tobytes(), (score, support))
        near = neighbours(quadratic, own, candidates, place.always)
        score, added, removed, exchanged = scores_nearby(near, own, price, temperature)
        close = [
            *((added[k], [k]) for k in np.flatnonzero(added < score + limits.CLOSE)),
            *((removed[k], [k]) for k in np.flatnonzero(removed < score + limits.CLOSE)),
            *((exchanged[j, k], [j, k]) for j, k in np.argwhere(exchanged < score + limits.CLOSE)),
        ]
        for value, move in close:
            support = own ^ np.isin(np.arange(len(own)), move)
            found.setdefault(support.tobytes(), (float(value), support))
        ordered = sorted(found.values(), key=lambda item: item[0])[: limits.MAX_PROPOSALS]
        for _, support in ordered:
            p = neighbours(quadratic, support, support & False, place.always).coefficients
            p[~place.coefficient] = problem.old[~place.coefficient]
            field = self._within_bounds(problem.constants.write(problem.field, p))
            if field is not None:
                yield field

    def _inclusion(
        self, best: _Trial, problem: Problem, quadratic: Quadratic
    ) -> Float[np.ndarray, "c K"]:
        """The probability of each term, from the sets that differ from the best by one term:
        exp(-score) of those with the term over that of all. The score is that of the linearization,
        but for sets that were matched."""
        place = self._place(problem.constants)
        own = best.support[place.rows, place.columns] | place.always
        price = np.where(place.open, self._price[place.columns], 0.0)
        near = neighbours(quadratic, own, place.open, place.always)
        temperature = _temperature(quadratic)
        score, added, removed, exchanged = scores_nearby(near, own, price, temperature)
        for support, matched, _ in self._tried:
            other = support[place.rows, place.columns] | place.always
            come, gone = np.flatnonzero(other & ~own), np.flatnonzero(own & ~other)
            value = score + matched - best.score
            if len(come) == 1 and not len(gone):
                added[come] = value
            elif len(gone) == 1 and not len(come):
                removed[gone] = value
            elif len(gone) == len(come) == 1:
                exchanged[gone, come] = value
        added, removed, exchanged = (
            np.exp(np.minimum(score - other, 50.0)) for other in (added, removed, exchanged)
        )
        total = 1 + added.sum() + removed.sum() + exchanged.sum()
        gone = (removed + exchanged.sum(axis=1)) / total
        come = (added + exchanged.sum(axis=0)) / total
        probability = best.support.astype(float)
        value = np.where(own, 1 - gone, come)
        probability[place.rows[place.open], place.columns[place.open]] = value[place.open]
        return np.clip(probability, 0.0, 1.0)

    # -- where a search starts -----------------------------------------------------------

    def _first_fields(self) -> list[HybridField]:
        """The field, and those with the terms that the integral form of each equation prefers, on
        long and on short stretches: errors of smoothing add up, noise averages out."""
        fields = {(np.asarray(self.field.coefficients) != 0).tobytes(): self.field}
        kept = np.asarray(self.field.coefficients) != 0
        for longest in limits.STRETCHES:
            field, useful = self._integrated(longest)
            kept = kept | useful
            if field is not None:
                fields.setdefault((np.asarray(field.coefficients) != 0).tobytes(), field)
        self._open &= kept
        return list(fields.values())

    def _integrated(self, longest: int) -> tuple[HybridField | None, Bool[np.ndarray, "c K"]]:
        """The field with the terms that the integral form prefers on such stretches, and the terms
        that are worth trying."""
        coefficients, useful = np.array(self.field.coefficients), np.array(self._open)
        variance = self._relative * self._noise
        features = self.field.features
        forms = integral_form(self.data, self._smoothed, features, variance, longest)
        for c, form in forms.items():
            useful[c] &= np.diag(form.Q) > 0
            if not useful[c].any():
                continue
            given = np.where(self._known.given[c], self._known.low[c], 0.0)
            quadratic = Quadratic(*without_given(form, given))
            always = self._known.required[c] & ~self._known.given[c]
            heat = _temperature(quadratic)
            _, support, near = descend(quadratic, always, useful[c], always, self._price, heat)
            if support.any():
                coefficients[c] = given + near.coefficients
            useful[c] &= _screened(near, support, self._most)
        return self._within_bounds(replace(self.field, coefficients=coefficients)), useful

    @property
    def _most(self) -> int:
        """How many candidates an equation may have."""
        return max(limits.MAX_CANDIDATES // max(len(self._open), 1), limits.MIN_CANDIDATES)

    # -- one set of terms ----------------------------------------------------------------

    def _trial(
        self,
        field: HybridField,
        length: int,
        states: Float[np.ndarray, "N n"],
        before: Stage | None = None,
    ) -> _Trial | None:
        """The field matched to segments of this length, from these states."""
        problem = self._problem(field, None)
        if not problem.constants.size:
            return None
        ends = problem.constants.bounds(field, self._bounds, self._known)
        with np.errstate(all="ignore"):
            stage = run_stage(
                problem, length, problem.old, states, first_precision(problem), ends,
                sigma=None if before is None else before.sigma, effort=limits.SEARCH_EFFORT,
            )  # fmt: skip
        longer = before is not None and before.length < length
        if not is_followed(problem, before if longer else None, stage, limits.SEARCH_EFFORT):
            return None
        matched = problem.constants.write(field, stage.p)
        support = np.asarray(matched.coefficients) != 0
        trial = _Trial(matched, stage, *self._score(problem, stage, support))
        imitates = not longer and self._imitates(matched, trial.misfit <= self._excess)
        return None if imitates else trial

    def _score(
        self, problem: Problem, stage: Stage, support: Bool[np.ndarray, "c K"]
    ) -> tuple[float, float]:
        """The score of a stage, and its largest misfit in a state's noise variance."""
        normal, m = stage.solution.normal, self._measured
        square = problem.misfit(normal.states, stage.segments, normal.sound)[m]
        ratio = np.maximum(square, self._least[m]) / self._noise[m]
        rows = self.data.n_samples
        starts = max(rows / stage.length, self.data.n_runs) * self.data.n_states
        learned = np.delete(support, self._fixed, axis=0)
        free = starts + len(problem.constants.inner)
        price = float((learned @ self._price).sum() + 0.5 * np.log(rows) * free)
        return trajectory_score(ratio, self._rows[m]) + price, float(ratio.max())

    def _imitates(self, field: HybridField, leaves_noise: bool) -> bool:
        """Whether an equation has other terms than it came with, and these are many times larger
        than their sum. Such sets imitate a missing term and fail beyond the data.

        At an equilibrium the true terms cancel as well, so that a set that leaves noise only is
        kept, unless it is sines and cosines that the others cancel: 1 - theta**2/2 - cos(theta) is
        a fourth power in disguise.
        """
        old, new = np.asarray(self.field.coefficients), np.asarray(field.coefficients)
        other = ((old != 0) != (new != 0)).any(axis=1)
        size = np.sqrt(np.mean(field.symbolic(self.data.variables) ** 2, axis=0))
        if self._centered is None:
            self._centered = CenteredTerms.of(field.features, self.data.variables)
        cancels = self._centered.cancellation(new, size) > limits.CANCELS
        if leaves_noise:
            others = np.where(self._is_sine, 0.0, new)
            cancels &= self._centered.cancellation(others, size) <= limits.CANCELS
        return bool(cancels[other].any())

    def _within_bounds(self, field: HybridField) -> HybridField | None:
        """The field with required coefficients inside their bounds; None where another one is
        beyond them."""
        known, coefficients = self._known, np.asarray(field.coefficients)
        inside = np.where(coefficients != 0, np.clip(coefficients, known.low, known.high), 0.0)
        beyond = (coefficients != inside) & ~known.required & ~known.given
        beyond[self._fixed] = False
        return None if beyond.any() else replace(field, coefficients=inside)

    # -- linearization -------------------------------------------------------------------

    def _problem(self, field: HybridField, candidates: np.ndarray | None) -> Problem:
        constants = Constants.of(
            field, self._fixed, residual=False, knowledge=self._known, candidates=candidates
        )
        return Problem(
            field, constants, self.data, self._interpolation, self._sizes, self._measured,
            growing_noise=True,
        )  # fmt: skip

    def _linearized(self, trial: _Trial) -> tuple[Problem, Quadratic] | None:
        """The sum of squares for all candidates, at a matched field."""
        problem = self._problem(trial.field, self._open | trial.support)
        stage = trial.stage
        normal = stage.solution.normal
        sigma = np.where(
            self._measured, np.maximum(stage.sigma, limits.TRIFLE * self._sizes), np.inf
        )
        found = linearize(problem, normal.states, stage.segments, stage.substeps, sigma)
        return None if found is None else (problem, found)

    def _place(self, constants: Constants) -> "_Place":
        """What each free number of a problem is."""
        size, count = constants.size, len(constants.lead)
        rows, columns = np.zeros(size, dtype=int), np.zeros(size, dtype=int)
        rows[:count] = constants.rows[constants.lead]
        columns[:count] = constants.columns[constants.lead]
        coefficient = np.arange(size) < count
        open_ = coefficient & self._open[rows, columns] & ~self._known.required[rows, columns]
        return _Place(rows, columns, coefficient, open_, ~open_)

    def _errors_grow(self, best: _Trial, length: int, states: Float[np.ndarray, "N n"]) -> bool:
        """Whether chaos allows no segments of this length."""
        problem = self._problem(best.field, None)
        segments = cut(self.data, length, limits.STAGE_ROWS)
        return problem.growth_along(problem.old, states, segments) > limits.MATCH_GROWTH

    def _states_of(
        self, trial: _Trial, states: Float[np.ndarray, "N n"]
    ) -> Float[np.ndarray, "N n"]:
        """The states of all rows as a trial has them, as far as its segments were followed."""
        result = np.array(states)
        normal, segments = trial.stage.solution.normal, trial.stage.segments
        rows = segments.rows[:, normal.sound]
        result[rows] = np.moveaxis(normal.states[:, :, normal.sound], 1, 2)
        return result

    # -- correlated noise ----------------------------------------------------------------

    def judge_by(self, noise: Noise) -> None:
        """From now on with this noise."""
        self._noise, self._coloured = np.maximum(noise.variance, self._least), noise
        self._rows = self.data.n_samples / noise.time

    def correlated_noise(self) -> Noise | None:
        """The noise that the field's trajectories leave, if it is correlated noise."""
        problem = self._problem(self.field, None)
        if not problem.constants.size:
            return None
        ends = problem.constants.bounds(self.field, self._bounds, self._known)
        with np.errstate(all="ignore"):
            stages, _ = all_stages(problem, ends, effort=limits.SEARCH_EFFORT)
        if not stages or not is_noise(problem, stages):
            return None
        _, ratio = self._score(problem, stages[-1], np.asarray(self.field.coefficients) != 0)
        if not self._excess < ratio < limits.MAX_EXCESS:
            return None
        time = residual_time(problem, stages[-1])
        return Noise(np.where(self._measured, stages[-1].sigma, 0.0) ** 2, time)


@final
class _Place(NamedTuple):
    """For each free number: its equation and term, whether it is a coefficient, whether it may be
    left out (`open`) or is in every set (`always`)."""

    rows: np.ndarray
    columns: np.ndarray
    coefficient: np.ndarray
    open: np.ndarray
    always: np.ndarray


def _temperature(quadratic: Quadratic) -> float:
    """The variance that even all candidates together leave, in noise variances, but at least one:
    what a missing term leaves must not make other terms significant."""
    H, q = quadratic.H, quadratic.q
    scale = np.sqrt(np.maximum(np.diag(H), 1e-300))
    values, axes = np.linalg.eigh(H / np.outer(scale, scale))
    usable = values > 1e-10 * max(float(values.max(initial=0.0)), 1e-300)
    explained = float(((axes[:, usable].T @ (q / scale)) ** 2 / values[usable]).sum())
    free = max(quadratic.rows - quadratic.spent - usable.sum(), 1.0)
    return max(1.0, max(quadratic.square - explained, 0.0) / free)


def _screened(near, support: np.ndarray, most: int) -> np.ndarray:
    """The support and the terms that would lower the sum of squares most."""
    kept = np.array(support)
    kept[np.argsort(near.added, kind="stable")[: max(most - int(support.sum()), 0)]] = True
    return kept


def _best(trials: list[_Trial | None]) -> _Trial | None:
    return min((t for t in trials if t is not None), key=lambda t: t.score, default=None)
