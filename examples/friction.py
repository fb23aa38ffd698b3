# %% [markdown]
# # Dry friction
#
# A mass on a spring has dry friction: v' = -4 x - 0.1 v - 0.8 sign(v). The library contains
# sign(v). Simulations locate v = 0 exactly, and the mass stops if the spring cannot overcome the
# friction.

# %%
import numpy as np

import orthoreg as og

STIFFNESS, VISCOUS, DRY = 4.0, 0.1, 0.8


def record(x, v, seconds, step=1e-4, every=200):
    """Simulate a run by small steps with implicit friction, so that the mass can stick."""
    rows = []
    for k in range(int(seconds / step) + 1):
        if k % every == 0:
            rows.append((x, v))
        free = v - step * (STIFFNESS * x + VISCOUS * v)
        v = np.sign(free) * max(abs(free) - step * DRY, 0.0)
        x += step * v
    return np.array(rows)


t = np.arange(0, 6 + 1e-9, 0.02)
runs = [record(x, v, 6) for x, v in [(2.5, 0.0), (-2.0, 1.0), (1.5, -3.0), (-3.0, 0.0)]]
data = og.Dataset.from_arrays(runs, t, names=["x", "v"])

# %%
physics = og.Physics(equations={"x": "v"})
model = og.OrthoReg("poly(1) + sign(v)", og.Zero(), physics=physics).fit(data)
print("\n".join(model.equations(3)))

# %%
forecast = model.simulate([2.0, 0.0], np.linspace(0, 12, 601))
print(forecast.status, "at rest:", forecast.x[-1].round(4).tolist())
print(
    f"the spring force is {STIFFNESS * abs(forecast.x[-1, 0]):.2f}, and friction holds up to {DRY}"
)
assert forecast.x[-1, 1] == 0.0
