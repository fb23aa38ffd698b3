"""The Duffing oscillator, seen in one basin. [tab:duffing_results_streamlined]"""

from typing import Literal

NAME = "table_duffing"
TITLE = "Duffing oscillator"
CAPTION = (
    "Trained in the positive basin; T2 is the negative basin, T3 has other parameters there. "
    "The cubic term is not in the library."
)
PAPER = "tab:duffing_results_streamlined"
LABELS = {"duffing": "Duffing oscillator"}
SETTINGS = tuple(LABELS)
METHODS = ("pure@0.001", "pure@0.003", "stlsq", "l2", "orthoreg", "validated", "projection")
METRICS = (
    "derivative.id", "rollout.id", "derivative.ext", "rollout.ext", "derivative.t2", "rollout.t2",
    "derivative.t3", "derivative.t3-adapted", "rollout.t3", "f1@0.001", "precision@0.001",
    "recall@0.001", "terms@0.001", "f1@0.045", "terms@0.045", "overlap", "cosine",
    "symbolic_share", "lambda", "mu",
)  # fmt: skip
BLOCKS: Literal["setting", "metric"] = "setting"
