"""Known physics holds exactly in fitted models, and the unknown part is found."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import orthoreg as og

G, LENGTH, DAMPING = 9.81, 0.8, 0.15
PENDULUM = og.Physics(
    equations={"theta": "omega", "omega": "-g/L*sin(theta) + ..."}, values={"g": G}
)


def runs_of(rate, starts, times, names, noise=0.0, seed=0):
    """Solutions from these starts, with noise in standard deviations of the states."""
    rng = np.random.default_rng(seed)
    runs = [
        solve_ivp(rate, times[[0, -1]], start, t_eval=times, rtol=1e-9, atol=1e-10).y.T
        for start in starts
    ]
    size = noise * np.concatenate(runs).std(axis=0)
    noisy = [run + size * rng.standard_normal(run.shape) for run in runs]
    return og.Dataset.from_arrays(noisy, times, names=names)


def pendulum(noise=0.0, seed=0, damping=DAMPING):
    def rate(t, x):
        return [x[1], -G / LENGTH * np.sin(x[0]) - damping * x[1]]

    starts = np.random.default_rng(seed).uniform(-2, 2, (6, 2))
    return runs_of(rate, starts, np.linspace(0, 5, 201), ["theta", "omega"], noise, seed)


@pytest.fixture(scope="module")
def clean():
    return og.OrthoReg(physics=PENDULUM).fit(pendulum())


def test_a_length_in_the_denominator_and_the_damping_are_found(clean):
    assert clean.equations()[0] == "theta' = omega (given)"
    assert clean.parameters_["L"] == pytest.approx(LENGTH, rel=1e-3)
    low, high = clean.parameter_intervals_["L"]
    assert low <= clean.parameters_["L"] <= high
    names = np.array(clean.feature_names_)
    assert set(names[clean.support_[1]]) == {"omega", "sin(theta)"}
    assert clean.coefficients_[0, list(names).index("omega")] == 1.0
    assert "Estimated from the data: L = 0.8" in str(clean.summary())


def test_the_given_equation_is_exact_in_predictions_latex_and_files(clean, tmp_path):
    x = np.random.default_rng(0).uniform(-3, 3, (50, 2))
    assert (clean.predict(x)[:, 0] == x[:, 1]).all()
    assert clean.to_latex()[0].endswith(r"\omega\ \text{(given)}")
    clean.save(tmp_path / "model.orthoreg")
    loaded = og.load(tmp_path / "model.orthoreg")
    assert loaded.physics == PENDULUM
    assert loaded.equations() == clean.equations()
    assert loaded.parameters_ == clean.parameters_
    assert_allclose(loaded.parameter_intervals_["L"], clean.parameter_intervals_["L"])


@pytest.mark.slow
def test_the_interval_of_the_length_covers_it_on_noisy_data():
    covered = []
    for seed in range(4):
        model = og.OrthoReg(physics=PENDULUM).fit(pendulum(0.02, seed))
        low, high = model.parameter_intervals_["L"]
        covered.append(low <= LENGTH <= high)
        assert high - low < 0.02
        assert model.parameters_["L"] == pytest.approx(LENGTH, rel=0.01)
        assert "omega" in np.array(model.feature_names_)[model.support_[1]]
    assert sum(covered) >= 3


def test_a_sign_that_noise_would_turn_is_held_and_the_certificate_says_so():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (200, 2))
    y = np.column_stack([x[:, 1], -x[:, 0] + 0.05 * x[:, 1]])  # the system seems to gain energy
    library = og.Polynomial(1)
    free = og.OrthoReg(library, og.Zero()).fit(x, y)
    assert free.coefficients_[1, 2] > 0
    physics = og.Physics(required={"x1": ["x1"]}, bounds={("x1", "x1"): (None, 0)})
    model = og.OrthoReg(library, og.Zero(), physics=physics).fit(x, y)
    assert model.coefficients_[1, 2] == 0
    assert model.certificate_.equations[1].active_bounds == ("x1",)
    assert model.certificate_.equations[0].active_bounds == ()
    assert "x1 is at the bound" in str(model.summary())
    assert (og.bootstrap(model).interval[1, 2] <= 0).all()
    bounded = og.Physics(bounds={("x1", "x0"): (-0.9, None)})
    model = og.OrthoReg(library, og.Zero(), physics=bounded).fit(x, y)
    assert model.coefficients_[1, 1] == -0.9


def epidemic(extra=0.0):
    def rate(t, x):
        s, i, _ = x
        flow = 0.6 * s * i / (1 + extra * i)
        return [-flow, flow - 0.25 * i, 0.25 * i]

    starts = [[0.99, 0.01, 0.0], [0.7, 0.05, 0.25], [0.85, 0.15, 0.0], [0.95, 0.05, 0.0]]
    return runs_of(rate, starts, np.linspace(0, 40, 161), ["S", "I", "R"])


@pytest.mark.parametrize("extra", [0.0, 3.0])
def test_a_conserved_sum_holds_for_terms_and_residual(extra):
    physics = og.Physics(conserved=["S + I + R"])
    model = og.OrthoReg(
        og.Polynomial(2), og.RandomFeatures(60), loss=og.VectorField(), physics=physics
    )
    model.fit(epidemic(extra))
    x = np.random.default_rng(1).uniform(0, 1.5, (100, 3))
    rates = model.predict(x)
    assert_allclose(rates.sum(axis=1), 0, atol=1e-13 * np.abs(rates).max() + 1e-14)
    has_residual = np.abs(model.decompose(x)[1]).max(axis=0) > 1e-9
    if extra:
        assert has_residual[:2].all()
    else:
        assert not has_residual.any()
        terms = [set(np.array(model.feature_names_)[row]) for row in model.support_]
        assert terms == [{"S*I"}, {"I", "S*I"}, {"I"}]
        assert og.bootstrap(model, resamples=50).interval[2, 2] == pytest.approx(0.25, rel=1e-3)


def test_one_rate_in_two_equations_is_one_number():
    physics = og.Physics(equations={"S": "-beta*S*I", "I": "beta*S*I - gamma*I", "R": "gamma*I"})
    model = og.OrthoReg(og.Polynomial(2), physics=physics).fit(epidemic())
    assert model.parameters_ == pytest.approx({"beta": 0.6, "gamma": 0.25}, rel=1e-3)
    W, names = model.coefficients_, list(model.feature_names_)
    assert W[0, names.index("S*I")] == -W[1, names.index("S*I")]
    assert set(model.parameter_intervals_) == {"beta", "gamma"}


def test_a_relation_between_two_species_is_exact():
    def rate(t, x):
        return [x[0] - 0.4 * x[0] * x[1], -0.8 * x[1] + 0.4 * x[0] * x[1]]

    starts = [[1, 1], [3, 2], [2, 4], [1, 3]]
    data = runs_of(rate, starts, np.linspace(0, 8, 161), ["x", "y"], 0.01)
    physics = og.Physics(relations=["coef(x, x*y) = -coef(y, x*y)"])
    model = og.OrthoReg(og.Polynomial(2), og.Zero(), physics=physics).fit(data)
    W = model.coefficients_[:, model.feature_names_.index("x*y")]
    assert W[0] == pytest.approx(-0.4, rel=0.05)
    assert_allclose(W[0], -W[1], rtol=1e-12)
    other = model.adapt(data[[0, 1]])
    W = other.coefficients_[:, model.feature_names_.index("x*y")]
    assert_allclose(W[0], -W[1], rtol=1e-9)


@pytest.mark.parametrize(
    "symmetry", [og.Odd(), og.Even("x0"), og.Reflection("x0"), (og.Reflection("x0"), og.Odd())]
)
def test_residual_and_gate_have_the_symmetry_exactly(symmetry, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.uniform(0.2, 2, (300, 2))
    y = np.column_stack([np.tanh(3 * x[:, 0]) * x[:, 1], np.exp(-(x[:, 0] ** 2)) * x[:, 1]])
    physics = og.Physics(symmetry=symmetry)
    model = og.OrthoReg(og.Polynomial(1), og.RandomFeatures(40), physics=physics).fit(x, y)
    assert np.abs(model.decompose(x)[1]).max() > 1e-3
    model.save(tmp_path / "model.orthoreg")
    at = rng.uniform(-4, 4, (50, 2))
    here = og.load(tmp_path / "model.orthoreg").predict(at)
    assert_allclose(here, model.predict(at), rtol=1e-12)
    given = symmetry if isinstance(symmetry, tuple) else (symmetry,)
    for one in given:
        turned, signs = one.signs(["x0", "x1"], ["x0", "x1"])
        assert_allclose(model.predict(at * turned), here * signs, atol=1e-12)
    if symmetry == og.Odd():
        rolled = model.simulate([0.5, 0.5], np.linspace(0, 1, 5))  # simulated by JAX
        assert np.isfinite(rolled.x).all()


def test_an_angle_goes_on_after_a_turn():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.uniform(-np.pi, np.pi, 400), rng.uniform(-2, 2, 400)])

    def rate(x):
        return np.column_stack([x[:, 1], -np.sin(x[:, 0]) - 0.3 * np.exp(np.cos(x[:, 0]))])

    physics = og.Physics(symmetry=og.Periodic("x0"))
    model = og.OrthoReg(og.Polynomial(1) + og.Fourier(1), physics=physics).fit(x, rate(x))
    further = x + [4 * np.pi, 0]
    assert_allclose(model.predict(further), model.predict(x), atol=1e-9)
    assert (model.distance(further) <= 1 + 1e-9).all()
    assert np.abs(model.predict(further) - rate(further)).max() < 0.02


def test_a_model_that_was_given_completely_is_judged_like_any_other():
    x = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    y = np.column_stack([x[:, 1], -np.sin(x[:, 0])])
    physics = og.Physics(equations={"x0": "x1", "x1": "-sin(x0)"})
    model = og.OrthoReg(og.Polynomial(1), physics=physics).fit(x, y)
    assert_allclose(model.predict(x), y, rtol=1e-14)
    assert model.summary(x, y).verdict.code == "explained"
    assert model.given_ == ("x0", "x1") and model.parameters_ == {}


def test_the_equation_of_a_velocity_is_named_by_its_position():
    measured = pendulum()
    angles = [run.states[:, :1] for run in measured]
    data = og.Dataset.from_positions(angles, measured[0].times, names=["theta"])
    physics = og.Physics(equations={"theta'": "-g/L*sin(theta) + ..."}, values={"g": G})
    model = og.OrthoReg(og.Polynomial(2), og.Zero(), physics=physics).fit(data)
    assert model.parameters_["L"] == pytest.approx(LENGTH, rel=1e-3)
    assert model.equations() == ["theta'' = -0.1500 theta_dot - 12.26 sin(theta)"]


@pytest.mark.slow
def test_the_other_well_of_an_odd_system_is_known_from_one():
    from orthoreg.systems import Duffing, generate

    system = Duffing()
    train, other = (generate(system, split, runs=30, seed=0) for split in ("train", "t2"))
    assert train.states[:, 0].min() > 0 > other.states[:, 0].max()
    model = og.OrthoReg(physics=og.Physics(symmetry=og.Odd())).fit(train)
    at = other.states[::50]
    truth = np.stack([np.asarray(system(0.0, x)) for x in at])
    error = np.sqrt(np.mean((model.predict(at) - truth) ** 2) / np.mean(truth**2))
    assert error < 0.05


def test_data_that_refute_a_given_equation_are_named_with_the_evidence():
    x = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    y = np.column_stack([x[:, 1], -x[:, 0]])
    physics = og.Physics(equations={"x0": "-x1"})
    model = og.OrthoReg(og.Polynomial(1), og.Zero(), physics=physics)
    with pytest.warns(og.DataWarning, match="contradict the given equation of 'x0'.* 4e\\+02%"):
        model.fit(x, y)
    assert model.equations()[0] == "x0' = -x1 (given)"


def test_data_that_refute_a_symmetry_are_named_and_others_are_not():
    x = np.random.default_rng(0).uniform(-1, 1, (300, 2))
    y = np.column_stack([x[:, 1], -x[:, 0] + x[:, 0] ** 2])
    physics = og.Physics(symmetry=og.Odd())
    model = og.OrthoReg(og.Polynomial(2), og.RandomFeatures(40), physics=physics)
    with pytest.warns(og.DataWarning, match="contradict the symmetry: .* of x1' is unexplained"):
        model.fit(x, y)
    model.fit(x[x[:, 0] > 0], y[x[:, 0] > 0])  # on one side, nothing can be said


with pytest.deprecated_call():
    DEPRECATED = og.StabilitySelection(halves=20, threshold=1.0)


@pytest.mark.parametrize(
    "selection",
    [
        og.CrossValidation(),
        og.InformationCriterion(),
        DEPRECATED,
    ],
)
def test_every_selection_keeps_what_is_required_and_given(selection):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (300, 2))
    y = np.column_stack([2 * x[:, 1], -x[:, 0] - 0.3 * x[:, 1] ** 2])
    physics = og.Physics(
        equations={"x0": "2*x1 + ..."}, required={"x1": ["x0*x1"]}, forbidden={"x1": ["x1"]}
    )
    model = og.OrthoReg(og.Polynomial(2), og.Zero(), selection=selection, physics=physics)
    model.fit(x, y + 1e-3 * rng.standard_normal(y.shape))
    W = dict(zip(model.feature_names_, model.coefficients_.T, strict=True))
    assert W["x1"].tolist() == [2.0, 0.0]
    assert W["x0*x1"][1] != 0
    assert W["x1**2"][1] == pytest.approx(-0.3, abs=0.01)
