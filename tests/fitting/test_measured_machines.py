"""Default fits of machines with measured positions and force. The tests are smaller than `python -m
benchmarks measurements`, which records the accuracy."""

import numpy as np
import pytest

import orthoreg as og

pytestmark = pytest.mark.slow


def learned(model):
    row = zip(model.feature_names_, model.coefficients_[1], strict=True)
    return {term: float(value) for term, value in row if value}


def forced_oscillator(times, seed):
    """Return x'' = -x - 0.15 x' - 0.4 x^3 + 1.3 u by Runge-Kutta steps, and u."""
    rng = np.random.default_rng(seed)
    rates, phases = rng.uniform(0.3, 1.2, 8), rng.uniform(0, 2 * np.pi, 8)

    def force(t):
        return 0.5 * np.sin(np.outer(t, rates) + phases).sum(axis=1)

    fine = 20
    h = (times[1] - times[0]) / fine
    u = force(h / 2 * np.arange(2 * fine * (len(times) - 1) + 1))

    def slope(z, push):
        return np.array([z[1], -z[0] - 0.15 * z[1] - 0.4 * z[0] ** 3 + 1.3 * push])

    z = np.array([0.3, 0.0])
    path = [z]
    for k in range(fine * (len(times) - 1)):
        a = slope(z, u[2 * k])
        b = slope(z + h / 2 * a, u[2 * k + 1])
        c = slope(z + h / 2 * b, u[2 * k + 1])
        d = slope(z + h * c, u[2 * k + 2])
        z = z + h / 6 * (a + 2 * b + 2 * c + d)
        if (k + 1) % fine == 0:
            path.append(z)
    return np.array(path)[:, 0], force(times)


def test_forced_cubic_oscillator():
    times = 2 * np.pi / 1.2 / 10 * np.arange(600)  # ten samples per period of the fastest component
    position, force = forced_oscillator(times, 0)
    noisy = position + 0.02 * position.std() * np.random.default_rng(1).standard_normal(600)
    data = og.Dataset.from_positions(noisy[:, None], times, force[:, None], ["x"], ["u"])
    model = og.OrthoReg("poly(3)").fit(data)
    truth = {"x": -1.0, "x_dot": -0.15, "x**3": -0.4, "u": 1.3}
    found = learned(model)
    assert found.keys() == truth.keys()
    for term, value in truth.items():
        assert abs(found[term] / value - 1) < 0.03
    interval = og.bootstrap(model, resamples=20).interval[1]
    for term, value in truth.items():
        low, high = interval[model.feature_names_.index(term)]
        assert low - 0.01 < value < high + 0.01


def stage(rows, seed):
    """Return position and force of 2 kg x'' = F - 8 x' - 3 sign(x') - 0.4 N with a controller, at 1
    kHz. Implicit steps of v reduce |v| by the dry friction."""
    rng = np.random.default_rng(seed)
    fine, mass, viscous, dry, offset = 10, 2.0, 8.0, 3.0, 0.4
    step = 1e-3 / fine
    times = step * np.arange(rows * fine)
    rates, phases = 2 * np.pi * rng.uniform(0.3, 1.5, 5), rng.uniform(0, 2 * np.pi, 5)
    rise = np.clip(times / 0.5, 0, 1) ** 2
    goals = 0.006 * rise * np.sin(np.outer(times, rates) + phases).sum(axis=1)
    speeds = np.gradient(goals, step)
    x, v, positions, forces = float(goals[0]), 0.0, [], []
    for k, (goal, speed) in enumerate(zip(goals.tolist(), speeds.tolist(), strict=True)):
        force = 2000 * (goal - x) + 80 * (speed - v)
        if k % fine == 0:
            positions.append(x)
            forces.append(force)
        free = v + step / mass * (force - offset)
        size = max(abs(free) - step / mass * dry, 0.0)
        new = np.sign(free) * size / (1 + step * viscous / mass)
        x += step * (v + new) / 2
        v = float(new)
    return np.array(positions), np.array(forces)


def test_stage_with_dry_friction_behind_an_encoder():
    position, force = stage(8000, 0)
    encoder = 1e-6 * np.round(position / 1e-6)
    times = 1e-3 * np.arange(len(encoder))
    data = og.Dataset.from_positions(encoder[:, None], times, force[:, None], ["x"], ["F"])
    found = learned(og.OrthoReg("poly(1) + sign(x_dot)").fit(data))
    assert found.keys() == {"1", "x_dot", "sign(x_dot)", "F"}
    mass = 1 / found["F"]
    assert abs(mass / 2 - 1) < 0.03
    assert abs(-found["x_dot"] * mass / 8 - 1) < 0.05
    assert abs(-found["sign(x_dot)"] * mass / 3 - 1) < 0.03
    assert abs(-found["1"] * mass / 0.4 - 1) < 0.1
