"""Second-order equations from positions: theta' = theta_dot is exact, and theta'' is learned."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg import Dataset
from orthoreg.solving import TwoStage

LIBRARY = "poly(1) + fourier(1)"
T = 0.03 * np.arange(200)


def pendulum(t, z):
    return [z[1], -9.81 * np.sin(z[0]) - 0.3 * z[1]]


def run_of(right, start, times=T):
    solved = solve_ivp(right, (0, times[-1]), start, t_eval=times, rtol=1e-10, atol=1e-12)
    return solved.y.T


@pytest.fixture(scope="module")
def swings():
    """Angles of a damped pendulum and their true rates."""
    starts = [[1.0, 0.0], [2.5, 0.0], [0.5, 3.0]]
    runs = [run_of(pendulum, start) for start in starts]
    data = Dataset.from_positions([run[:, :1] for run in runs], T, names=["theta"])
    return data, np.concatenate(runs)


def held(model):
    """Return the coefficients of theta' and whether its equation has a residual."""
    row = dict(zip(model.feature_names_, model.coefficients_[0], strict=True))
    used = {name: value for name, value in row.items() if value}
    residual = model.field_.weights[:, 0].any() or model.field_.correction[0].any()
    return used, bool(residual)


@pytest.mark.parametrize(
    "model",
    [
        og.OrthoReg(LIBRARY),
        og.OrthoReg(LIBRARY, sparsity=0.5, selection=None),
        og.OrthoReg(LIBRARY, sparsity=0.5, orthogonality=1.0, magnitude=0.1),
        og.OrthoReg(LIBRARY, sparsity=0.1, orthogonality=0.1, solver=TwoStage()),
        og.OrthoReg("sin(theta)", og.RandomFeatures(30), orthogonality=math.inf),
        og.OrthoReg(LIBRARY, og.MLP(8, 2), sparsity=0.1, orthogonality=1.0,
                    solver=og.Adam(epochs=5)),
        og.OrthoReg(LIBRARY, og.MLP(8, 2), sparsity=0.1, orthogonality=math.inf,
                    solver=og.Adam(epochs=5, polish=True, normalize=True)),
        og.OrthoReg(LIBRARY, og.MLP(8, 2), loss=og.MultiStep(1), sparsity=0.1,
                    solver=og.Adam(epochs=5)),
        og.STLSQ(library=LIBRARY),
        og.UniversalODE(solver=og.Adam(epochs=5)),
    ],
    ids=repr,
)  # fmt: skip
def test_nothing_touches_what_is_given(swings, model):
    data, _ = swings
    model.fit(data)
    assert held(model) == ({"theta_dot": 1.0}, False)
    assert model.coefficients_.shape[0] == 2 and len(model.certificate_.equations) == 2
    given = model.certificate_.equations[0]
    assert given.fit_error < 1e-7 and given.residual_share == 0.0
    assert held(model.adapt(data)) == ({"theta_dot": 1.0}, False)


def test_a_pendulum_from_its_angles(swings, tmp_path):
    data, truth = swings
    np.testing.assert_allclose(data.states, truth, atol=2e-3)
    model = og.OrthoReg().fit(data)
    (line,) = model.equations()
    assert line == "theta'' = -0.3000 theta_dot - 9.810 sin(theta)"
    (latex,) = model.to_latex()
    assert latex.startswith(r"\ddot{\theta} = -0.3000\,\dot{\theta}")
    assert len(model.to_sympy()) == 2 and str(model.to_sympy()[0]) == "1.0*theta_dot"
    start = [1.7, -1.0]
    rollout = model.simulate(start, T)
    np.testing.assert_allclose(rollout.x, run_of(pendulum, start), atol=2e-3)
    model.save(tmp_path / "model.orthoreg")
    loaded = og.load(tmp_path / "model.orthoreg")
    assert loaded.velocity_of_ == {"theta": "theta_dot"} and loaded.estimated_ == ("theta_dot",)
    assert loaded.equations() == [line]


def test_the_summary_speaks_of_what_was_learned(swings):
    data, _ = swings
    model = og.OrthoReg(LIBRARY).fit(data)
    summary = model.summary(data)
    assert summary.verdict.code == "explained" and "theta''" in summary.verdict.text
    for rows in (summary.scores.equations, summary.terms, summary.certificate):
        assert {row.equation for row in rows} == {"theta'"}
    (note,) = [note for note in summary.notes if "given, not learned" in note]
    assert "theta_dot was not measured" in note and "scored on measured states" in note
    assert "theta''" in repr(og.bootstrap(model, resamples=20))
    assert "\ntheta' " not in repr(og.bootstrap(model, resamples=20))


def test_forecasts_are_scored_on_what_was_measured(swings):
    data, _ = swings
    model = og.OrthoReg(LIBRARY).fit(data)
    wrong = data.states.copy()
    wrong[10:, 1] += 5.0  # wrong in all rows but the first ones
    spoilt = replace(data[0], states=wrong[: len(T)])
    assert model.summary(spoilt).scores.forecast_error < 1e-3


