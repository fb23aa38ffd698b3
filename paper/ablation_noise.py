"""Noise on the states of the pendulum, with two kinds of targets. [app:noise_robustness]"""

from typing import Literal

from ._labels import COMPARED

NAME = "ablation_noise"
TITLE = "Noise on the states"
CAPTION = (
    "Gaussian noise is added to the training states. The derivatives are smoothed differences "
    "of these states, or the true derivatives, because the paper does not state which. The "
    "paper has approximate values without noise and for high noise, which are shown at 0 and "
    "0.5."
)
PAPER = "app:noise_robustness"
LEVELS = ("0.01", "0.05", "0.1", "0.2", "0.5")
LABELS = (
    {"pendulum/medium": "noise 0, smoothed differences"}
    | {f"pendulum/medium/noise={e}/smoothed": f"noise {e}, smoothed differences" for e in LEVELS}
    | {
        f"pendulum/medium/noise={e}/analytic": f"noise {e}, true derivatives"
        for e in ("0", *LEVELS)
    }
)
SETTINGS = tuple(LABELS)
METHODS = COMPARED
METRICS = ("f1@0.001", "f1@0.045", "derivative.id", "derivative.t2", "derivative.t3")
BLOCKS: Literal["setting", "metric"] = "metric"
