"""Each equation with fewer and more terms: its errors, its formula, and what it would forecast."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from ...data import Dataset
from ...export import equation_names, math, math_equations
from ...matching import forecast_variants
from ...model.validation import training_rows
from ...search.rows import EquationPath, InformationCriterion
from ...simulation import Rollout
from ..views import evenly, rows_of, variable_label
from ._data import Path, Paths, PathStep
from ._numbers import short

_MOST_STEPS = 14  # of a path
_MOST_EQUATIONS = 4
_MOST_STATES = 4
_ROWS = 3_000  # that coefficients are fitted to
_MOST_POINTS = 160  # of a forecast, and of all together
_NUMBERS = 14_000
_LEAST = 1e-7  # relative error that is drawn; below it is rounding


def paths_of(model: Any, data: Dataset, forecasts: Sequence[Rollout], run: int) -> Paths | None:
    """The paths of a selection, forecasting one run; None where no selection was kept."""
    selected = model.selection_
    if selected is None or not selected.paths:
        return None
    learned = [c for c in model.learned_equations() if len(selected.paths[c].n_terms) > 1]
    if not learned:
        return None
    errors = np.array([selected.paths[c].outer[selected.paths[c].chosen] for c in learned])
    learned = [learned[i] for i in np.argsort(-errors, kind="stable")[:_MOST_EQUATIONS]]
    sums = _sums(model, data)
    found = {c: _supports(selected.paths[c], model.support_[c]) for c in learned}
    variants = {c: _fitted(model, sums, c, found[c]) for c in learned}
    stacked = np.concatenate([variants[c] for c in learned])
    states = _forecast(model, data, run, forecasts, stacked)
    shown = list(range(min(data.n_states, _MOST_STATES)))
    points = int(np.clip(_NUMBERS / (len(stacked) * len(shown)), 60, _MOST_POINTS))
    kept = evenly(states.shape[1], points)
    measured = data[run]
    # the one rule that fits all rows: what it compares is no error on others
    penalised = isinstance(getattr(model, "selection", None), InformationCriterion)
    equations, first = [], 0
    for c in learned:
        count = len(variants[c])
        part = states[first : first + count][:, kept][:, :, shown]
        equations.append(_path(model, c, selected.paths[c], found[c], variants[c], part, penalised))
        first += count
    time = data.units.get(data.time_name)
    alone = "equations alone, without the network" if model.field_.has_residual else ""
    return Paths(
        tuple(equations),
        [variable_label(data, state) for state in shown],
        data.labels[run],
        f"{data.time_name} [{time}]" if time else data.time_name,
        short(measured.times[kept]),
        [short(measured.states[kept, state]) for state in shown],
        alone,
    )


_Step = tuple[Bool[np.ndarray, " K"], int | None]  # a set of terms, and its place on the path


def _supports(path: EquationPath, used: Bool[np.ndarray, " K"]) -> list[_Step]:
    """The sets of terms with their place on the path, the one in use among them; of a long path
    the part around it."""
    own = next((i for i, one in enumerate(path.supports) if np.array_equal(one, used)), None)
    size = int(used.sum()) if own is None else int(path.n_terms[own])
    begin = max(0, min(size - _MOST_STEPS // 2, len(path.n_terms) - _MOST_STEPS))
    places = range(begin, min(begin + _MOST_STEPS, len(path.n_terms)))
    steps: list[_Step] = [(path.supports[i], i) for i in places]
    if own is None:  # trajectories chose it
        steps.append((used, None))
        steps.sort(key=lambda step: (int(step[0].sum()), step[1] is None))
    return steps


def _sums(model: Any, data: Dataset) -> tuple[Float[np.ndarray, "K K"], Float[np.ndarray, "K c"]]:
    """Phi'Phi / N and Phi'y / N: those that the terms were chosen from, or of rows of the data."""
    moments = model.selection_.library
    if moments is not None and moments.n_features == len(model.feature_names_):
        return moments.A, moments.a
    rows, _ = training_rows(model, model.recipe().loss, rows_of(data, _ROWS), None, None, None)
    values = rows.evaluate(model.field_.features, slice(None))
    return values.T @ values / len(rows), values.T @ rows.targets / len(rows)


def _fitted(
    model: Any, sums: tuple[np.ndarray, np.ndarray], c: int, steps: Sequence[_Step]
) -> Float[np.ndarray, "M n K"]:
    """The model's coefficients with those of one equation fitted to each set of terms; the set in
    use keeps its own."""
    gram, right = sums[0], sums[1][:, c]
    known = model.knowledge()
    fixed = known.fixed[c] & (known.low[c] != 0)
    given = np.where(fixed, known.low[c], 0.0)
    right = right - gram @ given
    size = np.sqrt(np.maximum(np.diag(gram), 0.0))
    size = np.where(size > 0, size, 1.0)
    result = np.tile(np.asarray(model.coefficients_), (len(steps), 1, 1))
    for step, (support, _) in zip(result, steps, strict=True):
        if np.array_equal(support, model.support_[c]):
            continue
        free = np.flatnonzero(support & ~fixed)
        scaled = gram[np.ix_(free, free)] / np.outer(size[free], size[free])
        step[c] = given
        step[c, free] = np.linalg.lstsq(scaled, right[free] / size[free], rcond=1e-14)[0]
        step[c, free] /= size[free]
    return result


def _forecast(
    model: Any, data: Dataset, run: int, forecasts: Sequence[Rollout], sets: np.ndarray
) -> Float[np.ndarray, "M T n"]:
    """The run by each set of coefficients, from where the model's own forecast starts."""
    start = np.asarray(forecasts[run].x)[:1]
    if not np.isfinite(start).all():
        start = data.states[data.offsets[run] : data.offsets[run] + 1]
    with np.errstate(all="ignore"):
        own = np.concatenate([np.asarray(model.coefficients_)[None], sets])
        found = forecast_variants(
            model.field_.features, own, data, np.array([run]), start, model.input_interpolation_
        )
    return found[1:, 0]


