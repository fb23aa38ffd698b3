"""Maps x[k+1] = f(x[k], u[k]): equations, intervals, verdicts, simulation, files and exports."""

import numpy as np
import pytest

import orthoreg as og
from orthoreg._common.errors import DataError
from orthoreg.matching import judge


def logistic(rows=500, rate=3.8):
    x = [0.3]
    for _ in range(rows - 1):
        x.append(rate * x[-1] * (1 - x[-1]))
    return np.array(x)[:, None]


def henon(rows=500):
    states = [[0.1, 0.1]]
    for _ in range(rows - 1):
        x, y = states[-1]
        states.append([1 - 1.4 * x * x + y, 0.3 * x])
    return np.array(states)


def ricker(rows=500, rate=2.8):
    x = [0.4]
    for _ in range(rows - 1):
        x.append(x[-1] * np.exp(rate * (1 - x[-1])))
    return np.array(x)[:, None]


def driven(rows=500):
    u = np.random.default_rng(5).standard_normal((rows, 1))
    x = np.zeros((rows, 2))
    for k in range(rows - 1):
        a, b = x[k]
        x[k + 1] = 0.8 * a + 0.2 * b + 0.5 * u[k, 0], -0.3 * a + 0.7 * b
    return x, u


def noisy(states, share, seed=0):
    rng = np.random.default_rng(seed)
    return states + share * states.std(axis=0) * rng.standard_normal(states.shape)


def as_map(states, u=None):
    names = ["x", "y"][: states.shape[1]]
    inputs = None if u is None else ["u"]
    return og.Dataset.from_arrays(states, u=u, names=names, input_names=inputs, discrete=True)


