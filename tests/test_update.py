"""Updates without the old data equal one fit to all data, and alarms occur only if
constants drift."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg import InputError

LIBRARY = "x0 + x1 + x0**3"


def rows(seed, count=200, stiffness=1.0, noise=0.1):
    rng = np.random.default_rng(seed)
    z = rng.uniform(-2, 2, (count, 2))
    y = np.column_stack([z[:, 1], -stiffness * z[:, 0] - 0.3 * z[:, 1] - 0.5 * z[:, 0] ** 3])
    return z, y + noise * rng.standard_normal(y.shape)


def swings(seed, stiffness=1.0, count=200, noise=0.02):
    """Return a noisy run of a damped pendulum."""
    rng = np.random.default_rng(seed)
    t = 0.05 * np.arange(count)
    x = solve_ivp(
        lambda t, x: [x[1], -stiffness * np.sin(x[0]) - 0.2 * x[1]], (0, t[-1]),
        rng.uniform([1.0, -1.0], [2.0, 1.0]), t_eval=t, rtol=1e-9, atol=1e-10,
    ).y.T  # fmt: skip
    x = x + noise * x.std(axis=0) * rng.standard_normal(x.shape)
    return og.Dataset.from_arrays(x, t, names=["theta", "omega"])


def swinging(data):
    physics = og.Physics(equations={"theta": "omega", "omega": "-g*sin(theta) - c*omega"})
    return og.OrthoReg(physics=physics).fit(data)


def test_ten_updates_equal_one_fit_of_all_rows():
    parts = [rows(seed) for seed in range(10)]
    model = og.OrthoReg(LIBRARY, og.Zero(), selection=None, sparsity=0.0).fit(*parts[0])
    for part in parts[1:]:
        model = model.update(*part)
    whole = og.OrthoReg(LIBRARY, og.Zero(), selection=None, sparsity=0.0).fit(
        *map(np.concatenate, zip(*parts, strict=True))
    )
    assert_allclose(model.coefficients_, whole.coefficients_, rtol=1e-8, atol=1e-8)
    assert model.fit_.updates == 9 and model.fit_.record.count == 2000


def test_updates_of_a_hybrid_do_not_depend_on_the_batches():
    parts = [rows(seed) for seed in range(4)]
    first = og.OrthoReg("x0 + x1", og.RandomFeatures(40), selection=None, sparsity=0.0)
    first.fit(*parts[0])
    assert first.field_.has_residual
    batched = first
    for part in parts[1:]:
        batched = batched.update(*part)
    together = first.update(*map(np.concatenate, zip(*parts[1:], strict=True)))
    assert_allclose(batched.coefficients_, together.coefficients_, rtol=1e-9)
    assert_allclose(batched.decompose(parts[0][0])[1], first.decompose(parts[0][0])[1])


def test_clean_runs_are_updated_as_one_fit():
    t = np.linspace(0, 5, 200)
    runs = []
    for start in ([1.0, 0.0], [0.0, 1.5], [-1.0, 1.0]):
        runs.append(solve_ivp(lambda t, x: [x[1], -x[0] - 0.3 * x[1] - 0.5 * x[0] ** 3], (0, 5),
                              start, t_eval=t, rtol=1e-10, atol=1e-12).y.T)  # fmt: skip
    recipe = {"augmentation": og.Zero(), "selection": None, "sparsity": 0.0}
    model = og.OrthoReg(LIBRARY, loss=og.VectorField(), **recipe).fit(runs[0], t=t)
    for run in runs[1:]:
        model = model.update(run, t=t)
    whole = og.OrthoReg(LIBRARY, loss=og.VectorField(), **recipe).fit(runs, t=t)
    assert_allclose(model.coefficients_, whole.coefficients_, rtol=1e-8, atol=1e-8)


def test_relations_and_bounds_hold_after_an_update():
    physics = og.Physics(
        relations=["coef(x0, x1) = -coef(x1, x0)"], bounds={("x1", "x1"): (None, -0.5)}
    )
    recipe = {"augmentation": og.Zero(), "physics": physics, "selection": None, "sparsity": 0.0}
    model = og.OrthoReg(LIBRARY, **recipe).fit(*rows(0))
    model = model.update(*rows(1))
    w, names = model.coefficients_, model.feature_names_
    assert w[0, names.index("x1")] == pytest.approx(-w[1, names.index("x0")], abs=1e-10)
    assert w[1, names.index("x1")] <= -0.5 + 1e-9


def test_forgetting_weights_rows_by_their_age():
    model = og.OrthoReg("x0 + x1 + x0**3", og.Zero(), selection=None, sparsity=0.0)
    old, new = rows(0, stiffness=1.0), rows(1, stiffness=2.0)
    updated = model.fit(*old).update(*new, forgetting=0.99)
    weights = np.concatenate([np.full(200, np.sqrt(0.99**200)), np.ones(200)])[:, None]
    z, y = (np.concatenate(pair) for pair in zip(old, new, strict=True))
    theta = model.field_.features(z)
    wanted = np.linalg.lstsq(weights * theta, weights * y, rcond=None)[0].T
    assert_allclose(updated.coefficients_, wanted, rtol=1e-8, atol=1e-9)
    with pytest.raises(InputError, match="forgetting must be a number above 0 and at most 1"):
        model.update(*new, forgetting=1.5)


def test_drift_of_rows_is_detected_and_named():
    model = og.OrthoReg(LIBRARY, og.Zero()).fit(*rows(0))
    drift = model.update(*rows(1, stiffness=1.2)).drift_
    assert drift.detected and drift.p_value < 1e-3
    assert drift.changes[0].name == "x1': x0"
    assert drift.changes[0].after == pytest.approx(-1.2, abs=0.1)
    assert "The 200 new rows no longer follow the old constants" in drift.text
    assert "x1': x0 from -" in str(drift)


def test_rows_without_drift_raise_no_alarm():
    """40 models with 5 updates each. The significance level of a model is 1%."""
    alarms = 0
    for seed in range(40):
        model = og.OrthoReg(LIBRARY, og.Zero(), selection=None, sparsity=0.0)
        model = model.fit(*rows(100 * seed))
        for batch in range(1, 6):
            model = model.update(*rows(100 * seed + batch, 100))
            alarms += model.drift_.detected
    assert alarms <= 2  # 0.4 expected


def test_noisy_runs_update_the_matched_constants():
    first = swings(0)
    model = swinging(first)
    assert model.refinement_ is not None and model.refinement_.kept
    errors = [abs(model.parameters_["g"] - 1.0)]
    widths = [np.ptp(model.parameter_intervals_["g"])]
    for seed in range(1, 6):
        model = model.update(swings(seed))
        errors.append(abs(model.parameters_["g"] - 1.0))
        widths.append(np.ptp(model.parameter_intervals_["g"]))
    assert widths[-1] < 0.6 * widths[0]  # 1 / sqrt(6) = 0.41
    low, high = model.parameter_intervals_["g"]
    assert low - 0.2 * (high - low) < 1.0 < high + 0.2 * (high - low)
    whole = swinging([swings(seed) for seed in range(6)])
    assert abs(model.parameters_["g"] - whole.parameters_["g"]) < 0.5 * widths[-1]


def test_a_drift_by_a_fifth_is_detected_within_200_rows():
    model = swinging(swings(0))
    drift = model.update(swings(7, stiffness=1.2)).drift
    assert drift.detected and drift.changes[0].name == "g"
    assert drift.changes[0].after == pytest.approx(1.2, abs=0.05)


@pytest.mark.slow
def test_trajectories_without_drift_raise_no_alarm_in_20_seeds():
    alarms, missed = 0, 0
    for seed in range(20):
        model = swinging(swings(1000 + seed))
        alarms += model.update(swings(2000 + seed)).drift_.detected
        missed += not model.update(swings(3000 + seed, stiffness=1.2)).drift_.detected
    assert (alarms, missed) == (0, 0)


def test_a_loaded_model_is_updated_alike(tmp_path):
    for model, new in [
        (og.OrthoReg(LIBRARY, og.Zero()).fit(*rows(0)), rows(1)),
        (swinging(swings(0)), (swings(1),)),
    ]:
        model.save(tmp_path / "model.orthoreg")
        loaded = og.load(tmp_path / "model.orthoreg")
        found, wanted = loaded.update(*new), model.update(*new)
        assert_allclose(found.coefficients_, wanted.coefficients_, rtol=1e-9, atol=1e-12)
        assert found.drift_.p_value == pytest.approx(wanted.drift_.p_value, rel=1e-6)


def test_what_cannot_be_updated_is_refused():
    model = og.OrthoReg(LIBRARY, og.Zero()).fit(*rows(0))
    with pytest.raises(InputError, match="matches trajectories and needs times|instead of deriv"):
        swinging(swings(0)).update(*rows(1))
    with pytest.raises(InputError, match="sums over the old rows"):
        model.adapt(*rows(1)).update(*rows(2))


def test_models_with_hidden_states_and_of_some_targets_are_updated():
    t = np.arange(0, 30, 0.2)
    equations = {"prey": "a*prey - 0.4*prey*hunters", "hunters": "c*prey*hunters - d*hunters"}

    def hunted(seed):
        rng = np.random.default_rng(seed)
        x = solve_ivp(
            lambda t, x: [1.1 * x[0] - 0.4 * x[0] * x[1], 0.1 * x[0] * x[1] - 0.4 * x[1]],
            (0, t[-1]), rng.uniform([8.0, 3.0], [11.0, 6.0]), t_eval=t, rtol=1e-8,
        ).y.T[:, :1]  # fmt: skip
        x = x + 0.1 * rng.standard_normal(x.shape)
        return og.Dataset.from_arrays(x, t, names=["prey"], hidden=["hunters"])

    model = og.OrthoReg(physics=og.Physics(equations=equations)).fit(hunted(0))
    updated = model.update(hunted(1))
    assert not updated.drift_.detected
    for name, value in {"a": 1.1, "c": 0.1, "d": 0.4}.items():
        assert np.ptp(updated.parameter_intervals_[name]) < np.ptp(model.parameter_intervals_[name])
        assert updated.parameters_[name] == pytest.approx(value, rel=0.05)
    z, y = rows(0)
    half = og.OrthoReg(LIBRARY, og.Zero()).fit(z, y[:, 1:])
    z, y = rows(1)
    assert not half.update(z, y[:, 1:]).drift_.detected


def test_a_loaded_model_with_inputs_is_updated(tmp_path):
    t, rng = np.linspace(0, 8, 161), np.random.default_rng(0)

    def forced(frequency):
        u = np.sin(frequency * t)
        x = solve_ivp(lambda s, x: [np.interp(s, t, u) - x[0]], (0, 8), [1.0], t_eval=t, rtol=1e-8)
        noisy = x.y.T + 0.01 * rng.standard_normal((161, 1))
        return og.Dataset.from_arrays(noisy, t, u=u[:, None], names=["x"], input_names=["u"])

    model = og.OrthoReg("poly(1)", og.Zero()).fit(forced(1.0))
    model.save(tmp_path / "m.orthoreg")
    new = forced(2.0)
    loaded = og.load(tmp_path / "m.orthoreg").update(new)
    assert_allclose(loaded.coefficients_, model.update(new).coefficients_, rtol=1e-9, atol=1e-12)
    assert not loaded.drift_.detected