def _path(
    model: Any,
    c: int,
    path: EquationPath,
    steps: Sequence[_Step],
    sets: Float[np.ndarray, "M n K"],
    states: Float[np.ndarray, "M T k"],
    penalised: bool,
) -> Path:
    label = equation_names(model.output_names_, model.velocity_of_)[c]
    shown, chosen = [], 0
    for i, ((support, place), coefficients) in enumerate(zip(steps, sets, strict=True)):
        if np.array_equal(support, model.support_[c]):
            chosen = i
        inner = outer = low = high = None
        if place is not None:
            inner, outer = _root(path.inner[place]), _root(path.outer[place])
            spread = float(path.standard_error[place])
            factor = float(np.exp(min(spread / max(path.outer[place], _LEAST**2) / 2, 5.0)))
            low, high = outer / factor, outer * factor
        left, terms = _typeset(model, c, coefficients)
        numbers = [short(column, 4) for column in states[i].T]
        shown.append(PathStep(int(support.sum()), inner, outer, low, high, left, terms, numbers))
    outer_words = "error with the penalty for terms" if penalised else "rows that were not fitted"
    return Path(f"{label}'", tuple(shown), chosen, outer_words)


def _typeset(model: Any, c: int, coefficients: Float[np.ndarray, "n K"]) -> tuple[str, list[str]]:
    """One equation in pieces of MathML, without the network."""
    field = model.field_
    alone = replace(field.without_residual(), coefficients=coefficients)
    every = math_equations(
        alone, model.output_names_, 4, model.velocity_of_, model.knowledge().fixed
    )
    one = next(one for one in every if one.index == c)
    return math(f"{one.left}<mo>=</mo>"), [math(term.signed) for term in one.terms]


def _root(square: float) -> float:
    return float(np.sqrt(max(float(square), _LEAST**2)))
