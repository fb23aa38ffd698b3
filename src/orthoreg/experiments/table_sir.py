"""An epidemic with forcing in time and state. [tab:sir_results_streamlined]"""

from typing import Literal

NAME = "table_sir"
TITLE = "SIR"
CAPTION = (
    "States are divided by a tenth of the training maximum before anything else. Sixteen terms in "
    "three equations; the forcing depends on time, which no method is told."
)
PAPER = "tab:sir_results_streamlined"
LABELS = {"sir": "SIR"}
SETTINGS = tuple(LABELS)
METHODS = ("pure@0.001", "pure@0.003", "stlsq", "l2", "orthoreg", "validated", "projection")
METRICS = (
    "derivative.id", "rollout.id", "derivative.ext", "rollout.ext", "derivative.t2", "rollout.t2",
    "derivative.t3", "derivative.t3-adapted", "rollout.t3", "f1@0.001", "precision@0.001",
    "recall@0.001", "terms@0.001", "f1@0.045", "terms@0.045", "overlap", "cosine",
    "symbolic_share", "lambda", "mu",
)  # fmt: skip
BLOCKS: Literal["setting", "metric"] = "setting"
