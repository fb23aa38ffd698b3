"""Networks with and without equations on the pendulum. [tab:baseline]"""

from typing import Literal

NAME = "table_baselines"
TITLE = "Neural baselines on the damped pendulum"
CAPTION = (
    "The PINN has the known part of the pendulum as a soft constraint, and the universal ODE "
    "has no known part. Neither selects terms, so they have no support."
)
PAPER = "tab:baseline"
LABELS = {"pendulum/medium": "Pendulum, medium difficulty"}
SETTINGS = tuple(LABELS)
METHODS = ("pinn", "universal-ode", "orthoreg", "validated", "projection")
METRICS = (
    "derivative.id", "rollout.id", "derivative.ext", "derivative.t2", "rollout.t2",
    "derivative.t3", "rollout.t3", "f1@0.001", "f1@0.045",
)  # fmt: skip
BLOCKS: Literal["setting", "metric"] = "setting"
