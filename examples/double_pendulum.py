# %% [markdown]
# # A real double pendulum
#
# Free swings of a double pendulum in a laboratory, angles from encoders, thinned to 200 Hz (the
# multi-arm pendulum of dynamicslab, MIT licence). The table is not part of this package: set
# `ORTHOREG_DATA` to the folder that contains `double_pendulum.csv`.

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
# ## Nothing is given
#
# Only the angles: no velocities, no library, no structure. Solved for one acceleration each, the
# equations of motion are long fractions. With both accelerations in each, as they are derived,
# they are short. `discover` finds them in that form: inertia that depends on the angle between
# the arms, gravity, the centrifugal force of the arms, friction.

# %%
found = og.discover(train)
print(found.models[0])

# %% [markdown]
# ## Forecasts of unseen swings
#
# From their first rows, over one second.

# %%
for run, forecast in zip(test, found.best.forecast(test), strict=True):
    rows = run.times - run.times[0] <= 1.0
    error = forecast.x[rows, :2] - run.states[rows, :2]
    print(f"{forecast.status}: {np.sqrt(np.mean(error**2)):.4f} rad")
