"""A predictive controller of do-mpc, with a model identified from noisy runs."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import orthoreg as og


def advance(x, torque, seconds, times=None):
    """Return the true states of a pendulum under a constant torque."""
    return solve_ivp(
        lambda t, x: [x[1], -np.sin(x[0]) - 0.2 * x[1] + torque], (0, seconds), x,
        t_eval=times, rtol=1e-8, atol=1e-10,
    ).y.T  # fmt: skip


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_do_mpc_brings_a_pendulum_to_its_set_point_with_a_model_of_noisy_runs():
    do_mpc = pytest.importorskip("do_mpc")
    rng, runs, torques = np.random.default_rng(0), [], []
    for start in ([1.0, 0.0], [-1.0, 0.5], [0.3, -1.0]):
        u = np.repeat(rng.uniform(-1, 1, 30), 8)
        x = [np.array(start)]
        for torque in u[:-1]:
            x.append(advance(x[-1], torque, 0.05)[-1])
        x = np.array(x)
        runs.append(x + 0.02 * x.std(axis=0) * rng.standard_normal(x.shape))
        torques.append(u[:, None])
    data = og.Dataset.from_arrays(runs, 0.05, torques, ["theta", "omega"], input_names=["u"])
    exported = og.OrthoReg().fit(data).to_casadi()
    plant = do_mpc.model.Model("continuous")
    x, u = plant.set_variable("_x", "x", (2, 1)), plant.set_variable("_u", "u")
    plant.set_rhs("x", exported.f(x, u))
    plant.setup()
    controller = do_mpc.controller.MPC(plant)
    controller.set_param(
        n_horizon=25, t_step=0.1, store_full_solution=False,
        nlpsol_opts={"ipopt.print_level": 0, "print_time": 0, "ipopt.sb": "yes"},
    )  # fmt: skip
    cost = (x[0] - 1.0) ** 2
    controller.set_objective(mterm=100 * cost + x[1] ** 2, lterm=10 * cost + x[1] ** 2)
    controller.set_rterm(u=0.01)
    controller.bounds["lower", "_u", "u"], controller.bounds["upper", "_u", "u"] = -2, 2
    controller.setup()
    state = np.zeros((2, 1))
    controller.x0 = state
    controller.set_initial_guess()
    for _ in range(60):
        torque = float(controller.make_step(state)[0, 0])
        state = advance(state.ravel(), torque, 0.1)[-1:].T
    assert abs(state[0, 0] - 1.0) < 0.01 and abs(state[1, 0]) < 0.01
