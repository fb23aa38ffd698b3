# %% [markdown]
# # A pendulum with a missing term
#
# A pendulum has friction and a force that depends on the angle, 0.3 cos(3 theta). The default
# library consists of polynomials and of the sine and cosine of the angle, so it lacks this force.
# The residual represents the force, and `explain` finds its formula.

# %%
import numpy as np
from scipy.integrate import solve_ivp

import orthoreg as og


def pendulum(t, state):
    theta, omega = state
    return [omega, -np.sin(theta) - 0.2 * omega + 0.3 * np.cos(3 * theta)]


t = np.linspace(0, 8, 161)
rng = np.random.default_rng(0)
starts = rng.uniform([-1.5, -1.0], [1.5, 1.0], (40, 2))
runs = [solve_ivp(pendulum, (0, 8), x0, t_eval=t, rtol=1e-9, atol=1e-9).y.T for x0 in starts]
data = og.Dataset.from_arrays(runs, t, names=["theta", "omega"])

# %% [markdown]
# ## Equations and a residual

# %%
model = og.OrthoReg().fit(data)
print("\n".join(model.equations()))
print(model.summary(data).verdict.text)

# %% [markdown]
# ## The missing term
#
# `explain` ranks formulas by their evidence. `accept(0)` adds the first one to the library and fits
# all coefficients again.

# %%
explanation = model.explain(data)
for proposal in explanation.proposals[:3]:
    print(f"{proposal.equation}': {proposal.formula}")
better = explanation.accept(0)
print("\n".join(better.equations()))

# %% [markdown]
# ## Beyond the data
#
# Both models are simulated from an initial state outside the data.

# %%
later = np.linspace(0, 20, 401)
truth = solve_ivp(pendulum, (0, 20), [2.6, 0.5], t_eval=later, rtol=1e-9, atol=1e-9).y.T
for name, candidate in (("with a residual", model), ("with the term", better)):
    forecast = candidate.simulate([2.6, 0.5], later)
    error = np.sqrt(np.mean((forecast.x - truth) ** 2) / np.var(truth))
    print(f"{name}: {forecast.status}, relative error {error:.1e}")
assert error < 1e-3

# %% [markdown]
# ## A report
#
# The report is one HTML file that works offline.

# %%
og.report(better, "pendulum.html", data=data, explanation=explanation)
