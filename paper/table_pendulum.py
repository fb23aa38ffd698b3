"""The pendulum with forcing that the library cannot represent. [tab:sweet_spot_results]"""

from typing import Literal

from ._labels import COMPARED, SCORES

NAME = "table_pendulum"
TITLE = "Damped pendulum"
CAPTION = (
    "Medium difficulty, on unseen runs (ID), beyond the last time (ID,ext), from other initial "
    "states (T2) and with other parameters (T3). For T3 adapted, the active coefficients are "
    "refitted to separate T3 runs."
)
PAPER = "tab:sweet_spot_results"
LABELS = {"pendulum/medium": "Pendulum, medium difficulty"}
SETTINGS = tuple(LABELS)
METHODS = COMPARED
METRICS = SCORES
BLOCKS: Literal["setting", "metric"] = "setting"