def test_positions_alone_are_enough_for_a_fitted_model(swings):
    data, _ = swings
    model = og.OrthoReg(LIBRARY).fit(data)
    angles = [run.states[:, :1] for run in data]
    plain = Dataset.from_arrays(angles, T, names=["theta"])
    for one, other in zip(model.forecast(plain), model.forecast(data), strict=True):
        np.testing.assert_array_equal(one.x, other.x)
    assert model.score(plain) == model.score(data) == model.score(angles, t=T)
    assert model.adapt(plain).equations() == model.adapt(angles, t=T).equations()
    with pytest.raises(og.InputError, match="The model has variables 'theta', 'theta_dot'"):
        model.forecast(Dataset.from_arrays(angles, T, names=["phi"]))


def test_a_forced_oscillator():
    waves = np.random.default_rng(1).uniform(0.3, 2.5, (3, 5))
    times = 0.1 * np.arange(300)

    def runs(scale):
        for row in waves:

            def force(t, row=row):
                return scale * np.sin(np.multiply.outer(t, row)).sum(axis=-1)

            def right(t, z, force=force):
                return [z[1], -z[0] - 0.1 * z[1] - 0.5 * z[0] ** 3 + force(t)]

            yield run_of(right, [0.5, 0.0], times)[:, :1], force(times)[:, None]

    x, u = zip(*runs(0.5), strict=True)
    data = Dataset.from_positions(list(x), times, list(u), names=["x"], input_names=["u"])
    model = og.OrthoReg("poly(3)").fit(data)
    found = dict(zip(model.feature_names_, model.coefficients_[1], strict=True))
    used = {name: value for name, value in found.items() if value}
    assert used == pytest.approx({"x": -1, "x_dot": -0.1, "x**3": -0.5, "u": 1}, rel=5e-3)
    x, u = zip(*runs(0.7), strict=True)
    fresh = Dataset.from_positions(x[0], times, u[0], ["x"], ["u"])
    error = model.forecast(fresh)[0].x[:, 0] - x[0][:, 0]
    assert np.sqrt(np.mean(error**2)) < 5e-3 * x[0].std()


def test_coupled_oscillators_at_irregular_times_beside_a_measured_state(rng):
    def right(t, z):
        a, b, va, vb, heat = z
        return [va, vb, -2 * a + 0.5 * b - 0.1 * va, 0.5 * a - 1.5 * b, -0.2 * heat]

    starts = [[1, 0, 0, 0, 2], [0, 1, 0.5, 0, 1], [1, -1, 0, 1, 3]]
    times = [np.sort(rng.uniform(0, 0.04 * n, n)) for n in (400, 300, 500)]
    runs = [run_of(right, start, t) for start, t in zip(starts, times, strict=True)]
    data = Dataset.from_positions(
        [run[:, :2] for run in runs], times, names=["a", "b"],
        states=[run[:, 4:] for run in runs], state_names=["heat"],
    )  # fmt: skip
    model = og.OrthoReg(og.Polynomial(1)).fit(data)
    assert model.equations() == [
        "a'' = -2.000 a + 0.5000 b - 0.1000 a_dot",
        "b'' = 0.5000 a - 1.500 b",
        "heat' = -0.2000 heat",
    ]
    assert model.coefficients_[:2].sum() == 2.0


def test_a_measured_velocity_keeps_its_name(swings):
    _, truth = swings
    data = Dataset.from_positions(
        truth[: len(T), :1], T, names=["theta"], states=truth[: len(T), 1:],
        state_names=["omega"], velocity_of={"theta": "omega"},
    )  # fmt: skip
    model = og.OrthoReg("omega + sin(theta)").fit(data)
    assert model.equations() == ["theta' = omega", "omega' = -0.3000 omega - 9.810 sin(theta)"]
    assert model.to_latex()[0] == r"\dot{\theta} = \omega"


def test_tuning_keeps_what_is_given(swings):
    data, _ = swings
    model = og.OrthoReg(LIBRARY, og.Zero(), solver=og.Exact())
    tuned = og.tune(model, data, folds=3, orthogonalities=[1.0], sparsities=[1e-6, 1e-2, 1.0])
    assert held(tuned.model) == ({"theta_dot": 1.0}, False)
    assert tuned.path.best[1] == 1e-6  # a given term has no coefficient that could shrink
    assert tuned.path.errors[0, 0].mean() < 1e-3


def test_a_rollout_that_diverges_names_the_equation():
    t = 0.01 * np.arange(200)
    data = Dataset.from_positions(1 / (3 - t), t, names=["x"])  # x'' = 2 x^3
    model = og.OrthoReg("x**3", og.Zero()).fit(data)
    rollout = model.simulate([1.0, 1.0], np.linspace(0, 5, 50))
    assert "the term x**3 in x'' dominates there" in rollout.message


def test_a_library_by_equation_need_not_name_what_is_given(swings):
    data, _ = swings
    library = og.PerState({"theta_dot": og.Terms(["sin(theta)"])})
    model = og.OrthoReg(library, og.Zero()).fit(data)
    assert model.feature_names_ == ["sin(theta)", "theta_dot"]
    assert held(model)[0] == {"theta_dot": 1.0} and model.coefficients_[1, 1] == 0.0
