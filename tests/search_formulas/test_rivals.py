"""Candidates that rows cannot distinguish: trajectories show which sign jumps."""

import numpy as np
import pytest

import orthoreg as og
from orthoreg.losses import Weak
from orthoreg.search.formulas import measurements

STEP, FINE = 0.01, 20


def servo(seed: int) -> og.Dataset:
    """Return the position of x'' = 12 u - 6 v - 4 sign(v) with a controller."""
    rng = np.random.default_rng(seed)
    times = STEP / FINE * np.arange(1000 * FINE)
    rates, phases = 2 * np.pi * rng.uniform(0.1, 0.6, 4), rng.uniform(0, 2 * np.pi, 4)
    goals = 0.3 * np.sin(np.outer(times, rates) + phases) @ rng.uniform(0.5, 1.5, 4)
    x, v, step, found = 0.0, 0.0, STEP / FINE, []
    for k, goal in enumerate(goals.tolist()):
        u = 15 * (goal - x) - 0.8 * v
        if k % FINE == 0:
            found.append((x, u))
        free = v + step * (12 * u - 6 * v)
        new = np.sign(free) * max(abs(free) - 4 * step, 0.0)
        x, v = x + step * (v + new) / 2, new
    positions, inputs = np.array(found).T
    noisy = positions + 2e-4 * rng.standard_normal(len(positions))
    return og.Dataset.from_positions(noisy[:, None], times[::FINE], inputs[:, None], ["x"], ["u"])


@pytest.mark.slow
def test_the_sign_of_a_velocity_is_told_from_that_of_the_force():
    data = servo(1)
    found = og.OrthoReg("poly(1)", og.Zero()).fit(data).explain(data)
    assert found.proposals[0].formula == "sign(x_dot)"
    assert "sign(u)" not in {one.formula for one in found.proposals[0].alternatives}


@pytest.mark.slow
def test_the_sign_of_an_input_is_named_where_that_jumps():
    """Simulate x'' = -4 x - 0.8 x' + 2 sign(u), where u is a sum of sines that crosses zero between
    samples."""
    t = STEP / FINE * np.arange(1500 * FINE)
    u = np.sin(2.1 * t) + 0.8 * np.sin(3.7 * t + 1) + 0.6 * np.sin(0.9 * t + 2)
    x, v, found, step = 0.0, 0.0, [], STEP / FINE
    for jump in np.sign(u).tolist():
        found.append(x)
        new = v + step * (-4 * x - 0.8 * v + 2 * jump)
        x, v = x + step * (v + new) / 2, new
    noisy = np.array(found[::FINE]) + 2e-4 * np.random.default_rng(0).standard_normal(1500)
    data = og.Dataset.from_positions(noisy[:, None], t[::FINE], u[::FINE, None], ["x"], ["u"])
    explained = og.OrthoReg("poly(1)", og.Zero()).fit(data).explain(data)
    assert explained.proposals[0].formula == "sign(u)"


def test_a_sign_counts_on_both_sides_of_a_jump_within_a_step():
    """The mean of sign(u) over a period is that of the signal, not of its samples."""
    t = 0.1 * np.arange(400)
    u = np.sin(t) - 0.3
    data = og.Dataset.from_arrays(np.cos(t)[:, None], t, u[:, None], names=["x"])
    rows = measurements(Weak(), data)
    fine = 0.001 * np.arange(40_000)
    assert rows.sides is not None
    size = np.sign(rows.points[:, 1]) * rows.sides[:, 1]
    truth = np.sign(np.sin(fine) - 0.3)[:39_950].mean()
    assert abs(size.mean() - truth) < 0.2 * abs(np.sign(u).mean() - truth) + 2e-3


def pendulum() -> og.Dataset:
    from scipy.integrate import solve_ivp

    t = np.linspace(0, 8, 200)
    swing = solve_ivp(
        lambda t, y: [y[1], -9.81 * np.sin(y[0]) - 0.3 * y[1]], (0, 8), [2.0, 0.0], t_eval=t,
        rtol=1e-9, atol=1e-9,
    )  # fmt: skip
    return og.Dataset.from_arrays(swing.y.T, t, names=["theta", "omega"])


@pytest.mark.slow
def test_intervals_of_constants_are_numbers():
    data = pendulum()
    found = og.OrthoReg("poly(1)", og.Zero()).fit(data).explain(data)
    assert found.proposals
    for proposal in found.proposals:
        assert np.isfinite([(one.low, one.high) for one in proposal.constants]).all()


@pytest.mark.slow
def test_models_are_discovered_beside_an_equation_that_is_known():
    physics = og.Physics(equations={"theta": "omega"})
    found = og.discover(pendulum(), "poly(1)", physics=physics, tried=2)
    assert found.best.equations()[0] == "theta' = omega (given)"
    assert "sin(theta)" in found.best.equations()[1]
