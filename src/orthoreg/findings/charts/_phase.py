"""Phase portraits: pairs of states with the learned flow and the measured runs."""

from dataclasses import dataclass
from itertools import combinations
from typing import final

import numpy as np
from jaxtyping import Float

from ..._common.errors import InputError
from ..._common.notation import derivative_name, left_side, next_values
from ...control import Equilibrium
from ...data import Dataset
from ._choice import (
    AbstractFittedModel,
    Detail,
    Label,
    Slopes,
    at_states,
    bounds_of,
    envelope,
    evenly,
    joined,
    not_measured,
    share_shown,
    shortened,
    slopes_of,
    variable_labels,
)

_MAX_PAIRS = 6
_COUPLING_ROWS = 400  # rows at which couplings are measured
_MIN_COUPLING = 0.01  # minimum coupling: share of a rate that changes if the other state is fixed
_BINS = 8  # bins of a variable, to measure whether values depend on it
_MIN_DEPENDENCE = 0.1  # minimum share of the values' variance between the bins of a variable
_UNIT_TOLERANCE = 0.1  # tolerance of the coefficient in x' = v, which noise changes
_SHOWN_ROWS = 3_000  # rows of all runs in a portrait
_BROKEN_STEP = 0.03  # share of a portrait; points further apart are not joined by a line
_RATE_POINTS = 200  # points of the curve over a single state
_MEASURED_POINTS = 1_500  # beside it
_MIN_NETWORK = 1e-9  # share of the flow's size; a smaller network part is rounding


@final
@dataclass(frozen=True, eq=False)
class Portrait:
    """Runs and the learned flow for a pair of states.

    All lie within `low` and `high`. The flow is on a regular grid, [row, column] at (y, x), in
    ranges of the states per time.

    `equations` and `network` are the parts of the flow; both are None without a network. A run is
    `broken` if its points are too far apart to be joined by lines. `equilibria` and their kinds are
    known for models with two states, at the mean input; `is_stable` marks the stable ones.
    """

    x_label: Label
    y_label: Label
    low: Float[np.ndarray, "2"]
    high: Float[np.ndarray, "2"]
    flow: Float[np.ndarray, "G G 2"]
    equations: Float[np.ndarray, "G G 2"] | None
    network: Float[np.ndarray, "G G 2"] | None
    runs: tuple[Float[np.ndarray, "_ 2"], ...]
    broken: tuple[bool, ...]
    starts: Float[np.ndarray, "R 2"]
    equilibria: Float[np.ndarray, "E 2"]
    kinds: tuple[str, ...] = ()
    is_stable: tuple[bool, ...] = ()


@final
@dataclass(frozen=True, eq=False)
class Rate:
    """The rate of a single state against its value: of the model, of its equations and network, and
    measured.
    """

    x_label: Label
    y_label: str
    x: Float[np.ndarray, " G"]
    model: Float[np.ndarray, " G"]
    equations: Float[np.ndarray, " G"]
    network: Float[np.ndarray, " G"] | None
    measured_x: Float[np.ndarray, " M"]
    measured_y: Float[np.ndarray, " M"]


@final
@dataclass(frozen=True, eq=False)
class Phase:
    """Portraits, or the rate of a single state.

    For a map (`discrete`), the flow is the step to the next row, and the rate is the next value.
    """

    portraits: tuple[Portrait, ...]
    rate: Rate | None
    notes: tuple[str, ...]
    discrete: bool = False

    @property
    def note(self) -> str:
        """The notes, joined on one line."""
        return joined(self.notes)


