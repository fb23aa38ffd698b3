"""`explain` for a fitted model: proposals for what its library lacks, to be accepted or not."""

from collections.abc import Callable, Sequence
from functools import partial
from time import time
from typing import Any

import numpy as np

from .._common.errors import InputError
from .._common.parallel import one_thread
from ..data import AnyRows, Dataset
from ..export import equation_names, significant
from ..losses import Weak
from ..matching import judge
from ..physics import Bound, Physics, bind_physics
from ..search.formulas import (
    Atom,
    Candidate,
    Judged,
    Judgement,
    Measurements,
    ModelSearch,
    SearchInput,
    explain_rows,
    gather_evidence,
    judged_by_rows,
    judged_by_trajectories,
    measurements,
    rows_as_measurements,
    short_terms,
)
from ..terms import AbstractLibrary, to_text
from .explanation import Explanation, Proposal
from .validation import in_states_of, known_dataset, run_rows, training_rows

TRIED = 24
"""Combinations of candidates that are matched to trajectories."""
_MOST_PROPOSALS = 8
_MOST_RESAMPLES = 0.5  # that must prefer a proposal which extrapolates worse than the library
_FEWEST_STEPS = 4  # rows of a run, up to which there is no trajectory to match


@one_thread()
def explanation_of(
    model: Any,
    X: Any,
    y: Any,
    t: Any,
    u: Any,
    atoms: Sequence[Atom],
    minutes: float | None,
    functions_of_time: bool,
) -> Explanation:
    """The proposals for a fitted model on these data, by their scores. One that is worse than the
    library on the outer shell of the data comes after all that are not."""
    goes_on = until(minutes)
    loss = model.recipe().loss
    data = known_dataset(model, X, y, t, u)
    if data is None:
        if functions_of_time:
            raise InputError("Functions of time need runs in time: a Dataset, or X with t=....")
        rows, _ = training_rows(model, loss, X, y, t, u)
        given = (X, y, u)
        judgements = _judged_by_rows(model, rows_as_measurements(rows), atoms, goes_on)
    else:
        given = data = in_states_of(model, data)
        model._variables(data, None)  # refuses other names
        timed = data.with_time_input() if functions_of_time else data
        in_time = timed.derivatives is None
        if in_time and int(timed.run_lengths.max()) > _FEWEST_STEPS:
            judgements = _judged_by_trajectories(model, timed, atoms, goes_on)
        else:
            judgements = _judged_by_rows(model, measurements(loss, timed), atoms, goes_on)
    found = [
        _proposal(model, judgement, one)
        for judgement, shown in zip(
            judgements, _shown([one.proposals for one in judgements]), strict=True
        )
        for one in shown
    ]
    found = sorted(
        (one for one in found if not one.is_worse_outside or one.probability > _MOST_RESAMPLES),
        key=lambda one: (one.is_worse_outside, -one.gain),
    )
    result = Explanation(model, given, tuple(found), timed_out=not goes_on())
    for one in found:
        one._explanation.append(result)
    return result


def _judged_by_rows(
    model: Any, rows: Measurements, atoms: Sequence[Atom], goes_on: Callable[[], bool]
) -> list[Judgement]:
    gaps = explain_rows(
        rows,
        model.field_.features,
        atoms,
        supports=_supports(model),
        knowledge=model.knowledge(),
        is_expected=not model.recipe().library_is_default,
        goes_on=goes_on,
    )
    return [judged_by_rows(gap) for gap in gaps]


