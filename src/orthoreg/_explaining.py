"""`explain` for a fitted model: proposals for what its library lacks, to be accepted or not."""

from collections.abc import Sequence
from functools import partial
from time import time
from typing import Any

import numpy as np

from ._errors import InputError
from ._explanation import Explanation, Proposal
from ._threads import one_thread
from ._validation import in_states_of, known_dataset, training_rows
from .data import Dataset
from .explanation import (
    Atom,
    Candidate,
    Gap,
    explain_rows,
    gather_evidence,
    measurements,
    rows_as_measurements,
    short_terms,
    tell_apart,
)
from .export import equation_names, significant
from .libraries import AbstractLibrary, to_text
from .physics import Bound, bind_physics

_MOST_PROPOSALS = 8


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
    """The proposals for a fitted model on these data."""
    goes_on = until(minutes)
    loss = model.recipe().loss
    data, timed = known_dataset(model, X, y, t, u), None
    if data is None:
        if functions_of_time:
            raise InputError("Functions of time need runs in time: a Dataset, or X with t=....")
        rows, _ = training_rows(model, loss, X, y, t, u)
        measured, given = rows_as_measurements(rows), (X, y, u)
    else:
        data = in_states_of(model, data)
        model._variables(data, None)  # refuses other names
        timed = data.with_clock() if functions_of_time else data
        measured, given = measurements(loss, timed), data
    support = np.asarray(model.field_.coefficients) != 0
    gaps = explain_rows(
        measured,
        model.field_.features,
        atoms,
        supports={c: np.flatnonzero(row).tolist() for c, row in enumerate(support)},
        knowledge=model.knowledge(),
        goes_on=goes_on,
    )
    if timed is not None and not model.field_.features.parameters:
        bind = partial(_bound, model, timed)
        gaps = tell_apart(gaps, timed, model.input_interpolation_, bind, goes_on)
    found = [
        _proposal(model, gap, one)
        for gap, shown in zip(gaps, _shown([gap.proposals for gap in gaps]), strict=True)
        for one in shown
    ]
    found = sorted(found, key=lambda one: -one.gain)
    result = Explanation(model, given, tuple(found), timed_out=not goes_on())
    for one in found:
        one._explanation.append(result)
    return result


def _bound(model: Any, data: Dataset, library: AbstractLibrary) -> Bound:
    return bind_physics(
        model.recipe().physics, library, data.variable_names, data.state_names,
        dict(data.given_rates), data.clock_place,
    )  # fmt: skip


def _shown(proposals: Sequence[Sequence[Candidate]]) -> list[Sequence[Candidate]]:
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


def _proposal(model: Any, gap: Gap, found: Candidate) -> Proposal:
    labels = equation_names(model.output_names_, model.velocity_of_)
    evidence = gather_evidence(
        gap.equation, gap.base, found, gap.proposals, _coefficients(model, found.output)
    )
    terms = short_terms(found)
    return Proposal(
        model.output_names_[found.output],
        " + ".join(terms),
        terms,
        equation_text(labels[found.output], found),
        gap.base.score - found.score,
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


def equation_text(label: str, found: Candidate, digits: int = 4) -> str:
    """The candidate as a line: theta'' = -1.000 sin(theta) + 0.3000 cos(3*theta)."""
    text = ""
    for shape, values, w in zip(
        found.fit.shapes, found.fit.values, found.fit.coefficients, strict=True
    ):
        name = to_text(shape.at([float(f"{v:.{digits}g}") for v in values]))
        size = significant(abs(float(w)), digits)
        body = size if name == "1" else f"{size} {name}"
        sign = "-" if w < 0 else "+"
        text += f" {sign} {body}" if text else f"-{body}" if w < 0 else body
    return f"{label}' = {text or '0'}"
