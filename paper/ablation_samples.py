"""The number of training samples of the pendulum. [fig:n_samples_ablation]"""

from typing import Literal

from ._labels import COMPARED

NAME = "ablation_samples"
TITLE = "Number of training samples"
CAPTION = (
    "Derivatives are estimated from all training runs, and samples are then drawn at random. "
    "The paper has a figure without numbers."
)
PAPER = "fig:n_samples_ablation"
LABELS = {
    f"pendulum/medium/samples={count}": f"{count} samples"
    for count in (100, 200, 500, 1000, 2000, 5000)
}
SETTINGS = tuple(LABELS)
METHODS = COMPARED
METRICS = (
    "f1@0.001", "f1@0.045", "derivative.id", "derivative.t2", "derivative.t3", "cosine", "overlap",
)  # fmt: skip
BLOCKS: Literal["setting", "metric"] = "metric"
