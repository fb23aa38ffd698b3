"""Trajectories decide how inputs are interpolated if their values do not show it."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import orthoreg as og

STEP = 0.05
TIMES = STEP * np.arange(300)


def oscillator(x, u):
    return [x[1], -2 * x[0] - 0.3 * x[1] + u]


def controlled(seed):
    """States and inputs of a digital controller: each row has a new value, held until
    the next row."""
    draw = np.random.default_rng(seed)
    targets = np.repeat(draw.uniform(-1, 1, 8), 40)
    x, states, inputs = draw.uniform(-1, 1, 2), [], []
    for k, time in enumerate(TIMES):
        u = 6 * (targets[k] - x[0]) - x[1] + 0.3 * np.sin(7 * time)
        states.append(x)
        inputs.append([u])
        x = solve_ivp(lambda _, y, u=u: oscillator(y, u), (0, STEP), x, rtol=1e-9).y[:, -1]
    return np.array(states), np.array(inputs)


def driven(seed, period):
    """States and inputs for a sine with this many rows per period."""
    draw = np.random.default_rng(seed)
    rate, phase = 2 * np.pi / (period * STEP), draw.uniform(0, 6)
    states = solve_ivp(
        lambda t, x: oscillator(x, np.sin(rate * t + phase)), (0, TIMES[-1]),
        draw.uniform(-1, 1, 2), t_eval=TIMES, rtol=1e-9, atol=1e-10, max_step=STEP,
    ).y.T  # fmt: skip
    return states, np.sin(rate * TIMES + phase)[:, None]


def dataset(runs, noise=0.0, *, positions=False):
    draw = np.random.default_rng(1)
    states = [x + noise * x.std(axis=0) * draw.standard_normal(x.shape) for x, _ in runs]
    inputs = [u for _, u in runs]
    if positions:
        return og.Dataset.from_positions(
            [x[:, :1] for x in states], TIMES, inputs, names=["x"], input_names=["u"]
        )
    return og.Dataset.from_arrays(states, TIMES, inputs, names=["x", "x_dot"], input_names=["u"])


@pytest.fixture(scope="module")
def held_runs():
    return [controlled(seed) for seed in range(3)]


@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("positions", [False, True])
def test_an_input_that_a_controller_writes_in_each_row_is_held(held_runs, noise, positions):
    data = dataset(held_runs, noise, positions=positions)
    model = og.OrthoReg("x + x_dot + u").fit(data)
    assert model.input_interpolation_ == {"u": "hold"}
    np.testing.assert_allclose(model.coefficients_[1], [-2, -0.3, 1], rtol=1e-4 + 2 * noise)
    assert not np.any(model.field_.weights)
    summary = model.summary(data)
    assert all(one.status == "explained" for one in summary.scores.equations)
    assert any(note.startswith("u is treated as held between rows") for note in summary.notes)


@pytest.mark.parametrize("library", ["x + x_dot + u", "x + u"])
@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("period", [9, 30])
def test_a_smooth_input_stays_smooth_whatever_the_library_lacks(library, noise, period):
    data = dataset([driven(seed, period) for seed in range(3)], noise)
    model = og.OrthoReg(library).fit(data)
    assert model.input_interpolation_ == {"u": "cubic"}
    assert not any("treated as held" in note for note in model.summary(data).notes)


def test_a_smooth_input_beside_a_held_one_stays_smooth(held_runs):
    draw, runs = np.random.default_rng(5), []
    for seed in range(3):
        (_, held), x, states = held_runs[seed], draw.uniform(-1, 1, 2), []
        for k, time in enumerate(TIMES):
            states.append(x)
            x = solve_ivp(
                lambda t, y, u=held[k, 0]: oscillator(y, u + 2 * np.sin(1.7 * t)),
                (time, time + STEP), x, rtol=1e-9,
            ).y[:, -1]  # fmt: skip
        runs.append((np.array(states), np.column_stack([held, np.sin(1.7 * TIMES)])))
    data = og.Dataset.from_arrays(
        [x for x, _ in runs], TIMES, [u for _, u in runs], names=["x", "v"], input_names=["u", "d"]
    )
    model = og.OrthoReg("x + v + u + d").fit(data)
    assert model.input_interpolation_ == {"u": "hold", "d": "cubic"}
    np.testing.assert_allclose(model.coefficients_[1], [-2, -0.3, 1, 2], rtol=1e-3)
