# %% [markdown]
# # Swinging up a pendulum
#
# A motor pushes a cart with a pendulum. The constants of the equations are estimated from runs with
# 2% noise. CasADi then uses the fitted model to plan how to swing the pendulum up, and a linear
# controller from `model.linearize` follows the plan. The plan and the controller are tested on the
# true system. The example needs the extra `casadi`.

# %%
import casadi
import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import solve_continuous_are

import orthoreg as og

MASS, ARM, DRAG, INERTIA, WEIGHT, FRICTION = 1.5, 0.15, 0.3, 0.075, 1.47, 0.01
NAMES, MAX_FORCE, STEP = ["x", "a", "v", "w"], 8.0, 0.05


def true_rate(z, force):
    """The rates of position x, angle a (0 is hanging down), and their velocities."""
    _, a, v, w = z
    mass = np.array([[MASS, ARM * np.cos(a)], [ARM * np.cos(a), INERTIA]])
    right = [force + ARM * w**2 * np.sin(a) - DRAG * v, -WEIGHT * np.sin(a) - FRICTION * w]
    return [v, w, *np.linalg.solve(mass, right)]


def advance(z, force, seconds=STEP):
    """Return the true state after a time with constant force."""
    moved = solve_ivp(lambda t, z: true_rate(z, force), (0, seconds), z, rtol=1e-8, atol=1e-8)
    return moved.y[:, -1]


# %% [markdown]
# Four runs with random forces, held for 0.4 s each:

# %%
rng = np.random.default_rng(0)
times, runs, forces = np.arange(0, 8, STEP), [], []
for start in ([0, 0.5, 0, 0], [0, -1.5, 0, 0], [0.5, 2.5, 0, 0], [-0.5, 0, 0.5, -2]):
    force = np.repeat(rng.uniform(-4, 4, len(times) // 8), 8)
    z = [np.array(start, dtype=float)]
    for push in force[:-1]:
        z.append(advance(z[-1], push))
    z = np.array(z)
    runs.append(z + 0.02 * z.std(axis=0) * rng.standard_normal(z.shape))
    forces.append(force[:, None])
data = og.Dataset.from_arrays(runs, times, u=forces, names=NAMES, input_names=["u"])
physics = og.Physics(
    equations=[
        "x' = v",
        "a' = w",
        "M*v' + q*cos(a)*w' = u + q*w^2*sin(a) - b*v",
        "J*w' + q*cos(a)*v' = -G*sin(a) - c*w",
    ]
)
model = og.OrthoReg(augmentation=og.Zero(), physics=physics).fit(data)
print("\n".join(model.equations()))

# %% [markdown]
# The plan moves the pendulum from hanging to upright in 3 s with little force. The force is limited
# to |u| <= 8, and the position of the cart to |x| <= 1.5.

# %%
model_step = model.to_casadi().integrator(STEP)
N = 60
plan = casadi.Opti()
Z, U = plan.variable(4, N + 1), plan.variable(1, N)
plan.minimize(casadi.sumsqr(U) + 1e-2 * casadi.sumsqr(Z[2:, :]))
for k in range(N):
    plan.subject_to(Z[:, k + 1] == model_step(Z[:, k], U[:, k]))
plan.subject_to(plan.bounded(-MAX_FORCE, U, MAX_FORCE))
plan.subject_to(plan.bounded(-1.5, Z[0, :], 1.5))
plan.subject_to(Z[:, 0] == np.zeros(4))
plan.subject_to(Z[:, N] == [0, np.pi, 0, 0])
plan.set_initial(Z[1, :], np.linspace(0, np.pi, N + 1))
plan.set_initial(U, 2 * np.sin(np.linspace(0, 4 * np.pi, N)))
plan.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes"})
solution = plan.solve()
planned, pushes = np.transpose(solution.value(Z)), np.ravel(solution.value(U))

# %% [markdown]
# On the true system, linear feedback corrects deviations from the plan. At each row, the gain
# is computed from the linear model at the planned state.

# %%


def gain(z, u):
    """Return the gain of the optimal linear controller of the linear model near z and u."""
    A, B, _, _ = model.linearize(z, [u])
    cost = np.diag([1.0, 10.0, 1.0, 1.0])
    return B.T @ solve_continuous_are(A, B, cost, np.eye(1))


z, path = np.zeros(4), [np.zeros(4)]
upright = np.array([0, np.pi, 0, 0])
hold = gain(upright, 0.0)
for k in range(N + 100):
    if k < N:
        push = pushes[k] - (gain(planned[k], pushes[k]) @ (z - planned[k]))[0]
    else:
        push = -(hold @ (z - upright))[0]
    z = advance(z, np.clip(push, -MAX_FORCE, MAX_FORCE))
    path.append(z)
path = np.array(path)
print(f"angle from upright after the swing: {abs(path[N, 1] - np.pi):.3f} rad")
print(f"after five more seconds: {abs(path[-1, 1] - np.pi):.4f} rad, cart at {path[-1, 0]:.3f}")
assert abs(path[-1, 1] - np.pi) < 0.01