def _judged_by_trajectories(
    model: Any, data: Dataset, atoms: Sequence[Atom], goes_on: Callable[[], bool]
) -> list[Judgement]:
    """The search of `discover`, beginning with the terms of the model."""
    recipe, features = model.recipe(), model.field_.features
    rows, columns = run_rows(data, recipe.loss)
    given = SearchInput(
        data,
        features,
        model.knowledge(),
        partial(_bound, model, data),
        dict(columns.interpolation) | model.input_interpolation_,
        recipe.loss,
        rows.point_extent.sample,
        recipe.physics,
        atoms,
        is_expected=not recipe.library_is_default,
        supports=_supports(model),
        values=dict(zip(features.parameters, features.values, strict=True)),
    )
    search = ModelSearch(given, goes_on)
    ranked = search.run(TRIED)
    if search.ranking.longest() < _window_steps(data, rows):
        return [judged_by_rows(gap) for gap in search.gaps]
    found = judge(ranked[0].field, data.plan.clean, given.interpolation)
    misfits = {} if found is None else dict(enumerate(found.of_equations(data)))
    return [
        judged_by_trajectories(gap, ranked, misfits.get(gap.equation.output)) for gap in search.gaps
    ]


def _window_steps(data: Dataset, rows: AnyRows) -> float:
    """Steps in the widest window of the weak form, which shows more of the motion than trajectories
    that can be followed over fewer; zero for rows of derivatives."""
    if rows.windows is None:
        return 0.0
    return 2 * max(data.plan.half_widths(Weak().order)) / float(np.median(data.step_of_run()))


def _supports(model: Any) -> dict[int, list[int]]:
    support = np.asarray(model.field_.coefficients) != 0
    return {c: np.flatnonzero(row).tolist() for c, row in enumerate(support)}


def _bound(
    model: Any, data: Dataset, library: AbstractLibrary, physics: Physics | None = None
) -> Bound:
    return bind_physics(
        physics or model.recipe().physics, library, data.variable_names, data.state_names,
        dict(data.given_rates), data.schema.time_index,
    )  # fmt: skip


def _shown(proposals: Sequence[Sequence[Judged]]) -> list[Sequence[Judged]]:
    """The first proposals of each equation, as many for each as there is room."""
    lists = sum(map(bool, proposals))
    each = max(_MOST_PROPOSALS // max(lists, 1), 1)
    return [some[:each] for some in proposals]


def until(minutes: float | None) -> Any:
    """Whether there is time left."""
    if minutes is None:
        return lambda: True
    if not minutes > 0:
        raise InputError(f"minutes must be more than 0; got {minutes!r}.")
    end = time() + 60 * minutes  # of the day, which workers elsewhere know too
    return lambda: time() < end


def _proposal(model: Any, judgement: Judgement, judged: Judged) -> Proposal:
    labels = equation_names(model.output_names_, model.velocity_of_)
    found = judged.candidate
    evidence = gather_evidence(judgement, judged, _coefficients(model, found.output))
    terms = short_terms(found)
    return Proposal(
        model.output_names_[found.output],
        " + ".join(terms),
        terms,
        equation_text(labels[found.output], found),
        judgement.base.score - judged.score,
        evidence.inside,
        evidence.outside,
        evidence.probability,
        evidence.constants,
        evidence.alternatives,
        evidence.changes,
        evidence.partial,
        found,
    )


def _coefficients(model: Any, output: int) -> dict[str, float]:
    """Those of one equation of the model, by the terms, without what is given."""
    features = model.field_.features
    features = features.resolved() if features.values else features
    weights, given = np.asarray(model.field_.coefficients)[output], model.knowledge().given[output]
    return {
        to_text(term): float(w)
        for term, w, is_given in zip(features.terms, weights, given, strict=True)
        if w and not is_given
    }


def equation_text(label: str, found: Candidate) -> str:
    """The candidate as a line: theta'' = -1.000 sin(theta) + 0.3000 cos(3*theta)."""
    text = ""
    for shape, values, w in zip(
        found.fit.shapes, found.fit.values, found.fit.coefficients, strict=True
    ):
        name = to_text(shape.at([float(f"{v:.4g}") for v in values]))
        size = significant(abs(float(w)), 4)
        name = f"({name})" if name[0].isdigit() else name  # 2 (1/(1 + x)), not 2 1/(1 + x)
        body = size if name == "(1)" else f"{size} {name}"
        sign = "-" if w < 0 else "+"
        text += f" {sign} {body}" if text else f"-{body}" if w < 0 else body
    return f"{label}' = {text or '0'}"
