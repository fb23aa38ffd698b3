"""Validate user input, and convert it to datasets, rows and arrays."""

import re
import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._common.errors import DataWarning, InputError, quoted
from .._common.progress import step
from .._common.scikit import AbstractEstimator, validate_data
from ..data import (
    EQUAL_MAP_STEPS,
    AnyRows,
    ChunkedDataset,
    ChunkedRows,
    Dataset,
    Rows,
    Schema,
    as_numbers,
    concatenate,
    step_of_runs,
    warn_constant,
    without_delayed_times,
)
from ..fitting import Columns, estimate_hidden_states
from ..losses import AbstractLoss
from ..physics import Physics, requested_delays
from ..simulation import input_interpolation, with_delays
from ..terms import AbstractLibrary, names_variable
from . import _limits as limits
from .parts import numbered_outputs

if TYPE_CHECKING:
    from .model import AbstractModel


def given_dataset(X: Any) -> Dataset | None:
    """Return the input as a `Dataset`, or None.

    The input may be a dataset, a list of datasets, or chunked data, which are represented by their
    sample.
    """
    if isinstance(X, Dataset):
        return X
    if isinstance(X, ChunkedDataset):
        return X.sample
    if isinstance(X, Sequence) and len(X) and all(isinstance(part, Dataset) for part in X):
        return concatenate(list(X))
    return None


def given_runs(X: Any, y: Any, t: Any, u: Any) -> Dataset | ChunkedDataset | None:
    """Return the input for a fit: as from `as_dataset`, with runs in an order that depends only on
    their content.

    Chunked data are returned unchanged.
    """
    if not isinstance(X, ChunkedDataset):
        data = as_dataset(X, y, t, u)
        return None if data is None else data.sorted_runs
    if y is not None or t is not None or u is not None:
        raise InputError(
            "A ChunkedDataset has its own times, inputs and derivatives; omit t, u and y."
        )
    return X


def as_dataset(X: Any, y: Any, t: Any, u: Any) -> Dataset | None:
    """Return a `Dataset` if the input is a dataset or has times, or None if it has derivatives
    `y`.
    """
    if t is not None and y is not None:
        raise InputError(
            "Give times t=... or derivatives y, not both; to give both, build a Dataset with "
            "Dataset.from_arrays(x, t, derivatives=...)."
        )
    data = given_dataset(X)
    if data is None:
        if t is None and y is None:
            raise InputError(
                "OrthoReg requires y to be passed, but the target y is None. Give the derivatives "
                "as y, the times as t=..., or a Dataset."
            )
        return None if t is None else Dataset.from_arrays(X, t, u)
    if y is not None or t is not None or u is not None:
        raise InputError("A Dataset has its own times, inputs and derivatives; omit t, u and y.")
    return data


def known_dataset(model: "AbstractModel", X: Any, y: Any, t: Any, u: Any) -> Dataset | None:
    """Return the input as a `Dataset` with the states of a fitted model.

    Velocities of positions are added, and plain arrays get the model's names.
    """
    data = as_dataset(X, y, t, u)
    if data is not None:
        data = with_step_of(model, data)
    if data is not None and model.clock_:
        data = data.with_parts(time_name=model.clock_).with_time_input()
    if data is None:
        return data
    if t is not None:
        for names in (model.state_names_, model.schema_.measured_states):
            if len(names) == data.n_states:
                return in_states_of(model, data.with_parts(state_names=names))
    return in_states_of(model, data)


def with_step_of(model: "AbstractModel", data: Dataset) -> Dataset:
    """Return the data as a map if the model is a map.

    Raise an error if the data are of the other kind or have another step.
    """
    step = model.schema_.step
    if step is None:
        if data.discrete:
            raise InputError(
                "The model is a flow, and the data were read as a map (discrete=True). Read them "
                "without discrete, or fit a map to them."
            )
        return data
    if not data.discrete:
        data = replace(data, schema=replace(data.schema, step=step_of_runs(data)))
    given = data.schema.step
    if given is None or abs(given - step) > EQUAL_MAP_STEPS * step:
        raise InputError(
            f"The model is a map with a step of {step:.6g}; the data have a step of "
            f"{given or float('nan'):.6g}. Choose rows with the step of the model."
        )
    return data


