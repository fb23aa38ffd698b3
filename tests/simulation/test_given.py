"""Inputs of `simulate` and `forecast`, and their interpolation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import orthoreg as og
from orthoreg._common.errors import InputError
from orthoreg._persistence import read_model, write_model

pandas = pytest.importorskip("pandas")

T = np.linspace(0, 3, 16)
RESPONSE = (np.sin(T) - np.cos(T) + 3 * np.exp(-T)) / 2  # x' = u - x with u = sin t, from 1


def fitted(u, times, names=("u",)):
    """Return a model of x' = sum of inputs - x, and a run with these inputs."""
    u = u.reshape(len(times), -1)
    x = np.exp(-times)[:, None]
    data = og.Dataset.from_arrays(
        x, times, u, derivatives=u.sum(1, keepdims=True) - x, input_names=names
    )
    return og.OrthoReg(og.Polynomial(1), og.Zero(), sparsity=0.0).fit(data), data


@pytest.fixture(scope="module")
def model():
    times = np.linspace(0, 6, 121)
    return fitted(np.cos(times), times)[0]


@pytest.fixture(scope="module")
def two():
    times = np.linspace(0, 6, 121)
    return fitted(np.column_stack([np.cos(times), np.sin(3 * times)]), times, ("u", "v"))[0]


WAYS = {
    "array": np.sin(T)[:, None],
    "array for each start": np.sin(T)[None, :, None],
    "function": np.sin,
    "function of an array": lambda t: np.array([np.sin(t)]),
    "series": pandas.Series(np.sin(np.arange(-5, 40) / 10), np.arange(-5, 40) / 10),
    "frame": pandas.DataFrame({"other": 0.0, "u": np.sin(T)}, index=T),
}


@pytest.mark.parametrize("way", WAYS)
def test_inputs_are_given_in_many_ways(model, way):
    start = [[1.0]] if way == "array for each start" else [1.0]
    found = model.simulate(start, T, WAYS[way])
    assert_allclose(found.x.reshape(-1), RESPONSE, rtol=0, atol=2e-4)


def test_a_function_is_as_exact_as_the_simulation(model):
    assert_allclose(model.simulate([1.0], T, np.sin).x[:, 0], RESPONSE, rtol=0, atol=1e-7)


def test_columns_of_a_frame_go_by_their_names(two):
    frame = pandas.DataFrame({"v": np.cos(T), "u": np.sin(T)}, index=T)
    expected = two.simulate([1.0], T, np.column_stack([np.sin(T), np.cos(T)]))
    assert_array_equal(two.simulate([1.0], T, frame).x, expected.x)


REFUSED = {
    "series too short": (pandas.Series(np.ones(9), T[:9]), "cover the times 0 to 3.*0 to 1.6"),
    "series too late": (pandas.Series(np.ones(15), T[1:]), "cover the times 0 to 3.*0.2 to 3"),
    "index going back": (pandas.Series(np.ones(16), T[::-1]), "index of u.*must increase"),
    "index of dates": (pandas.Series(np.ones(16), pandas.date_range("2020", periods=16)), "dates"),
    "series with gaps": (pandas.Series(np.where(T > 1, np.nan, 1), T), "finite"),
    "frame of others": (pandas.DataFrame({"w": T}, index=T), "columns 'u'.*'u'.*'w'"),
    "a function of two": (lambda t: [t, t], "return 1 number"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_inputs_that_do_not_fit_are_refused_in_a_sentence(model, kind):
    u, words = REFUSED[kind]
    with pytest.raises(InputError, match=words):
        model.simulate([1.0], T, u)


def test_a_series_is_one_input(two):
    with pytest.raises(InputError, match="2 inputs \\('u', 'v'\\).*frame"):
        two.simulate([1.0], T, pandas.Series(T, T))


# -- how they run between their samples --------------------------------------------------------


def test_the_fit_decides_and_the_file_remembers(tmp_path):
    times = np.linspace(0, 6, 121)
    square = np.sign(np.sin(2 * times + 0.1))
    model, data = fitted(np.column_stack([np.cos(times), square]), times, ("u", "v"))
    assert model.input_interpolation_ == {"u": "cubic", "v": "hold"}
    model.save(tmp_path / "m.orthoreg")
    copy = og.load(tmp_path / "m.orthoreg")
    assert copy.input_interpolation_ == model.input_interpolation_
    assert_array_equal(copy.forecast(data)[0].x, model.forecast(data)[0].x)
    assert model.adapt(data).input_interpolation_ == model.input_interpolation_
    plain = og.OrthoReg(og.Polynomial(1), og.Zero()).fit(data.states, data.states, u=data.inputs)
    assert plain.input_interpolation_ == {"u0": "cubic", "u1": "cubic"}


def test_a_file_from_before_there_was_a_choice_is_linear(model, tmp_path):
    model.save(tmp_path / "new.orthoreg")
    manifest, arrays = read_model(tmp_path / "new.orthoreg")
    del manifest["interpolation"]
    write_model(tmp_path / "old.orthoreg", manifest, arrays)
    old = og.load(tmp_path / "old.orthoreg")
    assert old.input_interpolation_ == {"u": "linear"}
    coarse = np.arange(0, 7, 2.0)
    expected = model.simulate([1.0], coarse, np.sin(coarse)[:, None], interpolation="linear")
    assert_array_equal(old.simulate([1.0], coarse, np.sin(coarse)[:, None]).x, expected.x)


def test_simulate_and_forecast_take_another_way(two):
    times = np.arange(0, 6, 0.5)
    u = np.column_stack([np.cos(times), np.sin(3 * times)])
    data = og.Dataset.from_arrays(np.exp(-times)[:, None], times, u, input_names=["u", "v"])
    found = {}
    for kind in (None, "cubic", "linear", "hold", {"v": "hold"}):
        found[str(kind)] = two.simulate([1.0], times, u, interpolation=kind).x
        assert_array_equal(two.forecast(data, interpolation=kind)[0].x, found[str(kind)])
    assert_array_equal(found["None"], found["cubic"])
    for other in ("linear", "hold", "{'v': 'hold'}"):
        assert np.abs(found[other] - found["cubic"]).max() > 1e-3
    assert np.abs(found["hold"] - found["{'v': 'hold'}"]).max() > 1e-3


@pytest.mark.parametrize(
    ("given", "words"),
    [("step", "one of 'cubic'.*got 'step'"), ({"w": "hold"}, "'w', which is not an input.*'u'"),
     ({"u": 3}, "got 3")],
)  # fmt: skip
def test_other_ways_are_refused(model, given, words):
    with pytest.raises(InputError, match=words):
        model.simulate([1.0], T, np.sin, interpolation=given)


def test_forecasts_of_runs_with_their_own_times_and_inputs(model):
    grids = [np.linspace(0, 3, 40), np.linspace(1, 3, 25), np.array([0.0])]
    phases = [0.0, 1.0, 2.0]
    data = og.Dataset.from_arrays(
        [1 - 0.1 * np.arange(len(t))[:, None] for t in grids], grids,
        [np.cos(t + p)[:, None] for t, p in zip(grids, phases, strict=True)],
        input_names=["u"],
    )  # fmt: skip
    for one, t, phase in zip(model.forecast(data), grids, phases, strict=True):
        alone = model.simulate([1.0], t, np.cos(t + phase)[:, None])
        assert_allclose(one.x, alone.x, rtol=0, atol=1e-12)
        assert one.completed and len(one.times) == len(t)
