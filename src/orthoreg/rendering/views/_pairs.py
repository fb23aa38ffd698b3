"""Which two states belong against each other: positions and velocities, then the most coupled."""

from itertools import combinations

import numpy as np
from jaxtyping import Float

from ...data import Dataset
from ...model.model import AbstractModel
from ._choice import at_states, evenly

_MOST_PAIRS = 6
_ROWS = 400  # at which couplings are measured
_COUPLED = 0.01  # share of a rate that goes when the other state is held
_BINS = 8  # of a variable, to see whether something depends on it
_DEPENDS = 0.1  # share of the variation that a variable's bins must tell apart
_NEAR_ONE = 0.1  # of the coefficient in x' = v, which noise moves


def choose_pairs(
    model: AbstractModel, data: Dataset, among: list[int] | None
) -> tuple[list[tuple[int, int]], str]:
    """Pairs of states for a phase portrait, (horizontal, vertical), and why these.

    Positions against their velocities come first, each other state then against the one that it
    is most coupled to. Without positions: all pairs of up to three states, or the most coupled.
    """
    states = list(range(data.n_states)) if among is None else among
    every = list(combinations(states, 2))
    pairs: list[tuple[int, int]] = []
    for i, j in velocities(model).items():
        if i in states and j in states and (j, i) not in pairs:  # x' = v, v' = x are one pair
            pairs.append((i, j))
    if not pairs and len(states) <= 3:
        return every, ""
    some = f"{_MOST_PAIRS} of {len(pairs)} " * (len(pairs) > _MOST_PAIRS)
    why = f": {some}positions against their velocities" if pairs else ""
    if len(pairs) < _MOST_PAIRS:
        strength = couplings(model, data)
        strength = np.maximum(strength, strength.T)
        ranked = sorted(every, key=lambda pair: -strength[pair])
        ranked = [pair for pair in ranked if strength[pair] > _COUPLED]
        if not pairs:
            return ranked[:_MOST_PAIRS] or every[:1], ": those most strongly coupled"
        known = {k for pair in pairs for k in pair}
        for pair in ranked:
            if not known.issuperset(pair):
                pairs.append(pair)
                known |= set(pair)
                why = ": positions against their velocities, then the most coupled"
    return pairs[:_MOST_PAIRS], why


def velocities(model: AbstractModel) -> dict[int, int]:
    """For each state that is a position, by what was given, by its learned equation (theta' =
    omega) or by its name (x and x_dot), the place of the state that is its velocity."""
    names = model.state_names_
    given = {names.index(q): names.index(v) for q, v in model.velocity_of_.items()}
    has_residual = np.any(model.field_.weights, axis=0) | np.any(model.field_.correction, axis=1)
    found = given
    for i, name in enumerate(names):
        terms = np.flatnonzero(model.support_[i])
        alone = ""
        if len(terms) == 1 and not has_residual[i]:
            is_one = abs(model.coefficients_[i, terms[0]] - 1) <= _NEAR_ONE
            alone = model.feature_names_[terms[0]].strip("`") if is_one else ""
        for other in (alone, f"{name}_dot"):
            if other in names and other != name:
                found.setdefault(i, names.index(other))
    return found


def couplings(model: AbstractModel, data: Dataset) -> Float[np.ndarray, "n n"]:
    """How much of each state's rate (row) goes when another state (column) is held at its mean, as
    a share of the rate's size."""
    states = data.states[evenly(data.n_samples, _ROWS)]
    centre = data.states.mean(axis=0)
    result = np.zeros((data.n_states, data.n_states))
    with np.errstate(invalid="ignore", over="ignore"):
        rates = np.asarray(model.predict(at_states(data, states)))
        size = np.sqrt(np.square(rates).mean(axis=0))
        for j in range(data.n_states):
            held = states.copy()
            held[:, j] = centre[j]
            change = np.asarray(model.predict(at_states(data, held))) - rates
            result[:, j] = np.sqrt(np.square(change).mean(axis=0)) / np.where(size > 0, size, 1.0)
    np.fill_diagonal(result, 0.0)
    return np.nan_to_num(result)


def telling_pair(
    model: AbstractModel,
    variables: Float[np.ndarray, "N V"],
    values: Float[np.ndarray, " N"],
    equation: int,
) -> tuple[int, int]:
    """The two variables whose bins tell most of the variation of the values; where none tells any,
    the state of the equation and its velocity or position."""
    count = variables.shape[1]
    if count == 2:
        return 0, 1
    told = np.array([_told_by(variables[:, k], values) for k in range(count)])
    best = np.argsort(-told, kind="stable")[:2]
    if told[best[0]] >= _DEPENDS or equation >= len(model.state_names_):
        first, second = sorted(int(k) for k in best)
        return first, second
    other = velocities(model)
    partner = other.get(equation, {j: i for i, j in other.items()}.get(equation))
    partner = (equation + 1) % len(model.state_names_) if partner is None else partner
    if partner == equation:  # one state, and inputs
        partner = 1
    return min(equation, partner), max(equation, partner)


def _told_by(variable: Float[np.ndarray, " N"], values: Float[np.ndarray, " N"]) -> float:
    """The correlation ratio: the variance of the values' means in bins, over their variance."""
    total = float(values.var())
    if not total > 0:
        return 0.0
    bins = np.argsort(np.argsort(variable, kind="stable"), kind="stable") * _BINS // len(variable)
    counts = np.maximum(np.bincount(bins, minlength=_BINS), 1)
    means = np.bincount(bins, values, minlength=_BINS) / counts
    between = float((counts * np.square(means - values.mean())).sum() / len(values))
    return between / total
