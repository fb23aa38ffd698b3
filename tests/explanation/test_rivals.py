"""Candidates that rows cannot tell apart: which sign jumps is seen in trajectories."""

import numpy as np
import pytest

import orthoreg as og

STEP, FINE = 0.01, 20


def servo(seed: int, *, slides_by: str) -> og.Dataset:
    """Position under feedback, x'' = 12 u - 6 v - 4 sign(v), or - 4 sign(u) if it slides by u."""
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
        if slides_by == "v":
            new = np.sign(free) * max(abs(free) - 4 * step, 0.0)
        else:
            new = free - 4 * step * np.sign(u)
        x, v = x + step * (v + new) / 2, new
    positions, inputs = np.array(found).T
    noisy = positions + 2e-4 * rng.standard_normal(len(positions))
    return og.Dataset.from_positions(noisy[:, None], times[::FINE], inputs[:, None], ["x"], ["u"])


@pytest.mark.slow
@pytest.mark.parametrize("slides_by, name", [("v", "sign(x_dot)"), ("u", "sign(u)")])
def test_the_sign_that_jumps_is_named(slides_by, name):
    data = servo(1, slides_by=slides_by)
    found = og.OrthoReg("poly(1)", og.Zero()).fit(data).explain(data)
    assert found.proposals[0].formula == name
    rivals = {"sign(x_dot)", "sign(u)"} - {name}
    assert not rivals & {one.formula for one in found.proposals[0].alternatives}


def pendulum() -> og.Dataset:
    from scipy.integrate import solve_ivp

    t = np.linspace(0, 8, 200)
    swing = solve_ivp(
        lambda t, y: [y[1], -9.81 * np.sin(y[0]) - 0.3 * y[1]], (0, 8), [2.0, 0.0], t_eval=t,
        rtol=1e-9, atol=1e-9,
    )  # fmt: skip
    return og.Dataset.from_arrays(swing.y.T, t, names=["theta", "omega"])


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
