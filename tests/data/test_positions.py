"""Datasets of positions: their states, estimated velocities, and errors."""

import numpy as np
import pytest

import orthoreg as og
from orthoreg import Dataset
from orthoreg.data import concatenate, write_table

T = 0.05 * np.arange(100)
Q = np.column_stack([np.sin(T), np.cos(2 * T)])


def test_velocities_follow_the_positions_and_are_estimates():
    data = Dataset.from_positions(Q, T, names=["a", "b"])
    assert data.state_names == ("a", "b", "a_dot", "b_dot")
    assert data.velocity_of == {"a": "a_dot", "b": "b_dot"}
    assert data.estimated == ("a_dot", "b_dot")
    assert data.is_measured.tolist() == [True, True, False, False]
    assert data.given_rates == {0: 2, 1: 3}
    truth = np.column_stack([np.cos(T), -2 * np.sin(2 * T)])
    np.testing.assert_allclose(data.states[:, 2:], truth, atol=1e-4)
    np.testing.assert_array_equal(data.states[:, data.is_measured], Q)


def test_one_array_is_one_column():
    assert Dataset.from_positions(Q[:, 0], T).state_names == ("q0", "q0_dot")


def test_runs_of_their_own_lengths_times_and_inputs():
    times = [T, T[:40] ** 1.2, T[:3]]
    runs = [np.sin(t)[:, None] for t in times]
    u = [t[:, None] for t in times]
    data = Dataset.from_positions(runs, times, u, names=["x"], input_names=["force"])
    assert data.run_lengths.tolist() == [100, 40, 3] and data.input_names == ("force",)
    np.testing.assert_allclose(data.states[:140, 1], np.cos(data.times[:140]), atol=2e-3)
    assert data[1].velocity_of == {"x": "x_dot"} and data[1].estimated == ("x_dot",)


def test_a_taken_name_gets_a_mark():
    data = Dataset.from_positions(Q[:, :1], T, Q[:, 1:], ["x"], ["x_dot"])
    assert data.state_names == ("x", "x_dot_")


def test_other_states_come_last_and_a_measured_velocity_is_kept():
    heat, omega = np.exp(-T), np.cos(T) + 1e-3
    data = Dataset.from_positions(
        Q, T, names=["theta", "z"], states=np.column_stack([heat, omega]),
        state_names=["heat", "omega"], velocity_of={"theta": "omega"},
    )  # fmt: skip
    assert data.state_names == ("theta", "z", "omega", "z_dot", "heat")
    assert data.velocity_of == {"theta": "omega", "z": "z_dot"}
    assert data.estimated == ("z_dot",)
    np.testing.assert_array_equal(data.states[:, [2, 4]], np.column_stack([omega, heat]))


def test_units_of_velocities():
    data = Dataset.from_positions(Q, T, names=["a", "b"], units={"a": "rad", "t": "s"})
    assert data.units == {"a": "rad", "t": "s", "a_dot": "rad/s"}
    given = Dataset.from_positions(Q, T, names=["a", "b"], units={"a_dot": "Hz"})
    assert given.units == {"a_dot": "Hz"}


@pytest.fixture
def frame():
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({
        "run": np.repeat([1, 2], 50), "t": np.tile(T[:50], 2), "theta": np.sin(T),
        "omega": np.cos(T), "heat": np.exp(-T), "u": T,
    })  # fmt: skip


def test_tables_name_positions(frame):
    data = og.read_table(frame, "t", ["heat"], ["u"], "run", positions=["theta"])
    assert data.state_names == ("theta", "theta_dot", "heat")
    assert (data.velocity_of, data.estimated) == ({"theta": "theta_dot"}, ("theta_dot",))
    by_hand = Dataset.from_positions(
        frame["theta"].to_numpy().reshape(2, 50, 1), T[:50], names=["theta"]
    )
    np.testing.assert_array_equal(data.states[:, :2], by_hand.states)


def test_tables_name_measured_velocities(frame):
    data = og.read_table(frame, "t", group="run", positions={"theta": "omega"})
    assert data.state_names == ("theta", "omega") and data.estimated == ()
    np.testing.assert_array_equal(data.states[:, 1], frame["omega"])


def test_only_equal_systems_are_joined():
    data = Dataset.from_positions(Q[:, :1], T, names=["x"])
    assert concatenate([data, data]).estimated == ("x_dot",)
    plain = Dataset.from_arrays(data.states, T, names=["x", "x_dot"])
    with pytest.raises(og.DataError, match="the same states are velocities"):
        concatenate([data, plain])


