# %% [markdown]
# # A real double pendulum
#
# The data are swings of a double pendulum in a laboratory, measured by encoders at 200 Hz (the
# multi-arm pendulum of dynamicslab, MIT licence). The table is not part of this package. Set
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
    print(f"{table} does not exist. Set ORTHOREG_DATA to the folder that contains it.")
    sys.exit()
frame = pd.read_csv(table)
swings = frame[frame.split == "train"]
swings = swings[swings.run.isin(swings.run.unique()[::3])]  # a third of the runs suffices
train, test = (
    og.read_table(part, "t", positions=["theta1", "theta2"], group="run")
    for part in (swings, frame[frame.split == "test"])
)
print(f"{train.n_runs} training runs, {test.n_runs} test runs")

# %% [markdown]
# ## Equations from angles
#
# Only the angles are given, without velocities, library or known physics. The equations of motion
# are short only if each equation contains both accelerations. `discover` finds them in this form,
# with an inertia that depends on the angle between the arms, gravity, centrifugal forces and
# friction.

# %%
discovery = og.discover(train)
print(discovery.models[0])

# %% [markdown]
# ## Forecasts of test runs
#
# Each forecast starts from the first row of a run and covers one second.

# %%
for run, forecast in zip(test, discovery.best.forecast(test), strict=True):
    rows = run.times - run.times[0] <= 1.0
    error = forecast.x[rows, :2] - run.states[rows, :2]
    print(f"{forecast.status}: {np.sqrt(np.mean(error**2)):.4f} rad")
