"""Systems with a complete library: whether the recommended default finds the true terms."""

from typing import Literal

NAME = "complete_library"
TITLE = "Systems with a complete library"
CAPTION = (
    "The library contains all terms of these systems, and SIR has a constant population. The "
    "data have no noise, or noise of 1% of the standard deviation of each state."
)
PAPER = "none: beyond the paper"
_SYSTEMS = {
    "pendulum/complete": "Pendulum",
    "duffing/complete": "Duffing oscillator",
    "lotka-volterra/complete": "Lotka-Volterra",
    "sir/complete": "SIR",
}
LABELS = _SYSTEMS | {f"{name}/noise=1%": f"{label}, noise 1%" for name, label in _SYSTEMS.items()}
SETTINGS = tuple(LABELS)
METHODS = ("recommended",)
METRICS = (
    "f1@0.001", "terms@0.001", "derivative.id", "derivative.t2", "derivative.t3", "rollout.t2",
)  # fmt: skip
BLOCKS: Literal["setting", "metric"] = "setting"
