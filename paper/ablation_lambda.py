"""The strength of the orthogonality penalty on the pendulum. [fig:ablations, panel c]"""

from typing import Literal

NAME = "ablation_lambda"
TITLE = "Strength of the orthogonality penalty"
CAPTION = (
    "The models are trained by Adam with mu = 0.003 and increasing lam. The paper has numbers "
    "only for lam = 0.005. The projection is the limit of large lam and is solved exactly."
)
PAPER = "tab:sweet_spot_results"
LABELS = {"pendulum/medium": "Pendulum, medium difficulty"}
SETTINGS = tuple(LABELS)
STRENGTHS = ("0.0005", "0.005", "0.05", "0.5", "5", "50")
METHODS = (*(f"orthoreg@lam={strength}" for strength in STRENGTHS), "projection")
METRICS = (
    "derivative.id", "derivative.ext", "derivative.t2", "rollout.t2", "derivative.t3",
    "f1@0.001", "terms@0.001", "f1@0.045", "terms@0.045", "overlap", "cosine", "symbolic_share",
)  # fmt: skip
BLOCKS: Literal["setting", "metric"] = "setting"
