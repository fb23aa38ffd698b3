"""Systems that the library can say: does the recommended default find just their terms?"""

from typing import Literal

NAME = "complete_library"
TITLE = "Systems that the library can say"
CAPTION = (
    "The systems without the terms that the library lacks, SIR with one total population; without "
    "noise, and with noise of 1% of the standard deviation of each state."
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
