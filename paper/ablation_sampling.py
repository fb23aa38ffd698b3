"""Regular and irregular sampling of the pendulum. [tab:sampling_ablation_streamlined]"""

from typing import Literal

from ._labels import COMPARED

NAME = "ablation_sampling"
TITLE = "Sampling of the pendulum"
CAPTION = (
    "Irregular steps are drawn from U[0.01, 0.05] over the same time. The paper's derivatives "
    "come from a smoother that assumes equal steps. The derivatives of the last block use the "
    "true times."
)
PAPER = "tab:sampling_ablation_streamlined"
LABELS = {
    "pendulum/medium": "Regular",
    "pendulum/medium/irregular/equal-steps": "Irregular, targets as if steps were equal (paper)",
    "pendulum/medium/irregular/stamps": "Irregular, targets that respect the time stamps",
}
SETTINGS = tuple(LABELS)
METHODS = COMPARED
METRICS = (
    "derivative.id", "derivative.t2", "rollout.t2", "derivative.t3", "f1@0.001", "terms@0.001",
    "f1@0.045", "terms@0.045",
)  # fmt: skip
BLOCKS: Literal["setting", "metric"] = "setting"
