"""Constants that differ between runs, with their distribution."""

import warnings

import numpy as np
import pytest
from pendulum_runs import KNOWN, pendulums
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg._common.errors import InputError


@pytest.fixture(scope="module")
def swung():
    data, lengths = pendulums()
    physics = og.Physics(equations=KNOWN, per_run=["m"])
    return og.OrthoReg(physics=physics).fit(data), data, lengths


def test_each_run_has_its_constant(swung):
    model, data, lengths = swung
    values = np.array([run.x[0, 2] for run in model.forecast(data)])
    assert np.allclose(values * lengths, 9.81, rtol=0.01)
    assert model.parameters_["c"] == pytest.approx(0.1, abs=0.01)
    assert model.summary(data).verdict.code == "explained"


def test_the_distribution_is_estimated(swung):
    model, data, lengths = swung
    (constant,) = model.schema_.per_run
    truth = np.log(9.81 / lengths)
    assert constant.mean == pytest.approx(truth.mean(), abs=0.02)
    assert constant.std == pytest.approx(truth.std(ddof=1), rel=0.2)
    assert any("m has the median" in note for note in model.summary(data).notes)


def test_the_equation_of_the_constant_is_not_printed(swung):
    model, _, _ = swung
    assert [line.split(" ")[0] for line in model.equations()] == ["theta'", "omega'"]
    assert len(model.to_latex()) == len(model.to_mathml()) == 2


def test_a_new_run_after_a_few_samples(swung, tmp_path):
    model, _, _ = swung
    new, lengths = pendulums(1, seed=5)
    model.save(tmp_path / "m.orthoreg")
    start = new.only(np.arange(new.n_samples) < 15)
    for one in (model, og.load(tmp_path / "m.orthoreg")):
        value = one.forecast(start)[0].x[0, 2]
        assert value * lengths[0] == pytest.approx(9.81, rel=0.1)


def test_a_term_of_the_library():
    data, lengths = pendulums(4)
    physics = og.Physics(equations={"theta": "omega"}, per_run={"omega": ["sin(theta)"]})
    model = og.OrthoReg("poly(1) + fourier(1)", physics=physics).fit(data)
    values = np.array([run.x[0, 2] for run in model.forecast(data)])
    assert np.allclose(values * lengths, -9.81, rtol=0.02)
    row = dict(zip(model.feature_names_, model.coefficients_[1], strict=True))
    assert {name for name, value in row.items() if value} == {"omega", "k_omega*sin(theta)"}


def test_without_differences_the_spread_is_small():
    rng = np.random.default_rng(3)
    t = np.arange(0, 6, 0.05)
    runs = []
    for _ in range(5):
        x = solve_ivp(lambda t, x: [x[1], -4 * x[0]], (0, 6), rng.normal(size=2), t_eval=t).y.T
        runs.append(x + 0.02 * x.std(axis=0) * rng.standard_normal(x.shape))
    data = og.Dataset.from_arrays(runs, t, names=["x", "v"])
    physics = og.Physics(equations={"x": "v", "v": "-k*x"}, per_run=["k"])
    (constant,) = og.OrthoReg(physics=physics).fit(data).schema_.per_run
    assert constant.center == pytest.approx(4, rel=0.01)
    assert constant.std < 0.02


def test_a_name_that_no_equation_has_is_refused():
    data, _ = pendulums(2)
    with pytest.raises(InputError, match="per_run.*'q'"):
        og.OrthoReg(physics=og.Physics(equations=KNOWN, per_run=["q"])).fit(data)


def test_the_rate_of_a_constant_does_not_contradict_anything():
    """The rate is a rounding error, which the library could explain."""
    rng = np.random.default_rng(0)
    t = np.array([0, 0.25, 0.5, 1, 2, 3.5, 5, 7, 9, 12, 24])
    runs = []
    for _ in range(6):
        ka, ke, V = np.array([1.5, 0.09, 0.5]) * np.exp([0.4, 0.2, 0.15] * rng.normal(size=3))
        x = 4 * ka / V / (ka - ke) * (np.exp(-ke * t) - np.exp(-ka * t))
        runs.append((x + 0.1 * rng.standard_normal(len(t)))[:, None])
    data = og.Dataset.from_arrays(runs, t, names=["conc"], hidden=["gut"])
    physics = og.Physics(
        equations={"gut": "-ka*gut", "conc": "ka*gut/V - ke*conc"},
        start={"gut": 4}, per_run=["ka", "ke", "V"],
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = og.OrthoReg(physics=physics).fit(data)
    assert model.schema_.per_run[1].center == pytest.approx(0.09, rel=0.2)


def test_a_coefficient_that_differs_is_named_and_the_remedy_works():
    data, lengths = pendulums(6)
    library = "poly(1) + fourier(1)"
    summary = og.OrthoReg(library).fit(data).summary(data)
    advice = {item.code: item.text for item in summary.advice}
    assert "The coefficient of sin(theta) in omega' differs between runs" in advice["per-run"]
    physics = og.Physics(per_run={"omega": ["sin(theta)"]})
    model = og.OrthoReg(library, physics=physics).fit(data)
    assert model.summary(data).verdict.code == "explained"
    values = [value for value, _, _ in model.per_run(data)["k_omega"].values()]
    assert np.allclose(np.array(values) * lengths, -9.81, rtol=0.02)


@pytest.mark.parametrize("library", ["poly(2)", "poly(1)"])
def test_runs_that_do_not_differ_are_not_told_apart(library):
    t, runs = np.arange(0, 20, 0.1), []
    rng = np.random.default_rng(1)
    for start in ([3.0, 4.0], [10.0, 5.0], [6.0, 1.0]):
        x = solve_ivp(
            lambda t, x: [1.1 * x[0] - 0.4 * x[0] * x[1], 0.1 * x[0] * x[1] - 0.4 * x[1]],
            (0, 20), start, t_eval=t, rtol=1e-9, atol=1e-9,
        ).y.T  # fmt: skip
        runs.append(x + 0.02 * x.std(axis=0) * rng.standard_normal(x.shape))
    data = og.Dataset.from_arrays(runs, t, names=["prey", "predators"])
    advice = og.OrthoReg(library).fit(data).summary(data).advice
    assert "per-run" not in [item.code for item in advice]
