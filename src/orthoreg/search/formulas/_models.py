"""Search for whole models. Rows give candidates for each equation, and trajectories rank models.

`discover` and `explain` use the same search. `explain` starts from the terms of a fitted model.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
from jaxtyping import Float

from ..._common.progress import progress
from ...data import Dataset, units_of
from ...losses import AbstractLoss
from ...physics import Bound, Knowledge, Physics
from ...terms import Expression, FeatureMap
from . import _limits as limits
from ._candidates import Candidate
from ._coupling import couple, coupled_systems
from ._evidence import points_around, written_terms
from ._measurements import Measurements
from ._proposals import EquationResult, RowSearch
from ._ranking import ModelRanking, RankedModel, best_combinations, combine
from ._rows import measurements


@final
@dataclass(frozen=True, eq=False)
class SearchInput:
    """The input of a search.

    `features` are the terms of the base library. They are cheap if the user chose them
    (`is_expected`). `bind` combines a library with known physics and returns its features. Every
    formula must be defined at the states and inputs in `points`. `supports` are the terms of a
    fitted model by equation, and `values` are the values of its parameters; both are empty for
    `discover`.
    """

    data: Dataset
    features: FeatureMap
    knowledge: Knowledge
    bind: Callable[..., Bound]
    interpolation: Mapping[str, str]
    loss: AbstractLoss
    points: Float[np.ndarray, "P V"]
    physics: Physics | None = None
    atoms: Sequence[Any] = ()
    is_expected: bool = True
    supports: Mapping[int, Sequence[int]] | None = None
    values: Mapping[str, float] = field(default_factory=dict)


@final
class ModelSearch:
    """A search on one data set.

    `results` are the equations searched on the first rows, `ranking` contains the matched models,
    and `around` are points within and around the data.
    """

    def __init__(self, problem: SearchInput, should_continue: Callable[[], bool]):
        self._problem, self._should_continue = problem, should_continue
        self.results: list[EquationResult] = []
        self.around = np.zeros((0, len(problem.data.variable_names)))
        self.ranking = ModelRanking(problem.data, problem.interpolation)

    @np.errstate(all="ignore")  # formulas that overflow are rejected
    def run(self, tried: int) -> list[RankedModel]:
        """Return the ranked models, best first.

        If the data are noisy, they are searched again with the states of the best model, unless
        coupled equations explain the data better.
        """
        rows = self._rows(None)
        self.around = points_around(rows.extent)
        self.results = self._results(rows, {})
        is_coupled = self._rank_coupled(rows)
        self._rank(self.results, min(tried, limits.MAX_BESIDE_COUPLED) if is_coupled else tried)
        ranked = self.ranking.ranked()
        if self.ranking.is_noisy and self._should_continue() and not is_coupled:
            data = self._problem.data
            states = ranked[0].states if len(ranked[0].states) == data.n_samples else None
            shared = self._shared(ranked[: limits.SHARING_MODELS])
            self._rank(self._results(self._rows(states), shared), tried)
            ranked = self.ranking.ranked()
        return ranked

    def _rows(self, states: Float[np.ndarray, "N n"] | None) -> Measurements:
        problem = self._problem
        rows = measurements(problem.loss, problem.data, states=states)
        return replace(rows, units=units_of(problem.data.schema)).defined_at(problem.points)

    def _results(
        self, rows: Measurements, shared: dict[int, set[Expression]]
    ) -> list[EquationResult]:
        problem = self._problem
        return RowSearch(
            rows, problem.features, problem.knowledge, problem.atoms, problem.supports or {},
            shared, problem.is_expected, self._should_continue,
        ).run()  # fmt: skip

    def _rank(self, results: Sequence[EquationResult], tried: int) -> None:
        """Match the best combinations of candidates, including combinations with the best library
        candidates.
        """
        lists = [
            [
                candidate
                for candidate in result.candidates
                if candidate.score - result.candidates[0].score < limits.MAX_GAP
            ]
            for result in results
        ]
        chosen = best_combinations(lists, tried)
        always = [chosen[0], tuple(result.base for result in results)]
        if self._problem.supports is not None:
            always += _without_proposals(results, chosen[0])
        unique = {tuple(map(id, candidate)): candidate for candidate in [*always, *chosen]}
        with progress("Matching trajectories", float(len(unique))) as show:
            for done, candidates in enumerate(unique.values()):
                if done >= len(always) and not self._should_continue():
                    break
                show(float(done), "; ".join(written_terms(candidate) for candidate in candidates))
                self._add(candidates)

    def _add(self, candidates: Sequence[Candidate]) -> None:
        problem, data = self._problem, self._problem.data
        self.ranking.add(
            combine(
                candidates,
                problem.bind,
                data.state_names,
                float(data.n_samples),
                dict(data.given_rates),
                problem.physics,
                problem.values,
            )
        )

    def _rank_coupled(self, rows: Measurements) -> bool:
        """Match systems with several accelerations per equation. Return whether there are any.

        Skip this step if physics or a model is given, which such systems might contradict.
        """
        if self._problem.physics is not None or self._problem.supports is not None:
            return False
        systems = coupled_systems(rows, self.results, self._should_continue)
        with progress("Matching coupled equations", float(len(systems))) as show:
            for done, system in enumerate(systems):
                show(float(done), "several accelerations in one equation")
                if done == 0 or self._should_continue():
                    self.ranking.add(couple(system, self._problem.bind, rows))
        return bool(systems)

    def _shared(self, ranked: Sequence[RankedModel]) -> dict[int, set[Expression]]:
        """Return, for each equation, the terms of the other equations in these models."""
        terms = {c: set[Expression]() for c in range(self._problem.data.n_states)}
        for model in ranked:
            used = np.asarray(model.field.coefficients) != 0
            for c, k in np.argwhere(used).tolist():
                for other in terms:
                    if other != c:
                        terms[other].add(model.field.features.terms[k])
        return terms


def _without_proposals(
    results: Sequence[EquationResult], best: Sequence[Candidate]
) -> list[tuple[Candidate, ...]]:
    """Return the combinations that proposals must beat.

    These are the fitted model, and the best combination with one equation replaced by its best
    library candidate.
    """
    combinations = [tuple(result.model or result.base for result in results)]
    for c, result in enumerate(results):
        if best[c].new:
            combinations += [
                (*best[:c], library_candidate, *best[c + 1 :])
                for library_candidate in (result.base, result.model)
                if library_candidate
            ]
    return combinations
