"""Select terms by trajectories. Linearization proposes sets of terms, which are matched and
scored.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float, Int

from .._common.progress import step
from ..data import Dataset
from ..field.hybrid import HybridField
from ..matching import _limits as limits
from ..matching._matching import Stage
from ..matching._problem import Problem
from ..matching._score import Inclusion, Score, StructureChoice
from ..matching._stages import updated_states
from ..physics import Knowledge
from ._proposals import SetSearch, duplicates, integral_form, linearize, screened, toggled
from ._trials import Trial, TrialMatcher, best_trial, support_of


@step("Choosing terms by their trajectories")
def choose_structure(
    field: HybridField,
    data: Dataset,
    allowed: Bool[np.ndarray, "c K"],
    *,
    interpolation: Mapping[str, str] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    knowledge: Knowledge | None = None,
    parameter_grids: Sequence[np.ndarray] = (),
) -> StructureChoice | None:
    """Return the best-scoring model among `field` and its variants with other `allowed` terms.

    Return None if no candidate can be simulated.

    The score is the negative log likelihood of the misfit of trajectories, plus half a log N for
    every constant and initial state of a segment, plus a price for each symbol. On segments of
    growing length, the sum of squares is linearized in the coefficients of all candidates. Sets
    with one term added, removed or exchanged are compared, and the best sets are matched and
    scored. Equations that `knowledge` completes or couples keep their terms, given values are not
    estimated, required terms are in every set, and all coefficients stay within their bounds.
    Parameters in terms start at their values in `field` and at the values in `parameter_grids`,
    with one grid per parameter.

    If the misfit of the best model exceeds white noise but its residuals do not grow along
    trajectories, the noise is correlated. It is then estimated from the residuals of `field`, and
    the search is repeated.
    """
    known = knowledge or Knowledge.none(field.features.mask.shape)
    data = data.subsample_rows(limits.SEARCH_ROWS)
    matcher = TrialMatcher(field, data, dict(interpolation or {}), dict(bounds or {}), known)
    search = TermSearch(matcher, allowed, parameter_grids)
    best = search.run()
    if best is None or not best.is_noise:
        noise = matcher.correlated_noise()
        if noise is not None:
            matcher.use_noise(noise)
            best = search.run()
    return best


@final
class _ScoredSet(NamedTuple):
    """A set of terms, its field, and its score, which is infinite if trajectories do not follow the
    data.
    """

    support: Bool[np.ndarray, "c K"]
    score: float
    field: HybridField


@final
class _IntegralProposal(NamedTuple):
    """A field with the terms that the integral form prefers, its candidates and its score.

    The field is None if a coefficient violates its bounds.
    """

    field: HybridField | None
    candidates: Bool[np.ndarray, "c K"]
    score: float


@final
class _Linearization(NamedTuple):
    """The problem with all candidates, linearized at a match.

    It includes the equation and the term of each free parameter, and the sets of these parameters
    with their linearized scores.
    """

    problem: Problem
    rows: Int[np.ndarray, " P"]
    columns: Int[np.ndarray, " P"]
    sets: SetSearch

    def members(self, support: Bool[np.ndarray, "c K"]) -> Bool[np.ndarray, " P"]:
        """Return a mask of the free parameters in a set of terms."""
        return support[self.rows, self.columns] | self.sets.required

    def field(self, support: Bool[np.ndarray, " P"]) -> HybridField:
        """Return the field with these terms, and with the coefficients of the linearization."""
        constants = self.problem.constants
        p, first_inner = self.sets.coefficients(support), len(constants.lead)
        p[first_inner:] = self.problem.initial_constants[first_inner:]
        return constants.write(self.problem.field, p)


@final
class TermSearch:
    """A search for the terms of the equations of one set of runs."""

    def __init__(
        self,
        matcher: TrialMatcher,
        allowed: Bool[np.ndarray, "c K"],
        parameter_grids: Sequence[np.ndarray] = (),
    ):
        self.matcher, self.field, self.data = matcher, matcher.field, matcher.data
        self._known, self._parameter_grids = matcher.known, parameter_grids
        known = matcher.known
        self._open = np.array(allowed) & ~known.given  # terms that may be added or removed
        self._open[[*known.complete, *np.flatnonzero(known.related.any(axis=1))]] = False
        self._open[matcher.fixed] = False
        # sets that were matched to segments of the current length
        self._scored: list[_ScoredSet] = []

    @property
    def _score(self) -> Score:
        return self.matcher.score

    # -- the search ----------------------------------------------------------------------

    def run(self) -> StructureChoice | None:
        """Return the best model, using segments from the shortest to the longest possible.

        While the misfit of the best model is only noise, every second length of long runs is
        skipped until a match fails.
        """
        best: Trial | None = None
        states = self.data.plan.smoothed
        linearization: _Linearization | None = None
        rivals: list[HybridField] = []
        lengths = self.matcher.lengths()
        # errors of a map may grow several times in each step
        may_skip = len(lengths) >= limits.SKIPPED_FROM and not self.data.discrete
        i, stride = 0, 1
        while i < len(lengths):
            length, self._scored = lengths[i], []
            if best is None:
                trial = best_trial(self._initial_trials(length, states))
            elif self.matcher.errors_grow(best, length, states):
                trial = None
            else:
                trial = self._try(best.field, length, states, best.stage)
            if trial is None:
                if stride == 1:
                    break
                i, stride, may_skip = i - 1, 1, False
                continue
            if best is not None and trial.is_rounding:  # no set was better on shorter segments
                linearization = None
            else:
                trial, linearization = self._improved(trial, states, rivals)
                rivals = self._rivals(trial)
            best, states = trial, updated_states(states, trial.stage)
            if trial.misfit > limits.FOLLOWED:
                break
            is_noise = trial.misfit <= self._score.max_noise_ratio
            stride = 2 if may_skip and is_noise and i + 2 < len(lengths) else 1
            i += stride
        if best is None:
            return None
        linearization = linearization or self._linearized(best)
        inclusion = None if linearization is None else self._inclusion(best, linearization)
        return StructureChoice(
            best.field, best.score, states, best.stage.sigma, best.misfit, best.stage.length,
            self._score.max_noise_ratio, self._score.correlated_noise, inclusion,
        )  # fmt: skip

    def _improved(
        self, best: Trial, states: Float[np.ndarray, "N n"], rivals: Sequence[HybridField]
    ) -> tuple[Trial, _Linearization | None]:
        """Return the best model on segments of this length, and its linearization.

        If no proposal is better, `rivals` from shorter segments are tried too.
        """
        while True:
            linearization = self._linearized(best)
            if linearization is None or len(self._scored) >= limits.MAX_TRIALS:
                return best, linearization
            better = None
            fields = chain(
                self._proposals(best, linearization), rivals, self._near_fields(best, linearization)
            )
            for field in fields:
                if self._was_tried(field):
                    continue
                guess = updated_states(states, best.stage)
                trial = self._try(field, best.stage.length, guess, best.stage)
                if trial is not None and trial.score < best.score:
                    better = trial
                    break
            if better is None:
                return best, linearization
            best = better

    def _try(
        self,
        field: HybridField,
        length: int,
        states: Float[np.ndarray, "N n"],
        previous: Stage | None = None,
    ) -> Trial | None:
        """Match a set of terms, store its score, and return the match."""
        trial = self.matcher.match(field, length, states, previous)
        score, matched = (np.inf, field) if trial is None else (trial.score, trial.field)
        self._scored.append(_ScoredSet(support_of(field), score, matched))
        return trial

    def _was_tried(self, field: HybridField) -> bool:
        support = support_of(field)
        return any(np.array_equal(support, scored.support) for scored in self._scored)

    def _rivals(self, best: Trial) -> list[HybridField]:
        """Return the sets that were nearly as good as the best set on short segments."""
        near = [s for s in self._scored if best.score < s.score < best.score + limits.RIVAL]
        return [s.field for s in sorted(near, key=lambda s: s.score)[: limits.MAX_RIVALS]]

    def _proposals(self, best: Trial, linearization: _Linearization) -> Iterator[HybridField]:
        """Yield fields with other sets of terms, in the order of their linearized scores."""
        sets, rows = linearization.sets, linearization.rows
        current = linearization.members(best.support)
        scores: dict[bytes, tuple[float, np.ndarray]] = {}
        searches = [(current, sets), (sets.required, sets)]
        for c in np.unique(rows[sets.candidates]):  # reselect the terms of one equation at a time
            others = sets.required | (current & (rows != c))
            of_equation = replace(sets, candidates=sets.candidates & (rows == c), required=others)
            searches.append((others, of_equation))
        for start, search in searches:
            score, support, _ = search.descend(start)
            scores.setdefault(support.tobytes(), (score, support))
        near = sets.scores(current)
        for value, move in near.moves(near.score + limits.CLOSE):
            support = toggled(current, move)
            scores.setdefault(support.tobytes(), (value, support))
        ordered = sorted(scores.values(), key=lambda item: item[0])
        yield from self._fields(linearization, [support for _, support in ordered])

    def _fields(
        self, linearization: _Linearization, supports: Sequence[np.ndarray]
    ) -> Iterator[HybridField]:
        """Yield the fields of the first sets, except those that violate bounds."""
        for support in supports[: limits.MAX_PROPOSALS]:
            field = self._within_bounds(linearization.field(support))
            if field is not None:
                yield field

    def _near_fields(self, best: Trial, linearization: _Linearization) -> Iterator[HybridField]:
        """Yield the fields of unmatched sets near the best set that have a better linearized
        score.
        """
        scores = self._near_scores(best, linearization)
        matched = {linearization.members(scored.support).tobytes() for scored in self._scored}
        better = [(score, key) for key, score in scores.items() if score < 0 and key not in matched]
        supports = [np.frombuffer(key, dtype=bool) for _, key in sorted(better)]
        yield from self._fields(linearization, supports)

    def _near_scores(self, best: Trial, linearization: _Linearization) -> dict[bytes, float]:
        """Return the scores of sets near the best set, relative to the best score."""
        sets, support = linearization.sets, linearization.members(best.support)
        excluded = duplicates(sets.quadratic, support)
        others = [(linearization.members(scored.support), scored.score) for scored in self._scored]
        matched = {
            members.tobytes(): score - best.score
            for members, score in others
            if not (members & excluded).any()
        }
        return replace(sets, candidates=sets.candidates & ~excluded).within(support, matched)

    def _inclusion(self, best: Trial, linearization: _Linearization) -> Inclusion:
        """Return the probability of each term.

        It is the share of the total weight exp(-score / temperature), over all sets near the best
        set, that belongs to sets with the term. Scores are linearized, or from trajectories for
        matched sets.
        """
        _, rows, columns, sets = linearization
        current, scores = (
            linearization.members(best.support),
            self._near_scores(best, linearization),
        )
        members = np.array([np.frombuffer(key, dtype=bool) for key in scores])
        # the weight of an unmatched set is at most that of the best set
        values = np.maximum(np.array(list(scores.values())), 0.0)
        weights = np.exp(-values / limits.EVIDENCE_TEMPERATURE)  # zero if a match failed
        weights /= weights.sum()
        value = weights @ members
        probability = best.support.astype(float)
        is_open = sets.candidates
        probability[rows[is_open], columns[is_open]] = value[is_open]
        is_same = members == current
        equations = np.array([
            weights @ is_same[:, rows == c].all(axis=1) for c in range(len(probability))
        ])  # fmt: skip
        return Inclusion(np.clip(probability, 0.0, 1.0), np.clip(equations, 0.0, 1.0))

    # -- initial fields ------------------------------------------------------------------

    def _initial_trials(self, length: int, states: Float[np.ndarray, "N n"]) -> list[Trial | None]:
        """Return matches of the initial fields in the order of their price.

        If the misfit of a match is only rounding, fields with a higher price cannot score better
        and are not matched.
        """
        fields = self._initial_fields()
        fields.sort(key=lambda field: float((support_of(field) @ self._score.term_price).sum()))
        trials: list[Trial | None] = []
        for field in fields:
            trial = self._try(field, length, states)
            trials.append(trial)
            if trial is not None and trial.is_rounding:
                break
        return trials

    def _initial_fields(self) -> list[HybridField]:
        """Return the field, and fields with the terms that the integral form prefers on long and
        short stretches.

        Smoothing errors accumulate over long stretches, while noise does not average out over short
        ones.
        """
        fields = [self.field]
        kept = support_of(self.field)
        for max_rows in (limits.STRETCH_STEPS, limits.MIN_STRETCH_STEPS):
            proposals = [
                self._integral_proposal(start, max_rows) for start in self._parameter_starts()
            ]
            proposals = sorted(proposals, key=lambda proposal: proposal.score)
            # for a map, the form is the same for all stretches, but biased by noise in the states
            n_proposals = limits.MAP_PROPOSALS if self.data.discrete else 1
            for proposal in proposals[:n_proposals]:
                kept = kept | proposal.candidates
                fields += [] if proposal.field is None else [proposal.field]
        self._open &= kept

        def key(field: HybridField) -> tuple[bytes, tuple[float, ...]]:
            values = tuple(field.features.values) if self.data.discrete else ()
            return support_of(field).tobytes(), values

        return list({key(field): field for field in reversed(fields)}.values())

    def _parameter_starts(self) -> Iterator[HybridField]:
        """Yield the field, and its variants with another value of one parameter.

        Derivatives of noisy data may have led to a wrong value.
        """
        yield self.field
        for i, grid in enumerate(self._parameter_grids):
            for value in grid:
                values = np.array(self.field.features.values, dtype=float)
                values[i] = value
                features = self.field.features.with_values(values)
                yield replace(self.field, features=features, parameters=None)

    def _integral_proposal(self, start: HybridField, max_rows: int) -> _IntegralProposal:
        """Return the field with the terms that the integral form prefers on stretches of about
        `max_rows` rows.

        The proposal also contains the candidates that reduce the residual most.
        """
        coefficients, candidates = np.array(start.coefficients), np.array(self._open)
        max_candidates = limits.MAX_CANDIDATES // max(len(candidates), 1)
        max_candidates = max(max_candidates, limits.MIN_CANDIDATES)
        plan, known, price = self.data.plan, self._known, self._score.term_price
        variance = plan.relative_variance * self._score.noise
        forms = integral_form(self.data, plan.smoothed, start.features, variance, max_rows)
        total = 0.0
        for c, form in forms.items():
            candidates[c] &= np.diag(form.H) > 0
            if not candidates[c].any():
                continue
            given = np.where(known.given[c], known.low[c], 0.0)
            quadratic = form.without_given(given)
            required = known.required[c] & ~known.given[c]
            # the prediction error of a map is known, and the same for all values of parameters
            temperature = 1.0 if self.data.discrete else quadratic.temperature()
            sets = SetSearch(quadratic, candidates[c], required, price, temperature)
            score, support, near = sets.descend(required)
            total += score
            if support.any():
                coefficients[c] = given + near.coefficients
            candidates[c] &= screened(near, support, max_candidates)
        field = self._within_bounds(replace(start, coefficients=coefficients))
        return _IntegralProposal(field, candidates, total)

    # -- one set of terms ----------------------------------------------------------------

    def _within_bounds(self, field: HybridField) -> HybridField | None:
        """Return the field with required coefficients clipped to their bounds.

        Return None if any other coefficient violates its bounds.
        """
        known, coefficients = self._known, np.asarray(field.coefficients)
        inside = np.where(coefficients != 0, np.clip(coefficients, known.low, known.high), 0.0)
        is_outside = (coefficients != inside) & ~known.required & ~known.given
        is_outside[self.matcher.fixed] = False
        return None if is_outside.any() else replace(field, coefficients=inside)

    def _linearized(self, trial: Trial) -> _Linearization | None:
        """Return the scores of all sets of candidates, linearized at a matched field."""
        problem = self.matcher.problem(trial.field, self._open | trial.support)
        stage, constants = trial.stage, problem.constants
        quadratic = linearize(
            problem, stage.normal.states, stage.segments, stage.substeps, stage.sigma
        )
        if quadratic is None:
            return None
        min_rss = quadratic.rows if trial.is_rounding else 0.0
        size, count = constants.size, len(constants.lead)
        rows, columns = np.zeros(size, dtype=int), np.zeros(size, dtype=int)
        rows[:count] = constants.rows[constants.lead]
        columns[:count] = constants.columns[constants.lead]
        is_coefficient = np.arange(size) < count
        is_open = is_coefficient & self._open[rows, columns] & ~self._known.required[rows, columns]
        price = np.where(is_open, self._score.term_price[columns], 0.0)
        sets = SetSearch(
            quadratic._replace(min_rss=min_rss), is_open, ~is_open, price, quadratic.temperature()
        )
        return _Linearization(problem, rows, columns, sets)
