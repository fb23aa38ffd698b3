# %% [markdown]
# # A pendulum whose library lacks two terms
#
# A pendulum with friction and a force that depends on the angle, 0.3 cos(3 theta). The library has
# polynomials and sines of the angle itself. The residual represents the missing force, and
# `explain` names it.

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
# ## What is missing
#
# Each proposal has its evidence. The first one is accepted: its term joins the library, and all
# coefficients are fitted again.

# %%
found = model.explain(data)
for proposal in found.proposals[:3]:
    print(f"{proposal.equation}': {proposal.formula}")
better = found.accept(0)
print("\n".join(better.equations()))

# %% [markdown]
# ## Beyond the data
#
# Both models forecast from a start that is farther out than all runs.

# %%
later = np.linspace(0, 20, 401)
truth = solve_ivp(pendulum, (0, 20), [2.6, 0.5], t_eval=later, rtol=1e-9, atol=1e-9).y.T
for name, one in (("with a residual", model), ("with the term", better)):
    forecast = one.simulate([2.6, 0.5], later)
    error = np.sqrt(np.mean((forecast.x - truth) ** 2) / np.var(truth))
    print(f"{name}: {forecast.status}, relative error {error:.1e}, left at {forecast.left_at}")
assert error < 1e-3

# %% [markdown]
# ## A report
#
# One file that opens in any browser, without a network.

# %%
og.report(better, "pendulum.html", data=data, explanation=found)
