"""Hidden states are estimated with the constants, and undetermined constants are named."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg._common.errors import DataError, InputError

PREDATORS = {"prey": "a*prey - 0.4*prey*predators", "predators": "c*prey*predators - d*predators"}


def simulated(field, start, times, measured, noise, seed=0):
    """Return measured columns of a simulated run with relative noise, and all states."""
    full = solve_ivp(
        field, (times[0], times[-1]), start, t_eval=times, rtol=1e-9, atol=1e-9
    ).y.T  # fmt: skip
    x = full[:, measured]
    noise = noise * x.std(axis=0) * np.random.default_rng(seed).standard_normal(x.shape)
    return x + noise, full


def predator_and_prey(noise, seed=0):
    t = np.arange(0, 40, 0.2)
    x, full = simulated(
        lambda t, x: [1.1 * x[0] - 0.4 * x[0] * x[1], 0.1 * x[0] * x[1] - 0.4 * x[1]],
        [10.0, 5.0], t, [0], noise, seed,
    )  # fmt: skip
    return og.Dataset.from_arrays(x, t, names=["prey"], hidden=["predators"]), full


@pytest.fixture(scope="module")
def hunted():
    data, truth = predator_and_prey(0.03)
    return og.OrthoReg(physics=og.Physics(equations=PREDATORS)).fit(data), data, truth


def test_constants_and_hidden_states_are_estimated(hunted):
    model, data, truth = hunted
    for name, value in {"a": 1.1, "c": 0.1, "d": 0.4}.items():
        low, high = model.parameter_intervals_[name]
        assert low < value < high
        assert high - low < 0.2 * value
    error = model.forecast(data)[0].x[:, 1] - truth[:, 1]
    assert np.sqrt(np.mean(error**2)) < 0.05 * truth[:, 1].std()


def test_the_verdict_reads_the_measured_state(hunted):
    model, data, _ = hunted
    summary = model.summary(data)
    assert summary.verdict.code == "explained"
    score = {one.equation: one for one in summary.scores.equations}["predators"]
    assert score.judged_by == "prey"
    assert any("predators was not measured" in note for note in summary.notes)


def test_a_wrong_equation_of_a_hidden_state_is_called_wrong():
    data, _ = predator_and_prey(0.01)
    equations = {"prey": "a*prey - 0.4*prey*predators", "predators": "c*prey - d*predators"}
    summary = og.OrthoReg(physics=og.Physics(equations=equations)).fit(data).summary(data)
    assert summary.verdict.code in ("not-explained", "roughly-explained")
    assert summary.advice


def test_a_model_file_keeps_hidden_states(hunted, tmp_path):
    model, data, _ = hunted
    model.save(tmp_path / "model.orthoreg")
    again = og.load(tmp_path / "model.orthoreg")
    assert again.schema_.hidden == ("predators",)
    assert np.allclose(again.forecast(data)[0].x, model.forecast(data)[0].x)


def test_data_without_the_hidden_column_are_accepted(hunted):
    model, data, _ = hunted
    plain = og.Dataset.from_arrays(data.states[:, :1], data.times, names=["prey"])
    assert np.allclose(model.forecast(plain)[0].x, model.forecast(data)[0].x, rtol=1e-6)


def test_a_simulation_starts_from_past_samples(hunted):
    model, data, truth = hunted
    past, future = data.only(data.times < 20), data.times[100:]
    rollout = model.simulate(t=future, from_data=past)
    error = np.sqrt(np.mean((rollout.x - truth[100:]) ** 2, axis=0))
    assert (error < 0.05 * truth.std(axis=0)).all()
    # at the first row, it equals the forecast; after the last row, the trajectory continues
    first = model.simulate(t=data.times, from_data=data, rtol=1e-6)
    assert np.allclose(first.x, model.forecast(data)[0].x)
    later = model.simulate(t=future[10:], from_data=past)
    assert np.allclose(later.x, rollout.x[10:], rtol=1e-4)


def test_a_simulation_from_samples_of_measured_states():
    t = np.arange(0, 40, 0.2)
    x, truth = simulated(lambda t, x: [x[1], -x[0]], [1.0, 0.0], t, [0, 1], 0.05)
    data = og.Dataset.from_arrays(x, t, names=["x", "v"])
    model = og.OrthoReg("poly(1)").fit(data)
    rollout = model.simulate(t=t[150:], from_data=data.only(t <= 31))
    # more accurate than the noise of the row at which it starts, 0.05
    assert np.sqrt(np.mean((rollout.x - truth[150:]) ** 2)) < 0.02


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"t": [-1.0, 0.0]}, "at or after 0"),
        ({"x0": [1.0, 1.0], "t": [0.0, 1.0]}, "omit x0"),
        ({}, "t must give"),
        ({"t": [0.0, 1.0], "from_data": np.ones((3, 1))}, "Dataset of one run; got ndarray"),
        ({"t": [0.0, 1.0], "from_data": None}, "x0.*or from_data"),
    ],
)
def test_wrong_past_samples_are_refused(hunted, given, words):
    model, data, _ = hunted
    with pytest.raises(InputError, match=words):
        model.simulate(**{"from_data": data, **given})


@pytest.mark.parametrize("noise", [0.0, 0.03])
def test_a_scale_that_the_data_do_not_determine_is_named(noise, tmp_path):
    data, _ = predator_and_prey(noise)
    equations = {**PREDATORS, "prey": "a*prey - b*prey*predators"}
    model = og.OrthoReg(physics=og.Physics(equations=equations)).fit(data)
    assert model.undetermined_.constants == ("b",)
    assert model.undetermined_.states == ("predators",)
    assert math.isnan(model.parameters_["b"])
    assert model.parameters_["d"] == pytest.approx(0.4, rel=0.05)
    assert any("b does not follow from the data" in note for note in model.summary(data).notes)
    model.save(tmp_path / "model.orthoreg")
    assert og.load(tmp_path / "model.orthoreg").undetermined_ == model.undetermined_


def tanks(noise, seed=0):
    """Return runs of two tanks, the upper one without a sensor, with a switched inflow."""
    t = 0.3 * np.arange(1000)
    inflow = 0.5 + 0.4 * np.sign(np.sin(0.13 * t) + 1e-3)
    states, x = [], np.array([1.0, 1.0])
    for u in inflow:
        states.append(x)
        for _ in range(30):
            upper, lower = np.sqrt(np.maximum(x, 0))
            x = x + 0.01 * np.array([0.4 * u - 0.3 * upper, 0.3 * upper - 0.25 * lower])
    y = np.array(states)[:, 1:]
    y = y + noise * y.std() * np.random.default_rng(seed).standard_normal(y.shape)
    return og.Dataset.from_arrays(
        y, t, inflow[:, None], names=["y"], input_names=["u"], hidden=["h"]
    )


def test_a_tank_without_a_sensor():
    equations = {"h": "-a*sqrt(h) + b*u", "y": "a*sqrt(h) - d*sqrt(y)"}
    data = tanks(0.01)
    model = og.OrthoReg(physics=og.Physics(equations=equations, start={"h": (0.1, 5)})).fit(data)
    assert model.parameters_ == pytest.approx({"a": 0.3, "b": 0.4, "d": 0.25}, rel=0.02)
    assert model.undetermined_ is None


def test_combinations_of_constants_are_named():
    equations = {"h": "-a*sqrt(h) + b*u", "y": "c*sqrt(h) - d*sqrt(y)"}
    model = og.OrthoReg(physics=og.Physics(equations=equations, start={"h": (0.1, 5)}))
    model.fit(tanks(0.01))
    assert set(model.undetermined_.constants) == {"a", "b", "c"}
    assert set(model.undetermined_.combinations) == {"a*c", "b*c**2"}
    assert model.parameters_["d"] == pytest.approx(0.25, rel=0.02)


def test_an_open_equation_of_a_hidden_state():
    t = np.arange(0, 150, 0.3)
    x, _ = simulated(
        lambda t, x: [x[0] - x[0] ** 3 / 3 - x[1] + 0.5, 0.08 * (x[0] + 0.7 - 0.8 * x[1])],
        [0.0, 0.0], t, [0], 0.02,
    )  # fmt: skip
    data = og.Dataset.from_arrays(x, t, names=["v"], hidden=["w"])
    physics = og.Physics(equations={"v": "a*v - b*v**3 - w + 0.5", "w": "..."})
    model = og.OrthoReg("poly(2)", physics=physics).fit(data)
    row = dict(zip(model.feature_names_, model.coefficients_[1], strict=True))
    used = {name: value for name, value in row.items() if value}
    assert used == pytest.approx({"1": 0.056, "v": 0.08, "w": -0.064}, rel=0.05)


def test_given_starts_hold():
    t = np.arange(14.0)
    x, _ = simulated(
        lambda t, x: [-1.8 * x[0] * x[1] / 763, 1.8 * x[0] * x[1] / 763 - 0.45 * x[1]],
        [760.0, 3.0], t, [1], 0.02,
    )  # fmt: skip
    data = og.Dataset.from_arrays(x, t, names=["I"], hidden=["S", "R"])
    physics = og.Physics(
        equations={"S": "-beta*S*I/N", "I": "beta*S*I/N - gamma*I", "R": "gamma*I"},
        values={"N": 763},
        start={"S": "N - I - R", "R": 0},
    )
    model = og.OrthoReg(physics=physics).fit(data)
    assert model.parameters_ == pytest.approx({"beta": 1.8, "gamma": 0.45}, rel=0.05)
    first = model.forecast(data)[0].x[0]
    assert first[2] == pytest.approx(0, abs=0.1)
    assert first.sum() == pytest.approx(763, abs=0.1)


@pytest.mark.parametrize(
    ("hidden", "words"),
    [
        (["prey"], "a column of"),
        (["wolves"], "'predators', which is not an equation"),
        (["predators", "wolves"], "'wolves' is in no equation of a measured state"),
    ],
)
def test_mistakes_are_named(hidden, words):
    t = np.arange(0, 20, 0.2)
    x = 10 + np.sin(t)[:, None]
    with pytest.raises((DataError, InputError), match=words):
        data = og.Dataset.from_arrays(x, t, names=["prey"], hidden=hidden)
        og.OrthoReg(physics=og.Physics(equations=PREDATORS)).fit(data)


@pytest.mark.parametrize("start", [(3, 1), "q +", [1, 2, 3], True, {"a": 1}])
def test_a_start_is_checked(start):
    with pytest.raises(InputError):
        physics = og.Physics(equations=PREDATORS, start={"predators": start})
        og.OrthoReg(physics=physics).fit(predator_and_prey(0.03)[0])


def test_a_hidden_state_that_starts_at_zero():
    """On a constant trajectory, terms with the state are zero, and its scale is undetermined
    although its initial value is given."""
    t = np.arange(0, 20, 0.1)
    x, _ = simulated(
        lambda t, x: [2 - 1.5 * x[0], 3 * x[0] - 0.3 * x[1]], [0.0, 0.0], t, [1], 0.01
    )  # fmt: skip
    data = og.Dataset.from_arrays(x, t, names=["protein"], hidden=["rna"])
    physics = og.Physics(
        equations={"rna": "k - d*rna", "protein": "s*rna - e*protein"}, start={"rna": 0}
    )
    model = og.OrthoReg(physics=physics).fit(data)
    found = model.undetermined_
    assert set(found.constants) == {"k", "s"} and found.combinations == ("k*s",)
    assert found.states == ("rna",)


def test_constants_inside_terms_of_given_equations():
    t = np.arange(0, 60, 0.2)
    x, _ = simulated(
        lambda t, x: [
            x[0] * (1 - 0.2 * x[0]) - x[0] * x[1] / (1 + 0.8 * x[0]),
            0.9 * x[0] * x[1] / (1 + 0.8 * x[0]) - 0.3 * x[1],
        ],
        [1.0, 1.0], t, [0], 0.01,
    )  # fmt: skip
    data = og.Dataset.from_arrays(x, t, names=["x"], hidden=["y"])
    equations = {"x": "r*x - 0.2*x**2 - x*y/(1 + k*x)", "y": "0.9*x*y/(1 + k*x) - d*y"}
    model = og.OrthoReg(physics=og.Physics(equations=equations)).fit(data)
    assert model.parameters_ == pytest.approx({"r": 1, "k": 0.8, "d": 0.3}, rel=0.05)


def test_states_without_values_of_the_equations_are_left():
    """Because of noise, levels of an empty tank are negative, where the square root is
    undefined."""
    t = np.arange(0, 16, 0.05)
    x, _ = simulated(lambda t, x: [-0.5 * x[0], x[0] - 2 * x[1]], [3.0, 0.0], t, [1], 0.02)
    data = og.Dataset.from_arrays(x, t, names=["y"], hidden=["h"])
    assert (x < 0).any()
    from orthoreg.fitting import _hidden as module

    physics = og.Physics(equations={"h": "-a*h", "y": "h - b*sqrt(y)**2"}, start={"h": (0.1, 10)})
    recipe = og.OrthoReg(physics=physics).recipe()
    estimate = module._estimated(recipe, data)
    assert estimate.named == pytest.approx({"a": 0.5, "b": 2}, rel=0.1)


def test_models_with_hidden_states_are_fitted_one_by_one():
    data, _ = predator_and_prey(0.03)
    models = [og.OrthoReg(physics=og.Physics(equations=PREDATORS)) for _ in range(2)]
    with pytest.raises(InputError, match="one by one"):
        og.fit_together(models, data)


def test_discovery_refuses_hidden_states():
    with pytest.raises(InputError, match="needs measured states"):
        og.discover(predator_and_prey(0.03)[0])


def test_a_state_that_is_given_as_constant_is_printed():
    t = np.linspace(0, 6, 200)
    x = np.column_stack([np.exp(-t), 0.5 + 1e-3 * np.sin(t)])
    model = og.OrthoReg("poly(1)", physics=og.Physics(equations={"x1": "0"})).fit(x, t=t)
    assert model.equations()[1].startswith("x1' = 0")
    assert len(model.to_latex()) == len(model.to_mathml()) == 2


def neuron(t, x):
    return [x[0] - x[0] ** 3 / 3 - x[1] + 0.5, 0.08 * (x[0] + 0.7 - 0.8 * x[1])]


def test_a_hidden_state_of_which_nothing_is_known_is_a_derivative(tmp_path):
    """v' = h and h' = (1 - v**2) h - 0.08 (v + 0.7 - 0.8 (v - v**3/3 - h + 0.5))."""
    t = np.arange(0, 200, 0.2)
    x, _ = simulated(neuron, [0.0, 0.0], t, [0], 0.01)
    data = og.Dataset.from_arrays(x, t, names=["v"], hidden=["h"])
    model = og.OrthoReg("poly(3)").fit(data)
    assert model.equations(2)[0] == "v' = h" and model.estimated_ == ("h",)
    row = dict(zip(model.feature_names_, model.coefficients_[1], strict=True))
    used = {name: value for name, value in row.items() if value}
    truth = {"1": -0.024, "v": -0.016, "h": 0.936, "v**3": -0.0213, "v**2*h": -1.0}
    assert used == pytest.approx(truth, rel=0.1)
    model.save(tmp_path / "m.orthoreg")
    loaded, new = og.load(tmp_path / "m.orthoreg"), og.Dataset.from_arrays(x, t, names=["v"])
    runs = [m.forecast(d)[0].x for m, d in ((model, data), (loaded, data), (loaded, new))]
    np.testing.assert_array_equal(runs[0], runs[1])
    np.testing.assert_array_equal(runs[0], runs[2])
    assert "v' = h is given" in str(model.summary(data))


def test_the_state_to_differentiate_is_chosen():
    """A pendulum moves a slow sensor. Only the angle has a second derivative."""

    def slope(t, x):
        return [-x[0] + 0.7 * x[2] ** 2, x[2], -np.sin(x[1]) - 0.1 * x[2]]

    t = np.arange(0, 60, 0.1)
    x, _ = simulated(slope, [1.0, 1.5, 0.0], t, [0, 1], 0.01)
    data = og.Dataset.from_arrays(x, t, names=["y", "theta"], hidden=["omega"])
    model = og.OrthoReg("poly(2) + sin(theta)").fit(data)
    assert model.velocity_of_ == {"theta": "omega"}
    assert model.equations(2) == [
        "theta' = omega", "omega' = -0.10 omega - 1.0 sin(theta)", "y' = -1.0 y + 0.70 omega**2",
    ]  # fmt: skip


def test_several_hidden_states_are_successive_derivatives():
    t = np.arange(0, 60, 0.05)
    x, _ = simulated(
        lambda t, z: [z[1], z[2], -2.017 * z[2] + z[1] ** 2 - z[0]],
        [-0.9, 0.0, 0.5], t, [0], 0.01,
    )  # fmt: skip
    data = og.Dataset.from_arrays(x, t, names=["x"], hidden=["speed", "push"])
    model = og.OrthoReg("poly(2)").fit(data)
    assert model.velocity_of_ == {"x": "speed", "speed": "push"}
    assert model.equations(2)[2] == "push' = -1.0 x - 2.0 push + 1.0 speed**2"
    many = og.Dataset.from_arrays(x, t, names=["x"], hidden=["a", "b", "c", "d"])
    with pytest.raises(InputError, match="an order above 4 are not supported. Give fewer hidden"):
        og.OrthoReg("poly(2)").fit(many)


def test_hidden_states_that_are_nowhere_although_all_measured_equations_are_given():
    t = np.arange(0, 20, 0.2)
    data = og.Dataset.from_arrays(np.sin(t)[:, None], t, names=["x"], hidden=["h"])
    with pytest.raises(InputError, match="'h' is in no equation of a measured state"):
        og.OrthoReg(physics=og.Physics(equations={"x": "-k*x"})).fit(data)


def test_a_large_library_finds_the_course_with_the_fewest_terms():
    """With h + c x + d in place of h, the equations of prey and predators have more terms."""
    rng, t = np.random.default_rng(0), np.arange(0, 40, 0.1)
    x = solve_ivp(
        lambda t, x: [x[0] * (1 - 0.1 * x[0]) - 0.5 * x[0] * x[1], 0.4 * x[0] * x[1] - 0.6 * x[1]],
        (0, 40), [2.0, 1.0], t_eval=t, rtol=1e-9, atol=1e-9,
    ).y[0]  # fmt: skip
    prey = x + 0.01 * x.std() * rng.standard_normal(len(t))
    data = og.Dataset.from_arrays(prey[:, None], t, names=["x"], hidden=["h"])
    physics = og.Physics(equations={"x": "r*x - q*x**2 - 0.5*x*h", "h": "..."})
    model = og.OrthoReg("poly(3)", physics=physics).fit(data)
    used = {n: c for n, c in zip(model.feature_names_, model.coefficients_[1], strict=True) if c}
    assert used == pytest.approx({"h": -0.6, "x*h": 0.4}, rel=0.02)