def in_states_of(model: "AbstractModel", data: Dataset | ChunkedDataset) -> Dataset:
    """Return the data with the velocities, hidden states, time input and delayed variables of a
    fitted model.

    Chunked data are represented by their sample.
    """
    if isinstance(data, ChunkedDataset):
        data = data.sample
    data = with_step_of(model, data)
    if model.clock_:
        data = data.with_time_input()
    if data.covariate_names != model.schema_.covariate_names:
        data = _with_covariates_of(model, data)
    return _with_hidden_states_of(model, _with_delays_of(model, _with_states_of(model, data)))


def _with_covariates_of(model: "AbstractModel", data: Dataset) -> Dataset:
    """Return the data with the covariates of a fitted model. Unknown covariates are NaN."""
    names = model.schema_.covariate_names
    columns = np.full((data.n_samples, len(names)), np.nan)
    for j, name in enumerate(names):
        if data.covariates is not None and name in data.covariate_names:
            columns[:, j] = data.covariates[:, data.covariate_names.index(name)]
    return data.with_parts(covariates=columns if names else None, covariate_names=names)


def _with_delays_of(model: "AbstractModel", data: Dataset) -> Dataset:
    """Return the data with the delayed variables of a fitted model.

    Data with other names are returned unchanged and refused later.
    """
    delays = model.schema_.delays
    if any(delay.variable not in data.variable_names for delay in delays):
        return data
    return with_delays(data, delays)


def _with_states_of(model: "AbstractModel", data: Dataset) -> Dataset:
    """Return the data with the velocities of a fitted model, and its hidden states, which are not
    known yet."""
    schema = model.schema_
    if schema.velocity_of and not data.velocity_of:
        if set(data.schema.measured_states) == set(schema.measured_states):
            data = data.without_estimates().with_rates(schema.velocity_of)
        elif data.state_names == schema.state_names:
            data = data.with_parts(velocity_of=dict(schema.velocity_of))
    missing = [name for name in schema.hidden if name not in data.state_names]
    if missing and (*data.state_names, *missing) == schema.state_names:
        data = data.with_hidden(missing).with_parts(per_run=schema.per_run)
    return data


def _with_hidden_states_of(model: "AbstractModel", data: Dataset) -> Dataset:
    """Return the data with estimates of the hidden states of a fitted model."""
    schema = model.schema_
    if data.has_unknown_states and data.variable_names == schema.variable_names:
        field, kinds = model.field_, model.input_interpolation_
        known, estimates = model.knowledge(), model.fit_.estimates
        return data.once(
            field, lambda runs: estimate_hidden_states(field, known, runs, kinds, estimates)
        )
    return data


Data = TypeVar("Data", bound=Dataset | ChunkedDataset)


def with_time_input(data: Data, physics: Physics | None, library: AbstractLibrary) -> Data:
    """Return the data with time as an input if needed.

    It is needed if a known equation or the library contains time, and no column has its name.
    """
    sample = data.sample if isinstance(data, ChunkedDataset) else data
    _check_columns(sample, physics)
    name = sample.time_name
    if name in sample.variable_names or not _needs_clock(sample, physics, library):
        return data
    if isinstance(data, ChunkedDataset):
        return data.transformed(Dataset.with_time_input)  # pyright: ignore[reportReturnType]
    return data.with_time_input()  # pyright: ignore[reportReturnType]


def _check_columns(data: Dataset, physics: Physics | None) -> None:
    """Raise an error if a known equation contains the name of a column that was not read.

    Such a name would be treated as a constant.
    """
    if physics is None:
        return
    constants = {*dict(physics.values), *dict(physics.bounds)}
    for name in data.unused:
        if name not in constants and _names(physics, name):
            raise InputError(
                f"Physics(equations=...) names '{name}', a column of {data.source} that was not "
                f"read. Pass inputs=['{name}'] if it is an input, or give the constant another "
                f"name."
            )


def _needs_clock(data: Dataset, physics: Physics | None, library: AbstractLibrary) -> bool:
    """Return whether the library or a known equation contains time."""
    name = data.time_name
    delayed = [delay.name for delay in requested_delays(library, physics, data)]
    if names_variable(library, name, (*data.variable_names, *delayed)):
        return True
    if physics is None or name in dict(physics.values):
        return False
    return _names(physics, name)


def _names(physics: Physics, name: str) -> bool:
    """Return whether a known equation contains this word."""
    word = re.compile(rf"(?<![\w`]){re.escape(name)}(?![\w`(])")
    sides = (without_delayed_times(side) for equation in physics.equations for side in equation)
    return any(word.search(side) for side in sides)


