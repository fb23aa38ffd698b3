"""Observers equal a Kalman filter for linear models, and estimate hidden states accurately."""

from dataclasses import replace

import numpy as np
import pytest
from controlled_systems import simulated
from numpy.testing import assert_allclose
from scipy.linalg import expm

import orthoreg as og
from orthoreg import InputError
from orthoreg.control import jacobian

T = np.arange(0, 30, 0.1)


def oscillator(noise=0.1, seed=0):
    """Return a linear model with an input, and noisy runs of positions."""
    rng = np.random.default_rng(seed)
    z = rng.uniform(-2, 2, (200, 3))
    y = np.column_stack([z[:, 1], -4 * z[:, 0] - 0.3 * z[:, 1] + z[:, 2]])
    model = og.OrthoReg("poly(1)", og.Zero()).fit(z[:, :2], y, u=z[:, 2:])
    return model, rng


def test_a_linear_model_gives_the_textbook_filter():
    model, rng = oscillator()
    A = jacobian(model.field_, np.zeros((1, 3)))[0]
    y = rng.standard_normal((40, 2))
    y[5, 1] = y[9] = np.nan  # not measured
    u, dt, q, r = 0.7, 0.13, np.array([0.2, 0.5]), np.array([0.3, 0.4])
    observer = model.observer(noise=r, disturbance=q)
    x, P = observer.x.copy(), observer.P.copy()
    # Van Loan: the covariance of the disturbance over a step
    block = np.zeros((4, 4))
    block[:2, :2], block[:2, 2:], block[2:, 2:] = -A[:, :2], np.diag(q**2), A[:, :2].T
    big = expm(block * dt)
    Phi = big[2:, 2:].T
    Q = Phi @ big[:2, 2:]
    push = expm(np.block([[A], [np.zeros((1, 3))]]) * dt)[:2, 2]
    for k in range(40):
        if k:
            x, P = Phi @ x + push * u, Phi @ P @ Phi.T + Q
        seen = np.isfinite(y[k])
        H, R = np.eye(2)[seen], np.diag(r[seen] ** 2)
        K = P @ H.T @ np.linalg.inv(H @ P @ H.T + R)
        x, P = x + K @ (y[k][seen] - H @ x), (np.eye(2) - K @ H) @ P
        found = observer.update(y[k], [u], dt if k else 0.0)
        assert_allclose(found, x, atol=1e-5)
        assert_allclose(observer.P, P, atol=1e-5)


PREY = {"prey": "a*prey - 0.4*prey*hunters", "hunters": "c*prey*hunters - d*hunters"}


def hunted(t, x):
    return np.array([1.1 * x[0] - 0.4 * x[0] * x[1], 0.1 * x[0] * x[1] - 0.4 * x[1]])


def disturbed(start, times, size, rng):
    """Return a run of prey and hunters with random changes, by the Euler-Maruyama method."""
    rows, x, substeps = [np.array(start)], np.array(start), 40
    h = (times[1] - times[0]) / substeps
    for _ in range(len(times) - 1):
        for _ in range(substeps):
            x = x + h * hunted(0.0, x) + size * np.sqrt(h) * rng.standard_normal(2)
        rows.append(x)
    return np.array(rows)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_hidden_state_is_filtered_as_with_the_true_model(seed):
    """The model was fitted to one run of prey; random changes disturb the new runs."""
    t, rng = np.arange(0, 40, 0.2), np.random.default_rng(seed)
    (run,) = simulated(hunted, [(10.0, 5.0)], t)
    prey = run[:, :1] + 0.03 * run[:, :1].std() * rng.standard_normal((len(t), 1))
    data = og.Dataset.from_arrays(prey, t, names=["prey"], hidden=["hunters"])
    model = og.OrthoReg(physics=og.Physics(equations=PREY)).fit(data)
    numbers = {"a": 1.1, "c": 0.1, "d": 0.4}
    exact = og.OrthoReg(physics=og.Physics(equations=PREY, values=numbers)).fit(
        og.Dataset.from_arrays(run, t, names=["prey", "hunters"])
    )
    runs = [disturbed(start, t, 0.08, rng) for start in [(6.0, 3.0), (8.0, 4.0), (4.0, 2.0)]]
    y = [x[:, :1] + 0.1 * rng.standard_normal((len(t), 1)) for x in runs]
    new = og.Dataset.from_arrays(y, t, names=["prey"])
    observer = model.observer(new[[0]], noise=[0.1])
    assert (observer.kalman.disturbance > 0).all()
    ideal = replace(observer.kalman, field=exact.field_, disturbance=np.full(2, 0.08**2))
    errors = {"fitted": [], "true": []}
    for x, measured in zip(runs[1:], y[1:], strict=True):
        for name, kalman in (("fitted", observer.kalman), ("true", ideal)):
            states = kalman.run(t, measured, None)[0]
            errors[name].append(np.mean((states[25:, 1] - x[25:, 1]) ** 2))
    ratio = np.sqrt(np.sum(errors["fitted"]) / np.sum(errors["true"]))
    assert ratio < 1.2
    assert np.sqrt(np.mean(errors["true"])) < 0.2 * run[:, 1].std()


