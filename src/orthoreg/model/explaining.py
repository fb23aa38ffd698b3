"""The search for formulas that a model's library lacks, and their evidence."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from time import time
from typing import Any

import numpy as np

from .._common.errors import InputError
from .._common.notation import left_side
from .._common.parallel import one_thread
from ..data import AnyRows, Dataset, units_of
from ..export import significant
from ..losses import Weak
from ..matching import judge
from ..physics import Bound, Physics, bind_physics
from ..search.formulas import (
    Atom,
    Candidate,
    EquationProposals,
    Measurements,
    ModelSearch,
    RowSearch,
    ScoredCandidate,
    SearchInput,
    gather_evidence,
    measurements,
    proposals_by_rows,
    proposals_by_trajectories,
    rows_as_measurements,
    short_terms,
    term_units,
)
from ..terms import (
    AbstractLibrary,
    rounded,
    to_text,
)
from . import _limits as limits
from .explanation import Explanation, Proposal
from .model import AbstractModel
from .validation import (
    in_states_of,
    known_dataset,
    known_variables,
    run_rows,
    training_rows,
)


@one_thread()
def explanation_of(
    model: AbstractModel,
    X: Any,
    y: Any,
    t: Any,
    u: Any,
    atoms: Sequence[Atom],
    minutes: float | None,
    functions_of_time: bool,
) -> Explanation:
    """Return the proposals for a fitted model, by score.

    Proposals that extrapolate worse than the library come last.
    """
    should_continue = time_budget(minutes)
    loss = model.recipe().loss
    data = known_dataset(model, X, y, t, u)
    data = None if data is None else data.sorted_runs
    if data is None:
        if functions_of_time:
            raise InputError("Functions of time need runs in time: a Dataset, or X with t=....")
        rows, _ = training_rows(model, loss, X, y, t, u)
        given = (X, y, u)
        judged = _judged_by_rows(model, rows_as_measurements(rows), atoms, should_continue)
    else:
        given = data = in_states_of(model, data)
        known_variables(model, data, None)  # raises an error if names differ
        timed = data.with_time_input() if functions_of_time else data
        in_time = timed.derivatives is None
        if in_time and int(timed.run_lengths.max()) > limits.MAX_POINT_ROWS:
            judged = _judged_by_trajectories(model, timed, atoms, should_continue)
        else:
            judged = _judged_by_rows(model, measurements(loss, timed), atoms, should_continue)
    shown = _shown([equation.proposals for equation in judged])
    proposals = [
        _proposal(model, equation, scored)
        for equation, of_equation in zip(judged, shown, strict=True)
        for scored in of_equation
    ]
    proposals = [
        proposal
        for proposal in proposals
        if not proposal.is_worse_outside or proposal.probability > limits.MIN_PROBABILITY
    ]
    proposals.sort(key=lambda proposal: (proposal.is_worse_outside, -proposal.gain))
    return Explanation(model, given, tuple(proposals), timed_out=not should_continue())


def _judged_by_rows(
    model: AbstractModel,
    rows: Measurements,
    atoms: Sequence[Atom],
    should_continue: Callable[[], bool],
) -> list[EquationProposals]:
    search = RowSearch(
        replace(rows, units=units_of(model.schema_)),
        model.field_.features,
        model.knowledge(),
        atoms,
        supports=_supports(model),
        is_expected=not model.recipe().library_is_default,
        should_continue=should_continue,
    )
    return [proposals_by_rows(result) for result in search.run()]


def _judged_by_trajectories(
    model: AbstractModel, data: Dataset, atoms: Sequence[Atom], should_continue: Callable[[], bool]
) -> list[EquationProposals]:
    """Return the proposals of a search as in `discover`, which starts from the model's terms."""
    recipe, features = model.recipe(), model.field_.features
    rows, columns = run_rows(data, recipe.loss)
    given = SearchInput(
        data,
        features,
        model.knowledge(),
        partial(bind_library, data, recipe.physics),
        dict(columns.interpolation) | model.input_interpolation_,
        recipe.loss,
        rows.point_extent.sample,
        recipe.physics,
        atoms,
        is_expected=not recipe.library_is_default,
        supports=_supports(model),
        values=dict(zip(features.parameters, features.values, strict=True)),
    )
    search = ModelSearch(given, should_continue)
    ranked = search.run(limits.MATCHED_COMBINATIONS)
    if search.ranking.longest() < _window_steps(data, rows):
        return [proposals_by_rows(result) for result in search.results]
    found = judge(ranked[0].field, data.plan.clean, given.interpolation)
    misfits = {} if found is None else dict(enumerate(found.of_equations(data)))
    return [
        proposals_by_trajectories(result, ranked, misfits.get(result.equation.output))
        for result in search.results
    ]


