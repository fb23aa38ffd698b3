"""`Dataset.from_arrays`: accepted shapes, errors and their messages, and stored values."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orthoreg import Dataset
from orthoreg._common.errors import DataError, DataWarning
from orthoreg.data import concatenate

T = np.array([0.0, 0.1, 0.4, 0.5, 1.0])
X = np.column_stack([T**2, np.cos(T)])


def with_value(value: float) -> np.ndarray:
    """X with one wrong entry in row 3, column 2."""
    wrong = X.copy()
    wrong[3, 1] = value
    return wrong


@given(lengths=st.lists(st.integers(1, 6), min_size=1, max_size=5), seed=st.integers(0, 99))
def test_runs_of_any_lengths_come_back_as_they_went_in(lengths, seed):
    rng = np.random.default_rng(seed)
    x = [rng.normal(size=(length, 2)) for length in lengths]
    t = [np.cumsum(rng.uniform(0.1, 1, length)) for length in lengths]
    u = [rng.normal(size=(length, 1)) for length in lengths]
    data = Dataset.from_arrays(x, t, u, derivatives=[-run for run in x])
    assert data.n_runs == len(data) == len(lengths) and data.n_samples == sum(lengths)
    for i, run in enumerate(data):
        np.testing.assert_array_equal(run.times, t[i])
        np.testing.assert_array_equal(run.states, x[i])
        np.testing.assert_array_equal(run.inputs, u[i])
        np.testing.assert_array_equal(run.derivatives, -x[i])
        np.testing.assert_array_equal(run.variables, np.hstack([x[i], u[i]]))
        assert run.labels == (str(i),)
    again = concatenate(list(data))
    np.testing.assert_array_equal(again.states, data.states)
    np.testing.assert_array_equal(again.offsets, data.offsets)


@pytest.mark.parametrize(
    "times", [T, list(T), [T, T], np.array([T, T]), pd.Series(T), pl.Series(T)], ids=repr
)
def test_times_may_be_shared_or_given_for_each_run(times):
    np.testing.assert_array_equal(Dataset.from_arrays([X, X], times).times, np.tile(T, 2))


def test_a_single_number_is_the_time_step():
    data = Dataset.from_arrays([X, X[:3]], 0.25)
    np.testing.assert_array_equal(data.times, [0, 0.25, 0.5, 0.75, 1, 0, 0.25, 0.5])


def test_a_three_dimensional_array_is_many_runs():
    data = Dataset.from_arrays(np.stack([X, 2 * X, 3 * X]), T)
    np.testing.assert_array_equal(data[1].states, 2 * X)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_bring_their_column_names(frame):
    x, u = frame({"theta": X[:, 0], "omega": X[:, 1]}), frame({"torque": T})
    data = Dataset.from_arrays(x, T, u, units={"theta": "rad"})
    assert data.variable_names == ("theta", "omega", "torque")
    assert data.units == {"theta": "rad"}
    np.testing.assert_array_equal(data.states, X)


def test_runs_are_chosen_by_index_slice_list_and_mask():
    data = Dataset.from_arrays([X, 2 * X[:4], 3 * X[:3]], [T, T[:4], T[:3]])
    for which, labels in [
        (1, "1"), (-1, "2"), (slice(1, None), "12"), ([2, 0], "20"),
        (np.array([True, False, True]), "02"), ([], ""),
    ]:  # fmt: skip
        chosen = data[which]
        assert chosen.labels == tuple(labels)
        expected = [(int(label) + 1) * X[: 5 - int(label)] for label in labels]
        np.testing.assert_array_equal(chosen.states, np.concatenate([*expected, np.empty((0, 2))]))
    with pytest.raises(IndexError):
        data[3]


@pytest.mark.parametrize(
    "arguments, words",
    [
        (dict(x=T, t=T), ["x must have two dimensions", "(5,)", "x.reshape(-1, 1)"]),
        (dict(x=X, t=T, u=T), ["u must have two dimensions", "(5,)"]),
        (dict(x=[T, T[:3]], t=T), ["x", "different lengths"]),
        (dict(x=X[None, None], t=T), ["x", "(1, 1, 5, 2)"]),
        (dict(x=X, t=T[:4]), ["t and x", "run 0", "(4,)", "5 rows"]),
        (dict(x=[X, X[:4]], t=T), ["t and x", "run 1", "4 rows"]),
        (dict(x=[X, X[:4]], t=[T, T]), ["t and x", "run 1", "4 rows"]),
        (dict(x=[X, X], t=[T, T, T]), ["3 runs", "2 runs"]),
        (dict(x=X, t=T, u=X[:3]), ["u and x", "run 0", "3", "5"]),
        (dict(x=[X, X], t=T, u=[X, X, X]), ["u contains 3 runs"]),
        (dict(x=X, t=T, derivatives=X[:, :1]), ["derivatives", "2 states"]),
        (dict(x=[X, X[:, :1]], t=T), ["x", "same columns"]),
        (dict(x=np.empty((0, 2)), t=[]), ["x", "no rows"]),
        (dict(x=[X, X[:0]], t=[T, T[:0]]), ["x[1]", "no rows"]),
        (dict(x=X, t=-0.1), ["t", "positive", "-0.1"]),
        (dict(x=X * 1j, t=T), ["x", "complex"]),
        (dict(x=X, t=T, names=["a"]), ["names", "2 columns", "got 1"]),
        (dict(x=X, t=T, names="ab"), ["names", "['ab']"]),
        (dict(x=X, t=T, names=["a", "a"]), ["names", "'a'", "twice"]),
        (dict(x=X, t=T, u=X, input_names=["a"]), ["input_names", "2 columns", "got 1"]),
        (dict(x=X, t=T, u=X[:, :1], input_names=["x1"]), ["states and inputs", "x1"]),
        (dict(x=[X, with_value(np.nan)], t=T), ["row 3", "run 1", "'x1'", "nan"]),
        (dict(x=with_value(-np.inf), t=T, names=["a", "b"]), ["row 3", "run 0", "'b'", "-inf"]),
        (dict(x=np.ma.masked_equal(X, X[3, 1]), t=T), ["row 3", "'x1'"]),
        (dict(x=X, t=T, u=with_value(np.nan)), ["row 3", "run 0", "'u1'", "nan"]),
        (dict(x=X, t=T, derivatives=with_value(np.inf)), ["row 3", "run 0", "x1", "inf"]),
        (dict(x=X, t=[0, 1, np.nan, 3, 4]), ["row 2", "'t'", "nan"]),
        (dict(x=[X, X], t=[T, [0, 1, 1, 2, 3]]), ["row 2", "run 1", "'t' repeats", "1 then 1"]),
        (dict(x=X, t=[0, 1, 2, 3, 2.5]), ["row 4", "'t' goes back", "3 then 2.5"]),
        (dict(x=pd.DataFrame({"a": T, "b": list("pqrst")}), t=T), ["'b'", "'p'"]),
    ],
)
def test_refuses_by_name_and_place(arguments, words):
    with pytest.raises(DataError) as caught:
        Dataset.from_arrays(**arguments)
    for word in words:
        assert word in str(caught.value)


def test_warns_of_a_constant_state_by_name():
    with pytest.warns(DataWarning, match="'b' never changes"):
        Dataset.from_arrays(np.column_stack([T, np.full(5, 0.1)]), T, names=["a", "b"])


def test_neither_side_feels_what_the_other_does():
    given_arrays = dict(x=X.copy(), t=T.copy(), u=X.copy(), derivatives=X.copy())
    data = Dataset.from_arrays(**given_arrays)
    slopes = -X
    replaced = data.with_derivatives(slopes)
    for array in (*given_arrays.values(), slopes):
        array[:] = 7.0
    np.testing.assert_array_equal(data.times, T)
    for kept in (data.states, data.inputs, data.derivatives):
        np.testing.assert_array_equal(kept, X)
        with pytest.raises(ValueError, match="read-only"):
            kept[0, 0] = 1.0
    np.testing.assert_array_equal(replaced.derivatives, -X)


def test_equal_steps_are_told_apart_run_by_run():
    data = Dataset.from_arrays([X, X, X[:2]], [T, 0.1 * np.arange(5), T[:2]])
    assert data.has_equal_steps().tolist() == [False, True, True]
    np.testing.assert_allclose(data.step_of_run(), [0.25, 0.1, 0.1])


def test_joins_only_datasets_whose_columns_play_the_same_parts():
    data = Dataset.from_arrays(X, T, names=["a", "b"])
    for other in (
        Dataset.from_arrays(X, T, names=["a", "c"]),
        Dataset.from_arrays(X[:, :1], T, X[:, 1:], names=["a"], input_names=["b"]),
        data.with_derivatives(X),
    ):
        with pytest.raises(DataError, match="joined"):
            concatenate([data, other])


def test_former_names_still_work_with_a_warning():
    data = Dataset.from_arrays(np.arange(20.0).reshape(2, 10, 1), 0.1)
    with pytest.warns(DeprecationWarning, match=r"some_runs\(\) is deprecated: use subsample\(\)"):
        assert data.some_runs(10).n_runs == 1
    with pytest.warns(DeprecationWarning, match="use with_time_input"):
        timed = data.with_clock()
    with pytest.warns(DeprecationWarning, match="use time_input"):
        assert timed.clock == "t"
