"""The pendulum with forcing that the library cannot say. [tab:sweet_spot_results]"""

from typing import Literal

NAME = "table_pendulum"
TITLE = "Damped pendulum"
CAPTION = (
    "Medium difficulty, on unseen runs (ID), beyond the last time (ID,ext), from other starts (T2) "
    "and with other parameters (T3). T3 adapted has its active coefficients refitted on separate "
    "T3 runs."
)
PAPER = "tab:sweet_spot_results"
LABELS = {"pendulum/medium": "Pendulum, medium difficulty"}
SETTINGS = tuple(LABELS)
METHODS = ("pure@0.001", "pure@0.003", "stlsq", "l2", "orthoreg", "validated", "projection")
METRICS = (
    "derivative.id", "rollout.id", "derivative.ext", "rollout.ext", "derivative.t2", "rollout.t2",
    "derivative.t3", "derivative.t3-adapted", "rollout.t3", "f1@0.001", "precision@0.001",
    "recall@0.001", "terms@0.001", "f1@0.045", "terms@0.045", "overlap", "cosine",
    "symbolic_share", "lambda", "mu",
)  # fmt: skip
BLOCKS: Literal["setting", "metric"] = "setting"
