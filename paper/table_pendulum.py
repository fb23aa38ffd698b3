"""The pendulum with forcing that the library cannot represent. [tab:sweet_spot_results]"""

from typing import Literal

from ._labels import COMPARED, SCORES

NAME = "table_pendulum"
TITLE = "Damped pendulum"
CAPTION = (
    "The difficulty is medium. Test runs are unseen runs (ID), their continuation (ID,ext), "
    'runs from other initial states (T2) and runs with other parameters (T3). For "T3 '
    'adapted", the active coefficients are fitted to other T3 runs.'
)
PAPER = "tab:sweet_spot_results"
LABELS = {"pendulum/medium": "Pendulum, medium difficulty"}
SETTINGS = tuple(LABELS)
METHODS = COMPARED
METRICS = SCORES
BLOCKS: Literal["setting", "metric"] = "setting"