def phase_chart(
    model: AbstractFittedModel,
    data: Dataset,
    detail: Detail,
    *,
    among: list[int] | None = None,
    slopes: Slopes | None = None,
) -> Phase:
    """Return portraits of pairs of states, or the rate of a single state.

    `among` restricts the states. `slopes` are the derivatives, if they are already known.
    """
    held = ["other states"] if data.n_states > 2 else []
    held += [] if data.inputs is None else ["inputs"]
    at_mean = f"flow with {' and '.join(held)} at their mean" if held else ""
    if data.n_states == 1:
        slopes = slopes_of(model, data, detail.rows) if slopes is None else slopes
        return Phase((), _rate(model, data, slopes, detail), (at_mean,), data.discrete)
    if among is not None and len(among) < 2:
        names = [data.state_names[i] for i in among]
        raise InputError(f"plot_phase(states=...) needs at least two of the states; got {names}.")
    pairs, reason = choose_pairs(model, data, among)
    count = data.n_states * (data.n_states - 1) // 2
    pairs = pairs[: detail.pairs]
    median = max(int(np.median(data.run_lengths)), 1)
    runs = evenly(data.n_runs, int(np.clip(_SHOWN_ROWS // median, *detail.portrait_runs)))
    notes = (
        share_shown(
            len(pairs), count, "pairs of states", reason if among is None else ", as requested"
        ),
        at_mean,
        share_shown(len(runs), data.n_runs, "runs", ""),
        not_measured(data),
    )
    portraits = tuple(_portrait(model, data, pair, runs, detail) for pair in pairs)
    return Phase(portraits, None, notes, data.discrete)


def _portrait(
    model: AbstractFittedModel,
    data: Dataset,
    pair: tuple[int, int],
    runs: np.ndarray,
    detail: Detail,
) -> Portrait:
    columns, size = list(pair), detail.grid
    low, high = bounds_of(data.states[:, columns], detail.margin)
    first, second = (np.linspace(low[k], high[k], size) for k in (0, 1))
    states = np.tile(data.states.mean(axis=0), (size * size, 1))
    states[:, columns] = np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2)
    with np.errstate(all="ignore"):
        parts = model.decompose(at_states(data, states))
        symbolic, neural = (np.asarray(part)[:, columns] for part in parts)
        if data.discrete:
            symbolic = symbolic - states[:, columns]
        total = np.sqrt(np.nanmean(np.square(symbolic + neural)))
        has_network = bool(np.abs(neural).max() > _MIN_NETWORK * total)

    def grid(rates: np.ndarray) -> np.ndarray:
        return (rates / (high - low)).reshape(size, size, 2)

    lines = [_line(data, run, columns, high - low, detail) for run in runs.tolist()]
    labels = variable_labels(data)
    points = _equilibria(model, data, columns, low, high)
    return Portrait(
        labels[pair[0]],
        labels[pair[1]],
        low,
        high,
        grid(symbolic + neural),
        grid(symbolic) if has_network else None,
        grid(neural) if has_network else None,
        tuple(line for line, _ in lines),
        tuple(broken for _, broken in lines),
        data.states[data.offsets[runs]][:, columns],
        np.array([point.x[columns] for point in points]).reshape(-1, 2),
        tuple(point.kind for point in points),
        tuple(point.stability == "stable" for point in points),
    )


def _equilibria(
    model: AbstractFittedModel,
    data: Dataset,
    columns: list[int],
    low: Float[np.ndarray, "2"],
    high: Float[np.ndarray, "2"],
) -> tuple[Equilibrium, ...]:
    """Return the equilibria within a portrait of a model with two states, at the mean input.

    In a model with more states, the flow of a portrait does not vanish at an equilibrium. A
    constant per run is not a state that can be at rest.
    """
    if data.n_states != 2 or model.schema_.per_run:
        return ()
    box = {data.state_names[c]: (low[i], high[i]) for i, c in enumerate(columns)}
    u = None if data.inputs is None else data.inputs.mean(axis=0)
    try:
        return model.equilibria(box, u).points
    except InputError:  # models with delays, time or jumps
        return ()


def _line(
    data: Dataset, run: int, columns: list[int], size: Float[np.ndarray, "2"], detail: Detail
) -> tuple[Float[np.ndarray, "T 2"], bool]:
    """Return the points of a run, and whether they are too far apart to be joined by lines."""
    line = data.states[int(data.offsets[run]) : int(data.offsets[run + 1])][:, columns]
    count, points = len(line), detail.line_points
    rows = evenly(count, points)
    if detail.line_extremes:
        extremes = [envelope(column, points) for column in line.T]
        rows = np.unique(np.concatenate([*extremes, rows])) if count > 2 * points else slice(None)
    shown = line[rows]
    moved = np.abs(np.diff(shown, axis=0) / size).max(axis=1) if len(shown) > 1 else np.zeros(1)
    is_thinned = len(shown) < count
    return shown, data.discrete or bool(is_thinned and np.median(moved) > _BROKEN_STEP)


def _rate(model: AbstractFittedModel, data: Dataset, slopes: Slopes, detail: Detail) -> Rate:
    low, high = bounds_of(data.states, detail.margin)
    grid = np.linspace(low, high, _RATE_POINTS)
    with np.errstate(all="ignore"):
        parts = model.decompose(at_states(data, grid))
        symbolic, neural = (np.asarray(part).reshape(-1) for part in parts)
    rows, values = slopes.rows, slopes.values
    some = evenly(rows.n_samples, 0 if values is None else _MEASURED_POINTS)
    return Rate(
        variable_labels(data)[0],
        _rate_label(data),
        grid[:, 0],
        symbolic + neural,
        symbolic,
        neural if np.any(neural) else None,
        rows.states[some, 0],
        np.zeros(0) if values is None else values[some, 0],
    )


def _rate_label(data: Dataset) -> str:
    name = shortened(data.state_names[0])
    return left_side(next_values([name])[0]) if data.discrete else f"d/dt of {name}"


def choose_pairs(
    model: AbstractFittedModel, data: Dataset, among: list[int] | None
) -> tuple[list[tuple[int, int]], str]:
    """Return pairs of states, (horizontal, vertical), and the reason for this choice in words.

    Positions against their velocities come first, then each other state against the state to which
    it is coupled most strongly. Without positions, these are all pairs of up to three states, or
    the most strongly coupled pairs.
    """
    states = list(range(data.n_states)) if among is None else among
    every = list(combinations(states, 2))
    pairs: list[tuple[int, int]] = []
    for i, j in velocities(model).items():
        if i in states and j in states and (j, i) not in pairs:  # x' = v, v' = x are one pair
            pairs.append((i, j))
    if not pairs and len(states) <= 3:
        return every, ""
    some = f"{_MAX_PAIRS} of {len(pairs)} " * (len(pairs) > _MAX_PAIRS)
    reason = f": {some}positions against their velocities" if pairs else ""
    if len(pairs) < _MAX_PAIRS:
        strength = couplings(model, data)
        strength = np.maximum(strength, strength.T)
        ranked = sorted(every, key=lambda pair: -strength[pair])
        ranked = [pair for pair in ranked if strength[pair] > _MIN_COUPLING]
        if not pairs:
            return ranked[:_MAX_PAIRS] or every[:1], ": those most strongly coupled"
        known = {k for pair in pairs for k in pair}
        for pair in ranked:
            if not known.issuperset(pair):
                pairs.append(pair)
                known |= set(pair)
                reason = ": positions against their velocities, then the most coupled"
    return pairs[:_MAX_PAIRS], reason


def velocities(model: AbstractFittedModel) -> dict[int, int]:
    """Return the index of the velocity of each position.

    A velocity is given, or recognised by a learned equation (theta' = omega) or by name (x and
    x_dot).
    """
    names = model.state_names_
    result = {names.index(q): names.index(v) for q, v in model.velocity_of_.items()}
    has_residual = np.any(model.field_.weights, axis=0) | np.any(model.field_.correction, axis=1)
    for i, name in enumerate(names):
        terms = np.flatnonzero(model.support_[i])
        term = ""
        if len(terms) == 1 and not has_residual[i]:
            is_unit = abs(model.coefficients_[i, terms[0]] - 1) <= _UNIT_TOLERANCE
            term = model.feature_names_[terms[0]].strip("`") if is_unit else ""
        for other in (term, derivative_name(name)):
            if other in names and other != name:
                result.setdefault(i, names.index(other))
    return result


def couplings(model: AbstractFittedModel, data: Dataset) -> Float[np.ndarray, "n n"]:
    """Return how much each state's rate (row) changes if another state (column) is fixed at its
    mean.

    The change is a share of the rate's size.
    """
    states = data.states[evenly(data.n_samples, _COUPLING_ROWS)]
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


def informative_pair(
    model: AbstractFittedModel,
    variables: Float[np.ndarray, "N V"],
    values: Float[np.ndarray, " N"],
    equation: int,
) -> tuple[int, int]:
    """Return the two variables on which the values depend most.

    Without any dependence, return the state of the equation and its velocity or position.
    """
    count = variables.shape[1]
    if count == 2:
        return 0, 1
    ratios = np.array([_correlation_ratio(variables[:, k], values) for k in range(count)])
    best = np.argsort(-ratios, kind="stable")[:2]
    if ratios[best[0]] >= _MIN_DEPENDENCE or equation >= len(model.state_names_):
        first, second = sorted(int(k) for k in best)
        return first, second
    other = velocities(model)
    partner = other.get(equation, {j: i for i, j in other.items()}.get(equation))
    partner = (equation + 1) % len(model.state_names_) if partner is None else partner
    if partner == equation:  # one state, and inputs
        partner = 1
    return min(equation, partner), max(equation, partner)


def _correlation_ratio(variable: Float[np.ndarray, " N"], values: Float[np.ndarray, " N"]) -> float:
    """Return the variance of the values' bin means, divided by the variance of the values."""
    total = float(values.var())
    if not total > 0:
        return 0.0
    bins = np.argsort(np.argsort(variable, kind="stable"), kind="stable") * _BINS // len(variable)
    counts = np.maximum(np.bincount(bins, minlength=_BINS), 1)
    means = np.bincount(bins, values, minlength=_BINS) / counts
    between = float((counts * np.square(means - values.mean())).sum() / len(values))
    return between / total