def _window_steps(data: Dataset, rows: AnyRows) -> float:
    """Return the number of steps in the widest window of the weak form, or zero for rows of
    derivatives.

    If trajectories can be followed over fewer steps only, windows contain more of the motion.
    """
    if rows.windows is None:
        return 0.0
    return 2 * max(data.plan.half_widths(Weak().order)) / float(np.median(data.step_of_run()))


def _supports(model: AbstractModel) -> dict[int, list[int]]:
    support = np.asarray(model.field_.coefficients) != 0
    return {c: np.flatnonzero(row).tolist() for c, row in enumerate(support)}


def bind_library(
    data: Dataset,
    known: Physics | None,
    library: AbstractLibrary,
    physics: Physics | None = None,
) -> Bound:
    """Return a library as features of the data, with `physics` or else with `known` physics."""
    return bind_physics(
        physics or known, library, data.variable_names, data.state_names,
        dict(data.given_rates), data.schema.time_index,
    )  # fmt: skip


def _shown(proposals: Sequence[Sequence[ScoredCandidate]]) -> list[Sequence[ScoredCandidate]]:
    """Return the first proposals of each equation, equally many for each."""
    count = sum(map(bool, proposals))
    room = max(limits.MAX_PROPOSALS // max(count, 1), 1)
    return [of_equation[:room] for of_equation in proposals]


def time_budget(minutes: float | None) -> Callable[[], bool]:
    """Return a function that returns whether there is time left."""
    if minutes is None:
        return lambda: True
    if not minutes > 0:
        raise InputError(f"minutes must be more than 0; got {minutes!r}.")
    deadline = time() + 60 * minutes  # wall-clock time, which remote workers share
    return lambda: time() < deadline


def _proposal(model: AbstractModel, judged: EquationProposals, scored: ScoredCandidate) -> Proposal:
    labels = model.equation_labels()
    candidate = scored.candidate
    evidence = gather_evidence(judged, scored, _coefficients(model, candidate.output))
    terms = short_terms(candidate)
    return Proposal(
        model.output_names_[candidate.output],
        " + ".join(terms),
        terms,
        equation_text(labels[candidate.output], candidate, judged.equation.rows),
        judged.base.score - scored.score,
        evidence.inside,
        evidence.outside,
        evidence.probability,
        evidence.constants,
        evidence.alternatives,
        evidence.changes,
        evidence.partial,
        candidate,
    )


def _coefficients(model: AbstractModel, output: int) -> dict[str, float]:
    """Return the coefficients of one equation by term, without given coefficients."""
    features = model.field_.features
    features = features.resolved() if features.values else features
    weights, given = np.asarray(model.field_.coefficients)[output], model.knowledge().given[output]
    return {
        to_text(rounded(term)): float(w)
        for term, w, is_given in zip(features.terms, weights, given, strict=True)
        if w and not is_given
    }


def equation_text(label: str, candidate: Candidate, rows: Measurements | None = None) -> str:
    """Return a candidate as text, such as theta'' = -1.000 sin(theta) + 0.3000 cos(3*theta)."""
    text = ""
    for term, values, w in zip(
        candidate.fit.terms, candidate.fit.values, candidate.fit.coefficients, strict=True
    ):
        name = to_text(rounded(term.at(values)))
        unit = "" if rows is None else term_units(rows, candidate.output, term, values)[0]
        size = significant(abs(float(w)), 4) + f" [{unit}]" * bool(unit)
        name = f"({name})" if name[0].isdigit() else name  # 2 (1/(1 + x)), not 2 1/(1 + x)
        body = size if name == "(1)" else f"{size} {name}"
        sign = "-" if w < 0 else "+"
        text += f" {sign} {body}" if text else f"-{body}" if w < 0 else body
    return f"{left_side(label)} = {text or '0'}"