CASES = {
    "logistic": (logistic, None, {("x", "x"): 3.8, ("x", "x**2"): -3.8}),
    "henon": (
        henon, None,
        {("x", "1"): 1.0, ("x", "y"): 1.0, ("x", "x**2"): -1.4, ("y", "x"): 0.3},
    ),
    "ricker": (ricker, "poly(2) + x*exp(-a*x)", {("x", "x*exp(-x*a)"): np.exp(2.8)}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", range(5))
def test_chaotic_maps_with_noise_have_exact_terms_and_constants_within_two_percent(name, seed):
    simulate, library, truth = CASES[name]
    data = as_map(noisy(simulate(), 0.01, seed))
    model = og.OrthoReg(library).fit(data) if library else og.OrthoReg().fit(data)
    found = {
        (model.output_names_[c], model.feature_names_[k]): model.coefficients_[c, k]
        for c, k in np.argwhere(model.support_)
    }
    assert found == pytest.approx(truth, rel=0.02)
    if name == "ricker":
        assert model.parameters_["a"] == pytest.approx(2.8, rel=0.02)
    assert model.summary(data).verdict.code == "explained"


def test_intervals_of_a_chaotic_map_contain_the_constants():
    inside = []
    for seed in range(20):
        model = og.OrthoReg("poly(2)").fit(as_map(noisy(logistic(300), 0.02, seed)))
        rows = {row.term: row for row in model.summary(as_map(logistic(300))).terms}
        for term, truth in {"x": 3.8, "x**2": -3.8}.items():
            low, high = rows[term].low, rows[term].high
            inside.append(low is not None and high is not None and low < truth < high)
    assert np.mean(inside) > 0.85


def test_a_map_without_noise_is_exact_and_simulated_step_by_step():
    states, u = driven()
    data = as_map(states, u)
    model = og.OrthoReg("poly(1)", og.Zero()).fit(data)
    assert model.equations(2) == [
        "x[k+1] = 0.80 x + 0.20 y + 0.50 u",
        "y[k+1] = -0.30 x + 0.70 y",
    ]
    rollout = model.simulate(states[0], np.arange(50.0), u[:50])
    np.testing.assert_allclose(rollout.x, states[:50], atol=1e-9)
    np.testing.assert_allclose(model.forecast(data)[0].x, states, atol=1e-9)
    np.testing.assert_allclose(model.predict(data)[:-1], states[1:], atol=1e-9)


def test_rows_with_more_noise_in_an_input_than_in_states_are_still_forecast():
    states, u = driven()
    data = as_map(noisy(states, 0.02), u)
    model = og.OrthoReg().fit(data)
    assert model.equations(2) == [
        "x[k+1] = 0.80 x + 0.20 y + 0.50 u",
        "y[k+1] = -0.30 x + 0.70 y",
    ]
    assert model.summary(data).verdict.code == "explained"


def test_times_of_a_simulation_are_whole_steps():
    data = og.Dataset.from_arrays(logistic(100), 0.5, discrete=True)
    model = og.OrthoReg("poly(2)", og.Zero()).fit(data)
    np.testing.assert_allclose(
        model.simulate([0.3], [0.0, 1.0, 2.5]).x[:, 0], logistic(6)[[0, 2, 5], 0], atol=1e-9
    )
    with pytest.raises(og.InputError, match="whole steps of 0.5"):
        model.simulate([0.3], [0.0, 0.7])


def test_a_diverging_map_stops_with_a_cause():
    model = og.OrthoReg("poly(2)", og.Zero()).fit(as_map(logistic()))
    rollout = model.simulate([1.5], np.arange(30.0))
    assert str(rollout.status) == "diverged" and np.isnan(rollout.x[-1, 0])
    assert "x**2 in x[k+1] dominates" in rollout.message


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_a_wrong_library_is_called_wrong_and_gets_advice(noise):
    data = as_map(noisy(logistic(), noise))
    summary = og.OrthoReg("poly(1)", og.Zero()).fit(data).summary(data)
    assert summary.verdict.code == "not-explained"
    codes = [advice.code for advice in summary.advice]
    assert codes[0] == "larger-library" and "explain" in codes
    assert "x[k+1]" in summary.verdict.text and "derivative" not in str(summary)


def test_a_hidden_drift_is_called_wrong():
    x = [0.3]
    for k in range(599):
        x.append((3.5 + 0.35 * np.sin(2 * np.pi * k / 200)) * x[-1] * (1 - x[-1]))
    data = as_map(noisy(np.array(x)[:, None], 0.005))
    model = og.OrthoReg("poly(2)", og.Zero()).fit(data)
    assert judge(model.field_, data).exceeds_noise


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_a_flow_fitted_to_a_map_is_advised_to_be_discrete(noise):
    data = og.Dataset.from_arrays(noisy(logistic(), noise), 1.0, names=["x"])
    first, *_ = og.OrthoReg().fit(data).summary(data).advice
    assert first.code == "discrete"
    assert "discrete=True" in first.text and "--discrete" in first.text


def test_a_resolved_flow_gets_no_such_advice():
    t = np.linspace(0, 20, 400)
    data = og.Dataset.from_arrays(np.cos(t)[:, None], t, names=["x"])
    codes = [a.code for a in og.OrthoReg("poly(1)", og.Zero()).fit(data).summary(data).advice]
    assert "discrete" not in codes


def test_formulas_of_a_map_are_found():
    data = as_map(noisy(ricker(), 0.01))
    best = og.discover(data).best
    assert "x*exp(" in best.equations()[0]
    (exponent,) = best.parameters_.values()
    assert exponent == pytest.approx(-2.8, rel=0.01)
    found = og.OrthoReg("poly(1)").fit(data).explain(data)
    assert "x*exp(" in found.proposals[0].formula
    assert str(found).startswith("[0] x[k+1] lacks x*exp(")
    assert found.accept(0).equations()[0].startswith("x[k+1] = 16.4")


def test_known_equations_and_bounds_hold():
    physics = og.Physics(equations={"y": "b*x"}, bounds={"b": (0.2, 0.4)})
    data = as_map(noisy(henon(), 0.01))
    model = og.OrthoReg(physics=physics).fit(data)
    assert model.parameters_["b"] == pytest.approx(0.3, rel=0.02)
    assert model.summary(data).verdict.code == "explained"


def test_runs_of_a_map_are_matched_together():
    runs = [logistic(60, 3.2), logistic(80, 3.2)[20:], 0.5 * logistic(40, 3.2)[:1]]
    data = og.Dataset.from_arrays(runs, names=["x"], discrete=True)
    assert data.n_runs == 3 and len(data.rows_with_next()) == 118
    assert og.OrthoReg("poly(2)", og.Zero()).fit(data).equations(2) == ["x[k+1] = 3.2 x - 3.2 x**2"]


# -- what a map refuses --------------------------------------------------------------------


def test_irregular_times_are_refused_in_one_sentence():
    t = np.cumsum(np.random.default_rng(0).uniform(0.5, 1.5, 100))
    with pytest.raises(og.DataError, match="needs equal time steps, but the step"):
        og.Dataset.from_arrays(logistic(100), t, discrete=True)


def test_positions_derivatives_and_fill_are_refused():
    table = {"t": np.arange(9.0), "x": logistic(9)[:, 0]}
    with pytest.raises(og.DataError, match="positions must be omitted with discrete=True"):
        og.read_table(table, "t", positions=["x"], discrete=True)
    with pytest.raises(og.DataError, match="derivatives must be omitted"):
        og.read_table(table, "t", ["x"], derivatives=["x"], discrete=True)
    with pytest.raises(og.DataError, match="fill must be omitted"):
        og.read_table(table, "t", ["x"], fill=True, discrete=True)
    with pytest.raises(og.DataError, match="t must give the times"):
        og.Dataset.from_arrays(logistic(9))


@pytest.mark.parametrize("loss", [og.VectorField(), og.Weak(), og.MultiStep(3)])
def test_losses_of_flows_are_refused(loss):
    with pytest.raises(og.InputError, match="is for flows"):
        og.OrthoReg("poly(2)", og.Zero(), loss=loss).fit(as_map(logistic(50)))


def test_next_states_need_a_map():
    data = og.Dataset.from_arrays(logistic(50), 1.0)
    with pytest.raises(og.InputError, match="discrete=True"):
        og.OrthoReg("poly(2)", og.Zero(), loss=og.NextState()).fit(data)


def test_data_of_the_other_kind_are_refused():
    model = og.OrthoReg("poly(2)", og.Zero()).fit(as_map(logistic(50)))
    with pytest.raises(og.InputError, match="a step of 1; the data have a step of 0.5"):
        model.forecast(og.Dataset.from_arrays(logistic(50), 0.5, names=["x"], discrete=True))
    t = np.linspace(0, 6, 100)
    flow = og.OrthoReg("poly(1)", og.Zero()).fit(np.exp(-t)[:, None], t=t)
    with pytest.raises(og.InputError, match="The model is a flow"):
        flow.forecast(og.Dataset.from_arrays(logistic(50), discrete=True))


def test_flows_and_maps_are_not_joined():
    flow = og.Dataset.from_arrays(logistic(50), 1.0, names=["x"])
    with pytest.raises(og.DataError, match="a map with the step 1 and a flow"):
        og.OrthoReg().fit([as_map(logistic(50)), flow])


# -- missing rows --------------------------------------------------------------------------


def test_repair_cuts_the_runs_of_a_map_at_missing_rows():
    x = logistic(100)[:, 0]
    x[[30, 60]] = np.nan
    table = {"k": np.arange(100.0), "x": x}
    data = og.read_table(table, "k", ["x"], repair=True, discrete=True)
    assert data.run_lengths.tolist() == [30, 29, 39]
    assert {note.code for note in data.notes} >= {"missing", "missing-rows"}
    assert og.OrthoReg("poly(2)", og.Zero()).fit(data).equations(2) == ["x[k+1] = 3.8 x - 3.8 x**2"]


# -- files and exports ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    data = as_map(noisy(henon(300), 0.01))
    return og.OrthoReg().fit(data), data


def test_a_model_file_keeps_the_step(fitted, tmp_path):
    model, data = fitted
    model.summary(data)
    model.save(tmp_path / "henon.orthoreg")
    loaded = og.load(tmp_path / "henon.orthoreg")
    assert loaded.schema_ == model.schema_ and loaded.schema_.step == 1.0
    assert loaded.equations() == model.equations()
    np.testing.assert_allclose(
        loaded.simulate([0.1, 0.1], np.arange(9.0)).x, model.simulate([0.1, 0.1], np.arange(9.0)).x
    )


def test_exports_name_the_next_state_or_refuse(fitted):
    model, data = fitted
    names: dict = {}
    exec(model.to_python(), names)
    np.testing.assert_allclose(names["next_state"](data.states), model.predict(data), rtol=1e-12)
    for source in (model.to_c(), model.to_julia(), model.to_matlab(), model.to_python()):
        assert "next_state" in source and "derivative" not in source and "dxdt" not in source
    assert model.to_latex()[0].startswith("x_{k+1} = ")
    assert "<mi>k</mi><mo>+</mo><mn>1</mn>" in model.to_mathml()[0]
    for refused in (model.to_modelica, model.to_jax, lambda: model.to_fmu("x.fmu")):
        with pytest.raises(og.InputError, match="is for flows, but this model is a map"):
            refused()


def test_the_report_of_a_map_has_no_derivatives(fitted, tmp_path):
    model, data = fitted
    page = og.report(model, tmp_path / "henon.html", data=data).read_text()
    assert "Errors of the next values" in page and "move to the next row" in page
    assert "erivative" not in page.split("<script")[0]


def test_the_residual_of_a_map_completes_its_equations():
    data = as_map(logistic(400, 3.7))
    model = og.OrthoReg("poly(1)", og.RandomFeatures(100)).fit(data)
    assert model.equations()[0].endswith("+ residual")
    summary = model.summary(data)
    assert summary.verdict.code == "needs-residual"


def test_a_map_in_chunks_is_fitted_like_one_in_memory():
    runs = [as_map(logistic(120, rate)) for rate in (3.7, 3.7, 3.7)]
    data = og.ChunkedDataset.from_runs(runs, rows=150)
    assert og.OrthoReg("poly(2)", og.Zero()).fit(data).equations(3) == [
        "x[k+1] = 3.70 x - 3.70 x**2"
    ]


def test_a_map_is_refined_adapted_and_bootstrapped(fitted):
    model, data = fitted
    assert model.refine(data).equations(2) == model.equations(2)
    other = as_map(np.array(henon(200)) * [1.0, 1.0])
    assert model.adapt(other).equations(3) == [
        "x[k+1] = 1.00 + 1.00 y - 1.40 x**2",
        "y[k+1] = 0.300 x",
    ]
    assert "x[k+1]" in repr(og.bootstrap(model))


def test_rows_without_times_are_counted_in_each_run(tmp_path):
    values = np.concatenate([logistic(60), logistic(40, 3.7)])[:, 0]
    table = {"plot": np.repeat([0, 1], [60, 40]), "x": values}
    data = og.read_table(table, states=["x"], group="plot", discrete=True)
    assert data.times.tolist() == [*range(60), *range(40)]
    assert data.time_name == "k"
    cut = og.read_table(
        {"x": [*values[:20], np.nan, *values[21:60]]}, states=["x"], discrete=True, repair=True
    )
    assert cut.run_lengths.tolist() == [20, 39]


def test_only_a_map_may_omit_times():
    with pytest.raises(DataError, match="time must name the column"):
        og.read_table({"x": [1.0, 2.0, 3.0]}, states=["x"])
    with pytest.raises(DataError, match="counted as 'k'"):
        og.read_table({"k": [1.0, 2.0, 3.0]}, states=["k"], discrete=True)
