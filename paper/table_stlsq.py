"""Thresholded least squares against Adam with L1 and OrthoReg. [tab:stlsq_comparison]"""

from typing import Literal

NAME = "table_stlsq"
TITLE = "STLSQ against Adam with L1 and OrthoReg"
CAPTION = (
    "STLSQ selects terms by a threshold of 0.045 and estimates their coefficients without "
    "shrinkage. It has no residual. Diverged rollouts are counted and excluded from the error."
)
PAPER = "tab:stlsq_comparison"
LABELS = {
    "pendulum/medium": "Pendulum, medium difficulty",
    "duffing": "Duffing oscillator",
    "lotka-volterra": "Lotka-Volterra",
    "sir": "SIR",
}
SETTINGS = tuple(LABELS)
METHODS = ("stlsq", "pure@0.001", "pure@0.003", "orthoreg", "validated", "projection")
METRICS = (
    "derivative.id", "rollout.id", "derivative.t2", "rollout.t2", "f1@0.001", "terms@0.001",
    "f1@0.045", "terms@0.045",
)  # fmt: skip
BLOCKS: Literal["setting", "metric"] = "setting"
