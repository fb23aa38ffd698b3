"""An epidemic with forcing in time and state. [tab:sir_results_streamlined]"""

from typing import Literal

from ._labels import COMPARED, SCORES

NAME = "table_sir"
TITLE = "SIR"
CAPTION = (
    "States are divided by a tenth of the training maximum before anything else. Sixteen terms in "
    "three equations; the forcing depends on time, which no method is told."
)
PAPER = "tab:sir_results_streamlined"
LABELS = {"sir": "SIR"}
SETTINGS = tuple(LABELS)
METHODS = COMPARED
METRICS = SCORES
BLOCKS: Literal["setting", "metric"] = "setting"