@step("Smoothing the measurements")
def run_rows(data: Dataset | ChunkedDataset, loss: AbstractLoss) -> tuple[AnyRows, Columns]:
    """Return the rows of runs, and their columns.

    Decisions use the same sample for data in memory and in chunks.
    """
    sample = data.sample
    rule = loss.rule(sample)
    if isinstance(data, ChunkedDataset):
        rows = ChunkedRows.of(data, rule.resolved(sample))
        state_range = rows.point_extent.range[:, : len(sample.state_names)]
        warn_constant(state_range, sample.state_names, sample.source)
    else:
        rows = rule.observe(data)
    interpolation = input_interpolation(sample.input_names, sample)
    return rows, Columns(sample.schema, sample.state_names, interpolation, rule)


def training_rows(
    model: AbstractEstimator, loss: AbstractLoss, X: Any, y: Any, t: Any, u: Any
) -> tuple[Rows, Columns]:
    """Return any kind of input as rows with their columns.

    Chunked data are represented by their sample.
    """
    data = as_dataset(X, y, t, u)
    if data is not None:
        found, columns = run_rows(data, loss)
        assert isinstance(found, Rows)
        return found, columns
    probe = copy(model)  # scikit-learn sets attributes on it, even if the fit fails
    checked: Any = validate_data(
        probe, X, y, multi_output=True, y_numeric=True, dtype=np.float64, ensure_min_samples=2
    )
    X, y = checked
    given_names = getattr(probe, "feature_names_in_", None)
    y = np.asarray(y, dtype=np.float64)
    targets = y.reshape(len(y), -1)
    names = [f"x{i}" for i in range(X.shape[1])] if given_names is None else given_names
    inputs = input_array(u, len(X))
    states = tuple(str(name) for name in names)
    input_names = _frame_columns(u) or _numbered_inputs(inputs.shape[1])
    if set(states) & set(input_names):
        raise InputError(
            f"States and inputs must have different names; X has columns among "
            f"{quoted(input_names)}. Rename them, or build a Dataset with input_names=..."
        )
    numbered = numbered_outputs(targets.shape[1])
    outputs = states if targets.shape[1] == X.shape[1] else numbered
    runs = np.zeros(len(X), dtype=np.int64)
    variables = np.hstack([X, inputs])
    if outputs == states:
        _warn_of_a_scaler(X)
    rows = Rows(variables, targets, runs, np.zeros(targets.shape[1]), states + input_names, outputs)
    schema = Schema(state_names=states, input_names=input_names)
    kinds = input_interpolation(input_names)
    return rows, Columns(schema, outputs, kinds, loss, y.ndim == 1, given_names)


def warn_of_few_rows(rows: int, n_states: int, n_terms: int) -> None:
    """Warn if there are fewer rows than states, as in a transposed array, or too few rows for the
    terms.
    """
    sentence = None
    if rows < n_states:
        sentence = (
            f"The data have {rows} rows of {n_states} states. Rows are times and columns are "
            f"states: did you mean x.T, the transposed data?"
        )
    elif rows < (enough := max(limits.MIN_ROWS_PER_TERM * n_terms, limits.MIN_ROWS)):
        smaller = " or choose a smaller library" if enough > limits.MIN_ROWS else ""
        sentence = (
            f"The data have only {rows} rows for {n_terms} candidate terms in each equation: many "
            f"equations fit such data. Measure at least {enough} rows{smaller}."
        )
    if sentence:
        warnings.warn(sentence, DataWarning, stacklevel=4)


def _warn_of_a_scaler(X: np.ndarray) -> None:
    """Warn about standardized states, because their derivatives may not be standardized alike."""
    with np.errstate(all="ignore"):
        standard = np.abs(X.mean(axis=0)).max() < limits.STANDARD_TOLERANCE
        standard &= np.abs(X.std(axis=0) - 1).max() < limits.STANDARD_TOLERANCE
    if standard and len(X) > 2:
        warnings.warn(
            "Every column of X has mean 0 and standard deviation 1, as after a StandardScaler. y "
            "must contain the derivatives of these scaled states, not of the measured states. A "
            "scaler is not needed: fit the states as measured.",
            DataWarning,
            stacklevel=5,
        )


