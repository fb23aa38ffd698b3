# %% [markdown]
# # Duffing across wells
#
# The system x'' = x - x^3 - 0.15 x' has two wells, and all runs stay in the right well. A model
# with the correct terms is also correct in the left well, without data there. The system does not
# change under (x, v) -> (-x, -v). If this symmetry is given, equations and residual have it.

# %%
import numpy as np
from scipy.integrate import solve_ivp

import orthoreg as og


def duffing(t, state):
    x, v = state
    return [v, x - x**3 - 0.15 * v]


def runs_from(starts, t):
    return [
        solve_ivp(duffing, (t[0], t[-1]), x0, t_eval=t, rtol=1e-9, atol=1e-9).y.T for x0 in starts
    ]


t = np.linspace(0, 10, 201)
rng = np.random.default_rng(0)
data = og.Dataset.from_arrays(
    runs_from(rng.uniform([0.6, -0.25], [1.3, 0.25], (20, 2)), t), t, names=["x", "v"]
)
print(f"x from {data.states[:, 0].min():.2f} to {data.states[:, 0].max():.2f}")

# %%
far = runs_from([[-1.2, 0.1], [-0.7, 0.0], [1.8, 0.5]], t)
for name, model in {
    "library with x^3": og.OrthoReg(og.Polynomial(3)),
    "library without x^3": og.OrthoReg(og.Polynomial(1)),
    "without x^3, odd symmetry given": og.OrthoReg(
        og.Polynomial(1), physics=og.Physics(symmetry=og.Odd())
    ),
}.items():
    model.fit(data)
    errors = []
    for truth in far:
        forecast = model.simulate(truth[0], t).x
        errors.append(np.sqrt(np.mean((forecast - truth) ** 2) / np.var(truth)))
    print(f"{name}: {'; '.join(model.equations())}")
    shown = ", ".join(f"{error:.1e}" for error in errors)
    print(f"  relative errors in the left well and across both: {shown}")
