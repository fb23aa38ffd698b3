"""The recommended default against all other methods, where they were not fitted."""

from typing import Literal

from . import table_baselines
from ._labels import COMPARED

NAME = "extrapolation"
TITLE = "The recommended default, in and beyond the data"
CAPTION = (
    "Beside the methods of the paper the default of this package: terms chosen by how they "
    "extrapolate, coefficients without shrinkage, a residual orthogonal to them that is held "
    "beyond the data. It sees the training runs as they were measured and estimates derivatives "
    "itself. Irregular runs have steps drawn from U[0.01, 0.05]."
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