def known_variables(model: "AbstractModel", X: Any, u: Any) -> np.ndarray:
    """Return the states and inputs for a fitted model as one checked array.

    Most checks are skipped for plain float arrays.
    """
    if (
        type(X) is np.ndarray
        and X.dtype == np.float64
        and X.ndim == 2
        and X.shape[1] == model.n_features_in_
        and not hasattr(model, "feature_names_in_")
        and len(X)
        and np.isfinite(X).all()
    ):
        states = X
    elif (data := given_dataset(X)) is not None:
        if u is not None:
            raise InputError("A Dataset has its own inputs; omit u.")
        data = in_states_of(model, data)
        if data.variable_names != model.state_names_ + model.input_names_:
            raise InputError(
                f"The model has variables {quoted(model.state_names_ + model.input_names_)}; the "
                f"data have {quoted(data.variable_names)}. Choose the same columns in this order."
            )
        return data.variables
    else:
        checked: Any = validate_data(model, _unnamed(model, X), reset=False, dtype=np.float64)
        states = np.asarray(checked)
    if not model.input_names_ and u is None:
        return states
    return np.hstack([states, _known_inputs(model, u, len(states))])


def _unnamed(model: "AbstractModel", X: Any) -> Any:
    """Return a frame of the model's states as an array, if scikit-learn stored no names."""
    columns = getattr(X, "columns", None)
    if columns is None or hasattr(model, "feature_names_in_"):
        return X
    names = tuple(str(name) for name in columns)
    if names == model.state_names_:
        return X.to_numpy()
    if set(names) & set(model.state_names_):
        raise InputError(
            f"X must have the columns {quoted(model.state_names_)}, in this order; "
            f"it has {quoted(names)}."
        )
    return X


def _frame_columns(u: Any) -> tuple[str, ...]:
    """Return the column names of a frame, or () for other objects."""
    return tuple(str(name) for name in getattr(u, "columns", ()))


def _numbered_inputs(count: int) -> tuple[str, ...]:
    return tuple(f"u{i}" for i in range(count))


def _known_inputs(model: "AbstractModel", u: Any, rows: int) -> np.ndarray:
    inputs = input_array(u, rows)
    if inputs.shape[1] != len(model.input_names_):
        raise InputError(
            f"u must have {len(model.input_names_)} columns ({quoted(model.input_names_)}); "
            f"it has {inputs.shape[1]}."
            if model.input_names_
            else "The model was fitted without inputs; omit u."
        )
    names = _frame_columns(u) or model.input_names_
    if model.input_names_ not in (names, _numbered_inputs(len(names))):
        raise InputError(
            f"u must have the columns {quoted(model.input_names_)}, in this order; "
            f"it has {quoted(names)}."
        )
    return inputs


def input_array(u: Any, rows: int) -> np.ndarray:
    """Return inputs as (rows, m), with m = 0 if there are none."""
    if u is None:
        return np.zeros((rows, 0))
    inputs = as_numbers(u, "u")
    if inputs.ndim != 2 or len(inputs) != rows:
        raise InputError(
            f"u must have two dimensions and one row for each of the {rows} states; "
            f"it has shape {inputs.shape}."
        )
    if not np.isfinite(inputs).all():
        raise InputError("u must contain finite numbers only; it has NaN or infinity.")
    return inputs


def simulation_arrays(x0: Any, t: Any, n: int) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return checked initial states (B, n) and times (T,), and whether x0 is a single state."""
    starts = as_numbers(x0, "x0")
    single = starts.ndim == 1
    starts = np.atleast_2d(starts)
    if starts.ndim != 2 or starts.shape[1] != n or not len(starts):
        raise InputError(
            f"x0 must have shape ({n},) or (starts, {n}), one value for each state and at least "
            f"one start; it has shape {np.shape(x0)}."
        )
    times = as_numbers(t, "t")
    if times.ndim != 1 or not len(times):
        raise InputError(f"t must be a one-dimensional array of times; it has shape {times.shape}.")
    if not (np.isfinite(starts).all() and np.isfinite(times).all()):
        raise InputError("x0 and t must contain finite numbers only.")
    if (np.diff(times) <= 0).any():
        k = int(np.argmax(np.diff(times) <= 0))
        raise InputError(f"t must increase; it has {times[k]:g} then {times[k + 1]:g}.")
    return starts, times, single