def test_intervals_cover_the_true_velocity_and_innovations_are_white():
    equations = {"x": "v", "v": "-4*x - 0.3*v"}
    (run,) = simulated(lambda t, x: [x[1], -4 * x[0] - 0.3 * x[1]], [(1.0, 0.0)], T)
    data = og.Dataset.from_arrays(run, T, names=["x", "v"])
    model = og.OrthoReg(physics=og.Physics(equations=equations)).fit(data)
    kalman = model.observer(noise=[0.1, 0.1]).kalman
    hits, innovations = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = run[:, 0] + 0.1 * rng.standard_normal(len(T))
        y = np.column_stack([x, np.full(len(T), np.nan)])
        means, stds, innovation, _ = kalman.run(T, y, None)
        hits.append(np.mean(np.abs(means[:, 1] - run[:, 1]) < 1.96 * stds[:, 1]))
        innovations.append(innovation[:, 0])
    assert 0.85 < np.mean(hits) < 1.0
    values = np.concatenate(innovations)
    assert abs(values.std() - 1) < 0.04
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 0.06


def test_a_disturbance_is_chosen_where_the_equations_are_not_exact():
    """An unknown force pushes the oscillator."""
    model, rng = oscillator()
    step, states = 0.05, [np.array([1.0, 0.0])]
    push = 0.0
    for _ in range(600):
        push = 0.98 * push + 0.3 * rng.standard_normal()
        x, v = states[-1]
        v = v + step * (-4 * x - 0.3 * v + push)
        states.append(np.array([x + step * v, v]))
    truth = np.array(states)
    y = truth + 0.05 * rng.standard_normal(truth.shape)
    t = step * np.arange(len(y))
    data = og.Dataset.from_arrays(y, t, u=np.zeros((len(y), 1)), names=["x0", "x1"],
                                  input_names=["u0"])  # fmt: skip
    tuned, stiff = model.observer(data, noise=[0.05] * 2), model.observer(noise=[0.05] * 2)
    assert (tuned.kalman.disturbance > 0).all() and not stiff.kalman.disturbance.any()
    errors = [np.abs(one.filter(data).states - truth).mean() for one in (tuned, stiff)]
    assert errors[0] < 0.05 < errors[1]


def test_updates_row_by_row_equal_the_filter_of_a_run():
    model, rng = oscillator()
    t = 0.1 * np.arange(60)
    u = np.interp(t, [0, 2, 3, 6], [0, 1, -1, 0.5])[:, None]
    y = rng.standard_normal((60, 2))
    data = og.Dataset.from_arrays(y, t, u=u, names=["x0", "x1"], input_names=["u0"])
    for kind in ("linear", "hold"):
        model.fit_ = replace(
            model.fit_, columns=replace(model.fit_.columns, interpolation={"u0": kind})
        )
        observer = model.observer(noise=[0.3, 0.3], disturbance=[0.1, 0.1])
        whole = observer.filter(data)
        rows = [observer.update(y[k], u[k], 0.1 * (k > 0)) for k in range(60)]
        assert_allclose(rows, whole.states, atol=1e-10)
        assert_allclose(observer.std, whole.std[-1], atol=1e-10)


def test_the_filter_of_a_map_makes_its_steps():
    rng = np.random.default_rng(0)
    x = [np.array([1.0, 0.0])]
    for _ in range(300):
        x.append(np.array([[0.9, 0.3], [-0.3, 0.9]]) @ x[-1] / np.hypot(0.9, 0.3))
    x = np.array(x)
    data = og.Dataset.from_arrays(x, names=["a", "b"], discrete=True)
    model = og.OrthoReg("poly(1)", og.Zero()).fit(data)
    observer = model.observer(noise=[0.2, 0.2])
    for k, row in enumerate(x + 0.2 * rng.standard_normal(x.shape)):
        observer.update(row, dt=float(k > 0))
    assert_allclose(observer.x, x[-1], atol=0.06)
    with pytest.raises(InputError, match="0 or the step of the map, 1; got 0.5"):
        observer.update(x[0], dt=0.5)


def test_wrong_arguments_are_refused_in_the_names_of_the_model():
    model, _ = oscillator()
    with pytest.raises(InputError, match="needs the noise of 'x0', 'x1': give noise"):
        model.observer()
    with pytest.raises(InputError, match="noise must contain standard deviations"):
        model.observer(noise=[-1, 1])
    with pytest.raises(InputError, match="noise has a value for 'y'"):
        model.observer(noise={"y": 1.0})
    observer = model.observer(noise=[0.1, 0.1])
    with pytest.raises(InputError, match="y must be one number for each measured state"):
        observer.update([1.0], [0.0])
    with pytest.raises(InputError, match="u must be one finite number for each of 'u0'"):
        observer.update([1.0, 2.0], dt=0.1)
    with pytest.raises(InputError, match="dt must be the time since the last update"):
        observer.update([1.0, 2.0], [0.0], dt=-0.1)
    with pytest.raises(InputError, match="The data need the columns 'x1', 'u0'"):
        observer.filter(
            og.Dataset.from_arrays(np.arange(5.0)[:, None], np.arange(5.0), names=["x0"])
        )
