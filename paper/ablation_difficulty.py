"""Size of the pendulum's forcing outside the library. [tab:difficulty_ablation_streamlined]"""

from typing import Literal

from ._labels import COMPARED

NAME = "ablation_difficulty"
TITLE = "Difficulty of the pendulum"
CAPTION = (
    "The missing terms become larger from low to high difficulty. The paper's T3 is a rollout "
    "error at low and high difficulty, and a derivative error at medium difficulty."
)
PAPER = "tab:difficulty_ablation_streamlined"
LABELS = {
    "pendulum/low": "Low: beta = (0.1, 0.08, 0.05)",
    "pendulum/medium": "Medium: beta = (0.3, 0.25, 0.15)",
    "pendulum/high": "High: beta = (2, 2, 2)",
}
SETTINGS = tuple(LABELS)
METHODS = COMPARED
METRICS = (
    "derivative.id", "derivative.t2", "derivative.t3", "derivative.t3-adapted", "rollout.t3",
    "f1@0.001", "terms@0.001", "f1@0.045", "terms@0.045", "overlap", "symbolic_share",
)  # fmt: skip
BLOCKS: Literal["setting", "metric"] = "setting"
