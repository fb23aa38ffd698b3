"""Charts of errors, formulas and forecasts of each equation by number of terms."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int

from ..._common.notation import left_side
from ...data import Dataset, Rows
from ...export import math, math_equations
from ...matching import forecast_variants
from ...search.rows import EquationPath, InformationCriterion
from ...simulation import Rollout
from ._choice import (
    PAGE,
    PICTURE,
    AbstractFittedModel,
    Label,
    chosen_names,
    equation_labels,
    evenly,
    largest,
    rows_of,
    share_shown,
    time_label,
    variable_labels,
)

_MAX_STEPS = 14  # of a path
_MAX_STATES = 4
_ROWS = 3_000  # rows to which coefficients are fitted
_MAX_POINTS = 160  # of a forecast
_NUMBERS = 14_000  # numbers in all forecasts together
_MIN_ERROR = 1e-7  # smallest relative error that is drawn; smaller errors are rounding
_MAX_BAND = 5.0  # maximum half-width of a band, as a logarithm


@final
@dataclass(frozen=True, eq=False)
class ErrorPath:
    """Relative errors of one equation by number of terms.

    `inner` is the error on fitted rows, `outer` on other rows, with a band from `low` to `high`.
    `used` is the index of the terms in use, or None if trajectories selected other terms.
    """

    equation: str
    terms: tuple[str, ...]
    n_terms: Int[np.ndarray, " M"]
    inner: Float[np.ndarray, " M"]
    outer: Float[np.ndarray, " M"]
    low: Float[np.ndarray, " M"]
    high: Float[np.ndarray, " M"]
    used: int | None


@final
@dataclass(frozen=True, eq=False)
class ErrorPaths:
    """Error paths of some equations; `outer` describes the outer errors in words."""

    paths: tuple[ErrorPath, ...]
    outer: str
    note: str


@final
@dataclass(frozen=True, eq=False)
class PathStep:
    """An equation with a given number of terms: its errors, its MathML, and its forecast of one
    run.

    The errors are None if these terms are not on the path.
    """

    n_terms: int
    inner: float | None
    outer: float | None
    low: float | None
    high: float | None
    left: str
    terms: tuple[str, ...]
    forecast: tuple[Float[np.ndarray, " T"], ...]


@final
@dataclass(frozen=True, eq=False)
class Path:
    """The steps of one equation; `chosen` is the index of the step in use."""

    equation: str
    steps: tuple[PathStep, ...]
    chosen: int


@final
@dataclass(frozen=True, eq=False)
class Paths:
    """The path of each equation, and the run that its steps forecast."""

    equations: tuple[Path, ...]
    outer: str
    states: tuple[Label, ...]
    run: str
    time: Label
    times: Float[np.ndarray, " T"]
    measured: tuple[Float[np.ndarray, " T"], ...]
    note: str


def error_paths(model: AbstractFittedModel, states: Sequence[str] | None) -> ErrorPaths | None:
    """Return the paths of the equations in `states`, or of those with the largest errors.

    Return None if the model stores no selection.
    """
    selected = model.selection_
    if selected is None:
        return None
    chosen = chosen_names(states, model.output_names_, "plot_selection", "equations")
    reason, learned = ", as requested", model.learned_equations()
    if chosen is None:
        errors = np.array([selected.paths[c].outer[selected.paths[c].chosen] for c in learned])
        chosen = [learned[i] for i in largest(errors, PICTURE.equations)]
        reason = ": those with the largest error"
    note = share_shown(len(chosen), len(learned), "equations", reason)
    return ErrorPaths(
        tuple(_error_path(model, selected.paths[c], c) for c in chosen), _outer_words(model), note
    )


def _outer_words(model: AbstractFittedModel) -> str:
    # an information criterion is fitted to all rows and compares a penalised error
    penalised = isinstance(model.recipe().selection, InformationCriterion)
    return "error with the penalty for terms" if penalised else "rows that were not fitted"


def _error_path(model: AbstractFittedModel, path: EquationPath, c: int) -> ErrorPath:
    used = model.support_[c]
    outer = _root(path.outer)
    half_width = path.standard_error / np.maximum(path.outer, _MIN_ERROR**2) / 2  # of the root
    factor = np.exp(np.minimum(half_width, _MAX_BAND))
    terms = zip(model.feature_names_, used, strict=True)
    return ErrorPath(
        equation_labels(model)[c],
        tuple(name for name, is_used in terms if is_used),
        path.n_terms,
        _root(path.inner),
        outer,
        outer / factor,
        outer * factor,
        _used_index(path, used),
    )


def _used_index(path: EquationPath, used: Bool[np.ndarray, " K"]) -> int | None:
    return next(
        (i for i, support in enumerate(path.supports) if np.array_equal(support, used)), None
    )


def _root(squares: Float[np.ndarray, " M"]) -> Float[np.ndarray, " M"]:
    return np.sqrt(np.maximum(squares, _MIN_ERROR**2))


def paths_chart(
    model: AbstractFittedModel, data: Dataset, forecasts: Sequence[Rollout], run: int
) -> Paths | None:
    """Return the steps of each path with forecasts of one run, or None if the model stores no
    selection.
    """
    selected = model.selection_
    if selected is None or not selected.paths:
        return None
    learned = [c for c in model.learned_equations() if len(selected.paths[c].n_terms) > 1]
    if not learned:
        return None
    errors = np.array([selected.paths[c].outer[selected.paths[c].chosen] for c in learned])
    learned = [learned[i] for i in np.argsort(-errors, kind="stable")[: PAGE.equations]]
    sums = _sums(model, data)
    steps = {c: _supports(selected.paths[c], model.support_[c]) for c in learned}
    variants = {c: _fitted(model, sums, c, steps[c]) for c in learned}
    stacked = np.concatenate([variants[c] for c in learned])
    states = _forecast(model, data, run, forecasts, stacked)
    shown = list(range(min(data.n_states, _MAX_STATES)))
    points = int(np.clip(_NUMBERS / (len(stacked) * len(shown)), 60, _MAX_POINTS))
    some = evenly(states.shape[1], points)
    measured = data[run]
    equations, first = [], 0
    for c in learned:
        count = len(variants[c])
        part = states[first : first + count][:, some][:, :, shown]
        equations.append(_path(model, c, selected.paths[c], steps[c], variants[c], part))
        first += count
    return Paths(
        tuple(equations),
        _outer_words(model),
        variable_labels(data)[: len(shown)],
        data.labels[run],
        time_label(data),
        measured.times[some],
        tuple(measured.states[some, state] for state in shown),
        "equations alone, without the network" if model.field_.has_residual else "",
    )


# a set of terms, and its index on the path or None
_Step = tuple[Bool[np.ndarray, " K"], int | None]


def _supports(path: EquationPath, used: Bool[np.ndarray, " K"]) -> list[_Step]:
    """Return the sets of terms with their index on the path, including the set in use.

    A long path is cut to the part around the set in use.
    """
    index = _used_index(path, used)
    size = int(used.sum()) if index is None else int(path.n_terms[index])
    begin = max(0, min(size - _MAX_STEPS // 2, len(path.n_terms) - _MAX_STEPS))
    indices = range(begin, min(begin + _MAX_STEPS, len(path.n_terms)))
    steps: list[_Step] = [(path.supports[i], i) for i in indices]
    if index is None:  # trajectories chose it
        steps.append((used, None))
        steps.sort(key=lambda step: (int(step[0].sum()), step[1] is None))
    return steps


def _sums(
    model: AbstractFittedModel, data: Dataset
) -> tuple[Float[np.ndarray, "K K"], Float[np.ndarray, "K c"]]:
    """Return Phi'Phi / N and Phi'y / N on the rows of the selection, or on the data if these are
    not stored.
    """
    moments = None if model.selection_ is None else model.selection_.library
    if moments is not None and moments.n_features == len(model.feature_names_):
        return moments.A, moments.a
    some = rows_of(data, _ROWS)
    rows = model.recipe().loss.rule(some).observe(some)
    assert isinstance(rows, Rows)
    values = rows.evaluate(model.field_.features, slice(None))
    return values.T @ values / len(rows), values.T @ rows.targets / len(rows)


def _fitted(
    model: AbstractFittedModel, sums: tuple[np.ndarray, np.ndarray], c: int, steps: Sequence[_Step]
) -> Float[np.ndarray, "M n K"]:
    """Return the model's coefficients once for each set of terms, with one equation fitted to that
    set.

    The set in use keeps its coefficients.
    """
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
    model: AbstractFittedModel,
    data: Dataset,
    run: int,
    forecasts: Sequence[Rollout],
    sets: np.ndarray,
) -> Float[np.ndarray, "M T n"]:
    """Return the forecast of a run with each set of coefficients, from the start of the model's
    forecast.
    """
    start = np.asarray(forecasts[run].x)[:1]
    if not np.isfinite(start).all():
        start = data.states[data.offsets[run] : data.offsets[run] + 1]
    with np.errstate(all="ignore"):
        every = np.concatenate([np.asarray(model.coefficients_)[None], sets])
        result = forecast_variants(
            model.field_.features, every, data, np.array([run]), start, model.input_interpolation_
        )
    return result[1:, 0]


def _path(
    model: AbstractFittedModel,
    c: int,
    path: EquationPath,
    steps: Sequence[_Step],
    sets: Float[np.ndarray, "M n K"],
    states: Float[np.ndarray, "M T k"],
) -> Path:
    errors, shown, chosen = _error_path(model, path, c), [], 0
    for i, ((support, index), coefficients) in enumerate(zip(steps, sets, strict=True)):
        if np.array_equal(support, model.support_[c]):
            chosen = i
        curves = (errors.inner, errors.outer, errors.low, errors.high)
        inner, outer, low, high = (
            None if index is None else float(curve[index]) for curve in curves
        )
        left, terms = _typeset(model, c, coefficients)
        step = (inner, outer, low, high, left, terms, tuple(states[i].T))
        shown.append(PathStep(int(support.sum()), *step))
    return Path(left_side(errors.equation), tuple(shown), chosen)


def _typeset(
    model: AbstractFittedModel, c: int, coefficients: Float[np.ndarray, "n K"]
) -> tuple[str, tuple[str, ...]]:
    """Return one equation as a list of MathML terms, without the network."""
    alone = replace(model.field_.without_residual(), coefficients=coefficients)
    units = model.coefficient_units_
    every = math_equations(
        alone if units is None else units.shown(alone), model.output_names_, 4,
        model.velocity_of_, model.knowledge().fixed, discrete=model.schema_.discrete, units=units,
    )  # fmt: skip
    equation = next(candidate for candidate in every if candidate.index == c)
    return math(f"{equation.left}<mo>=</mo>"), tuple(math(term.signed) for term in equation.terms)
