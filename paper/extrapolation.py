"""The recommended default and all other methods, in and beyond the data."""

from typing import Literal

from . import table_baselines
from ._labels import COMPARED

NAME = "extrapolation"
TITLE = "The recommended default, in and beyond the data"
CAPTION = (
    "The table compares the methods of the paper with the default of this package. The default "
    "selects terms that extrapolate, estimates coefficients without shrinkage, and has an "
    "orthogonal residual that keeps its value beyond the data. It estimates derivatives from "
    "the training runs. Irregular runs have steps drawn from U[0.01, 0.05]."
)
PAPER = "none: beyond the paper"
_SYSTEMS = {
    "pendulum/low": "Pendulum, low difficulty",
    "pendulum/medium": "Pendulum, medium difficulty",
    "pendulum/high": "Pendulum, high difficulty",
    "duffing": "Duffing oscillator",
    "lotka-volterra": "Lotka-Volterra",
    "sir": "SIR",
}
LABELS = _SYSTEMS | {
    f"{setting}/irregular/stamps": f"{label}, irregular times"
    for setting, label in _SYSTEMS.items()
}
SETTINGS = tuple(LABELS)
METHODS = (
    "recommended", *COMPARED, *(name for name in table_baselines.METHODS if name not in COMPARED)
)  # fmt: skip
METRICS = (
    "derivative.id", "derivative.ext", "derivative.t2", "derivative.t3", "derivative.t3-adapted",
    "rollout.id", "rollout.ext", "rollout.t2", "rollout.t3", "f1@0.001", "terms@0.001",
    "f1@0.045", "terms@0.045",
)  # fmt: skip
BLOCKS: Literal["setting", "metric"] = "setting"
