"""Predators and prey with forcing in time. [tab:lv_results_streamlined]"""

from typing import Literal

NAME = "table_lotka_volterra"
TITLE = "Lotka-Volterra"
CAPTION = (
    "States are divided by a tenth of the training maximum before anything else. The forcing "
    "depends on time, which no method is told."
)
PAPER = "tab:lv_results_streamlined"
LABELS = {"lotka-volterra": "Lotka-Volterra"}
SETTINGS = tuple(LABELS)
METHODS = ("pure@0.001", "pure@0.003", "stlsq", "l2", "orthoreg", "validated", "projection")
METRICS = (
    "derivative.id", "rollout.id", "derivative.ext", "rollout.ext", "derivative.t2", "rollout.t2",
    "derivative.t3", "derivative.t3-adapted", "rollout.t3", "f1@0.001", "precision@0.001",
    "recall@0.001", "terms@0.001", "f1@0.045", "terms@0.045", "overlap", "cosine",
    "symbolic_share", "lambda", "mu",
)  # fmt: skip
BLOCKS: Literal["setting", "metric"] = "setting"
