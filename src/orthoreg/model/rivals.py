"""`open_rivals`: models with other terms that imitate a fitted model on its training data."""

from copy import copy
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Float

from .. import design
from .._common.notation import left_side
from ..field.hybrid import HybridField
from ..fitting import is_angle
from ..matching import Uncertainty
from ..physics import ConstantSystem
from ..terms import Call, Variable
from . import _limits as limits
from .model import AbstractModel


@final
@dataclass(frozen=True, eq=False)
class Rival:
    """A model that the training data do not exclude, and a description of the alternative: other
    terms, or no residual."""

    text: str
    model: AbstractModel
    is_other_terms: bool = True


def open_rivals(model: AbstractModel, inputs: Float[np.ndarray, "2 m"]) -> list[Rival]:
    """Return models that differ from a fitted model in what its fit left open: terms that the data
    confound, terms that are not certain, sines of angles that moved too little, and the residual.

    Their coefficients are those that imitate the model best within the training data. `inputs` is
    the range of the inputs.
    """
    field = model.field_
    box = np.concatenate([model.state_range_, inputs], axis=1)
    points = design.spread_points(box[0], box[1], limits.IMITATION_POINTS)
    rivals = []
    for c, removed, added, text in _alternatives(model):
        imitated = _imitation(field, c, removed, added, points)
        if imitated is not None:
            rivals.append(Rival(text, _with_equation(model, *imitated, c)))
    if field.has_residual:
        rivals.append(
            Rival("the equations alone", _with_field(model, field.without_residual()), False)
        )
    return rivals[: limits.MAX_RIVALS]


def _alternatives(model: AbstractModel) -> list[tuple[int, int, int | None, str]]:
    """Return equation, term to remove, term to add (or None), and a description."""
    evidence, names = model.fit_.evidence, model.feature_names_
    system = ConstantSystem(model.knowledge().constants)
    known = {c for c, _ in system.places} | set(model.knowledge().complete)
    labels = [left_side(name) for name in model.equation_labels()]
    support = np.asarray(model.support_)
    found: dict[tuple[int, int, int | None], str] = {}
    for pair in () if evidence is None else evidence.pairs:
        if support[pair.equation, pair.term] and not support[pair.equation, pair.other]:
            text = f"{names[pair.other]} instead of {names[pair.term]} in {labels[pair.equation]}"
            found[(pair.equation, pair.term, pair.other)] = text
    if evidence is not None and evidence.from_trajectories:
        for c, k in np.argwhere(support & (evidence.probability < limits.CERTAIN)).tolist():
            if not any(key[:2] == (c, k) for key in found):
                found[(c, k, None)] = f"no term {names[k]} in {labels[c]}"
    for c, k, other in _sines(model):
        found[(c, k, other)] = f"{names[other]} instead of {names[k]} in {labels[c]}"
    return [(*key, text) for key, text in found.items() if key[0] not in known]


def _sines(model: AbstractModel) -> list[tuple[int, int, int]]:
    """Return equation, term and sine for each used term that is an angle, if the angle moved too
    little to distinguish it from its sine."""
    left_out = () if model.selection_ is None else model.selection_.left_out
    terms, names = model.field_.features.terms, model.feature_names_
    result = []
    for other in (names.index(name) for name in left_out if name in names):
        match terms[other]:
            case Call("sin", Variable(index, name) as angle) if angle in terms:
                ends = [-1.0, 1.0]  # of an input, whose range is not stored
                if index < len(model.state_names_):
                    ends = model.state_range_[:, index].tolist()
                if is_angle(name, model.units_.get(name, ""), *ends):
                    k = terms.index(angle)
                    used = np.flatnonzero(model.support_[:, k])
                    result += [(int(c), k, other) for c in used]
            case _:
                pass
    return result


def _imitation(
    field: HybridField, c: int, removed: int, added: int | None, points: Float[np.ndarray, "N V"]
) -> tuple[list[int], list[int], np.ndarray] | None:
    """Return the terms of an equation, those of its rival, and the matrix that converts the
    coefficients of the first into those of the second by least squares; None if nothing is left."""
    used = np.flatnonzero(np.asarray(field.coefficients)[c]).tolist()
    terms = [k for k in used if k != removed] + ([] if added is None else [added])
    if not terms:
        return None
    with np.errstate(all="ignore"):
        values = field.features(points)
    rows = np.isfinite(values[:, [*used, *terms]]).all(axis=1)
    matrix = np.linalg.lstsq(values[rows][:, terms], values[rows][:, used], rcond=None)[0]
    return used, terms, matrix


def _with_equation(
    model: AbstractModel, used: list[int], terms: list[int], matrix: np.ndarray, c: int
) -> AbstractModel:
    """Return the model with other terms in one equation, and the covariance that follows."""
    field = model.field_
    coefficients = np.array(field.coefficients, dtype=float)
    new = matrix @ coefficients[c, used]
    coefficients[c] = 0.0
    coefficients[c, terms] = new
    rival = _with_field(model, replace(field, coefficients=coefficients))
    estimates = model.fit_.estimates
    if estimates is None:
        return rival
    kept = [i for i, place in enumerate(estimates.places) if place[0] != c]
    places = [*(estimates.places[i] for i in kept), *((c, k) for k in terms)]
    size, first = len(estimates.values), len(estimates.places)
    change = np.zeros((len(places) + size - first, size))
    change[np.arange(len(kept)), kept] = 1.0
    for i, place in enumerate(estimates.places):
        if place[0] == c and place[1] in used:
            change[len(kept) : len(places), i] = matrix[:, used.index(place[1])]
    change[np.arange(len(places), len(change)), np.arange(first, size)] = 1.0
    values = np.concatenate([[coefficients[p] for p in places], estimates.values[first:]])
    rival.fit_ = replace(
        rival.fit_,
        uncertainty=Uncertainty(
            tuple(places), estimates.parameters, values, change @ estimates.covariance @ change.T,
            estimates.degrees_of_freedom, np.tile([-np.inf, np.inf], (len(values), 1)),
            np.ones((len(values), 2)),
        ),
    )  # fmt: skip
    return rival


def _with_field(model: AbstractModel, field: HybridField) -> AbstractModel:
    """Return a copy with another field, without results that describe the old field."""
    result = copy(model)
    result.fit_ = replace(
        model.fit_, field=field, uncertainty=model.fit_.estimates, refinement=None, runs=None,
        inclusion=None, delays=None,
    )  # fmt: skip
    return result
