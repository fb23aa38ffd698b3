# %% [markdown]
# # A real double pendulum
#
# Free swings of a double pendulum in a laboratory, angles from encoders, thinned to 200 Hz (the
# multi-arm pendulum of dynamicslab, MIT licence). The table is not part of this package: set
# `ORTHOREG_DATA` to the folder that holds `double_pendulum.csv`.

# %%
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd

import orthoreg as og

table = Path(os.environ.get("ORTHOREG_DATA", "data"), "double_pendulum.csv")
if not table.exists():
    print(f"There is no {table}; set ORTHOREG_DATA to the folder that holds it.")
    sys.exit()
frame = pd.read_csv(table)
swings = frame[frame.split == "train"]
swings = swings[swings.run.isin(swings.run.unique()[::3])]  # every third one is enough to look
train, test = (
    og.read_table(one, "t", positions=["theta1", "theta2"], group="run")
    for one in (swings, frame[frame.split == "test"])
)
print(f"{train.n_runs} runs to learn from, {test.n_runs} to forecast")

# %% [markdown]
# ## The library
#
# The exact equations are rational in the cosine of the difference of the angles. The first terms of
# that series, times gravity, centrifugal forces and friction:

# %%
d = "(theta1 - theta2)"
parts = [
    "sin(theta1)", "sin(theta2)", f"cos{d}*sin(theta1)", f"cos{d}*sin(theta2)",
    f"sin{d}*theta1_dot^2", f"sin{d}*theta2_dot^2",
    f"sin{d}*cos{d}*theta1_dot^2", f"sin{d}*cos{d}*theta2_dot^2",
    "theta1_dot", "theta2_dot", f"cos{d}*theta1_dot", f"cos{d}*theta2_dot",
]  # fmt: skip
terms = [*parts, *(f"cos{d}^2*{part}" for part in parts)]
model = og.OrthoReg(" + ".join(terms), og.Zero()).fit(train)
print("\n".join(model.equations()))

# %% [markdown]
# ## Forecasts of swings that were not used
#
# From their first rows, over half a second.

# %%
for run, forecast in zip(test, model.forecast(test), strict=True):
    rows = run.times - run.times[0] <= 0.5
    error = forecast.x[rows, :2] - run.states[rows, :2]
    print(f"{forecast.status}: {np.sqrt(np.mean(error**2)):.4f} rad")