@pytest.mark.parametrize(
    "options, words",
    [
        ({"positions": ["theta"], "states": ["theta"]}, "'theta' was chosen twice"),
        ({"positions": ["theta"], "inputs": ["theta"]}, "'theta' was chosen twice"),
        ({"positions": {"theta": "omega"}, "states": ["omega"]}, "'omega' was chosen twice"),
        ({"positions": ["thetta"]}, "no column 'thetta'. Did you mean 'theta'"),
        ({"positions": {"theta": "omga"}}, "no column 'omga'. Did you mean 'omega'"),
        ({"positions": "theta"}, "positions must be a list of names"),
        ({"positions": ["theta"], "derivatives": ["omega"]}, "derivatives must be omitted"),
        ({}, "states must name at least one column; pass positions"),
    ],
)
def test_tables_that_are_refused(frame, options, words):
    with pytest.raises(og.DataError, match=words):
        og.read_table(frame, "t", group="run", **options)


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"q": Q, "names": ["a", "b"], "states": Q[:, 0], "state_names": ["b"]}, "not both; 'b'"),
        ({"q": Q, "names": ["a", "b"], "u": Q[:, 0], "input_names": ["b"]}, "different names"),
        ({"q": Q, "u": np.ones((90, 1))}, "u has 90 and q has 100"),
        ({"q": Q, "u": np.where(T < 4, T, np.nan)}, "column 'u0' is nan"),
        ({"q": [Q, Q[:2]], "t": [T, T[:2]]}, "run 1 has 2 rows; a velocity needs at least 3"),
        ({"q": [np.ones((100, 1)), np.zeros((100, 1))]}, "'q0' never changes within a run"),
        ({"q": Q, "velocity_of": {"q0": "w"}}, "velocity_of must name positions"),
    ],
)
def test_arrays_that_are_refused(arguments, words):
    with pytest.raises(og.DataError, match=words):
        Dataset.from_positions(**{"t": T, **arguments})


def test_states_of_higher_order_follow_order_by_order():
    t = np.linspace(0, 3, 200)
    q = np.column_stack([np.sin(t), np.cos(2 * t)])
    data = og.Dataset.from_positions(
        q, t, names=["a", "b"], states=t[:, None], state_names=["w"], order=3
    )
    assert data.state_names == ("a", "b", "a_dot", "b_dot", "a_ddot", "b_ddot", "w")
    assert data.velocity_of == {
        "a": "a_dot", "b": "b_dot", "a_dot": "a_ddot", "b_dot": "b_ddot",
    }  # fmt: skip
    assert data.schema.order == 3 and data.schema.positions == {"a": None, "b": None}
    assert data.schema.derivative_of == {2: (0, 1), 3: (1, 1), 4: (0, 2), 5: (1, 2)}
    np.testing.assert_allclose(data.states[10:-10, 4], -np.sin(t)[10:-10], atol=1e-4)
    np.testing.assert_allclose(data.states[10:-10, 5], -4 * np.cos(2 * t)[10:-10], atol=1e-3)


def test_chunks_have_the_same_derivatives(tmp_path):
    t = np.tile(np.linspace(0, 3, 100), 4)
    run = np.repeat(np.arange(4), 100)
    path = tmp_path / "runs.csv"
    write_table(path, {"run": run, "t": t, "x": np.sin(t + run)})
    whole, chunked = (
        og.read_table(path, time="t", group="run", positions=["x"], order=3, chunks=chunks)
        for chunks in (False, 100)
    )
    parts = np.concatenate([chunk.states for chunk in chunked.chunks()])
    assert chunked.sample.state_names == whole.state_names == ("x", "x_dot", "x_ddot")
    np.testing.assert_allclose(parts, whole.states, atol=1e-9)


@pytest.mark.parametrize("order", [1, 5, True])
def test_orders_that_are_not_supported(order):
    with pytest.raises(og.DataError, match="order must be a whole number from 2 to 4"):
        og.Dataset.from_positions(np.sin(np.arange(9.0)), np.arange(9.0), order=order)


def test_order_needs_positions():
    table = {"t": np.arange(9.0), "x": np.sin(np.arange(9.0))}
    with pytest.raises(og.DataError, match=r"name them with positions=\.\.\., instead of states"):
        og.read_table(table, time="t", states=["x"], order=3)
