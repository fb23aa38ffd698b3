"""Equations of third order: positions alone determine terms and constants."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import orthoreg as og

Field = Callable[[float, np.ndarray], float]


def positions_of(jerk: Field, start: list[float], t: np.ndarray) -> np.ndarray:
    """Return x(t) of x''' = jerk(t, (x, x', x''))."""
    solution = solve_ivp(
        lambda t, z: [z[1], z[2], jerk(t, z)], (t[0], t[-1]), start, t_eval=t,
        rtol=1e-10, atol=1e-12,
    )  # fmt: skip
    return solution.y[0]


def noisy(x: np.ndarray, noise: float, seed: int) -> np.ndarray:
    return x + noise * x.std() * np.random.default_rng(seed).standard_normal(len(x))


def force(t: np.ndarray | float) -> np.ndarray:
    return np.sin(0.7 * t) + 0.5 * np.sin(1.9 * t + 1) + 0.4 * np.sin(3.1 * np.asarray(t))


def terms_of(model: og.OrthoReg) -> dict[str, float]:
    """Return the coefficients of the equation of the highest derivative."""
    pairs = zip(model.feature_names_, model.coefficients_[-1], strict=True)
    return {name: float(value) for name, value in pairs if value}


def check(model: og.OrthoReg, truth: dict[str, float], tolerance: float) -> None:
    found = terms_of(model)
    assert set(found) == set(truth), model.equations()
    for name, value in truth.items():
        assert found[name] == pytest.approx(value, rel=tolerance)


SPROTT = {"x": -1.0, "x_ddot": -2.017, "x_dot**2": 1.0}


def sprott(t: float, z: np.ndarray) -> float:
    return -2.017 * z[2] + z[1] ** 2 - z[0]


@pytest.mark.parametrize(("noise", "tolerance"), [(0.0, 1e-3), (0.02, 5e-3)])
def test_a_chaotic_jerk_flow_from_its_position(noise, tolerance):
    t = np.arange(0, 80, 0.05)
    x = noisy(positions_of(sprott, [-0.9, 0.0, 0.5], t), noise, 0)
    data = og.Dataset.from_positions(x, t, names=["x"], order=3)
    model = og.OrthoReg("poly(2)").fit(data)
    check(model, SPROTT, tolerance)
    assert model.equations(2)[0].startswith("x''' = ")
    summary = model.summary(data)
    assert summary.verdict.code == "explained"
    assert "x_dot' = x_ddot are given" in str(summary)


def test_a_linear_system_with_an_input_forecasts_a_new_run():
    def jerk(t, z):
        return -1.2 * z[2] - 3 * z[1] - 2 * z[0] + 4 * force(t)

    t = np.arange(0, 40, 0.05)
    x = positions_of(jerk, [0.5, 0.0, 0.0], t)
    data = og.Dataset.from_positions(
        noisy(x, 0.01, 1), t, force(t), ["x"], ["u"], order=3, units={"x": "m", "t": "s"}
    )
    model = og.OrthoReg("poly(1)").fit(data)
    check(model, {"x": -2.0, "x_dot": -3.0, "x_ddot": -1.2, "u": 4.0}, 0.01)
    assert model.units_["x_ddot"] == "m/s²"
    later = t + 40
    start = [0.3, -0.2, 0.1]
    run = model.simulate(start, later, force(later)[:, None])
    np.testing.assert_allclose(run.x[:, 0], positions_of(jerk, start, later), atol=0.02)


def test_several_runs_with_irregular_times_and_a_file(tmp_path):
    rng, dense = np.random.default_rng(2), np.arange(0, 150, 0.05)
    z = solve_ivp(
        lambda t, z: [z[1], z[2], sprott(t, z)], (0, 150), [-0.9, 0, 0.5], t_eval=dense, rtol=1e-9
    ).y.T  # fmt: skip
    times = [np.sort(np.r_[0, rng.uniform(0, 30, 400)]) for _ in range(4)]
    runs = [
        noisy(positions_of(sprott, z[500 * (r + 1)].tolist(), t), 0.01, r)[:, None]
        for r, t in enumerate(times)
    ]
    data = og.Dataset.from_positions(runs, times, names=["x"], order=3)
    model = og.OrthoReg("poly(2)").fit(data)
    check(model, SPROTT, 5e-3)
    model.save(tmp_path / "m.orthoreg")
    loaded = og.load(tmp_path / "m.orthoreg")
    assert loaded.schema_.order == 3 and loaded.equations() == model.equations()
    measured = og.Dataset.from_arrays(runs, times, names=["x"])
    same = (m.forecast(d)[0].x for m, d in ((loaded, measured), (model, data)))
    np.testing.assert_array_equal(*same)


def test_known_equations_name_derivatives_by_primes():
    t = np.arange(0, 60, 0.05)
    x = noisy(positions_of(sprott, [-0.9, 0.0, 0.5], t), 0.01, 0)
    data = og.Dataset.from_positions(x, t, names=["x"], order=3)
    physics = og.Physics(equations={"x''": "-A*x'' + x'**2 - k*x"}, bounds={"A": (0, 5)})
    model = og.OrthoReg(physics=physics).fit(data)
    assert model.parameters_["A"] == pytest.approx(2.017, rel=2e-3)
    assert model.parameters_["k"] == pytest.approx(1.0, rel=2e-3)
    with pytest.raises(og.InputError, match="'x'', which is given already"):
        og.OrthoReg(physics=og.Physics(equations={"x'": "-x"})).fit(data)


def test_measured_velocities_give_the_acceleration():
    t = np.arange(0, 60, 0.05)
    z = solve_ivp(
        lambda t, z: [z[1], z[2], sprott(t, z)], (0, 60), [-0.9, 0, 0.5], t_eval=t,
        rtol=1e-10, atol=1e-12,
    ).y  # fmt: skip
    table = {"t": t, "x": noisy(z[0], 0.01, 0), "v": noisy(z[1], 0.01, 1)}
    data = og.read_table(table, time="t", positions={"x": "v"}, order=3)
    assert data.velocity_of == {"x": "v", "v": "v_dot"} and data.estimated == ("v_dot",)
    model = og.OrthoReg("poly(2)").fit(data)
    check(model, {"x": -1.0, "v_dot": -2.017, "v**2": 1.0}, 5e-3)
    assert model.equations(2) == ["x' = v", "v'' = -1.0 x - 2.0 v_dot + 1.0 v**2"]


def test_fourth_order_is_the_same_mechanism():
    t = np.arange(0, 30, 0.05)
    x = np.cos(t) + 0.5 * np.cos(2 * t)  # x'''' = -5 x'' - 4 x
    data = og.Dataset.from_positions(x, t, names=["x"], order=4)
    assert data.state_names == ("x", "x_dot", "x_ddot", "x_dddot")
    model = og.OrthoReg("poly(1)").fit(data)
    check(model, {"x": -4.0, "x_ddot": -5.0}, 1e-3)
    assert model.equations(3) == ["x'''' = -4.00 x - 5.00 x_ddot"]
    with pytest.raises(og.InputError, match="at least 4, the order of the equations; got 3"):
        og.OrthoReg("poly(1)", loss=og.Weak(order=3)).fit(data)
