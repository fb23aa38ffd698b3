"""An epidemic with forcing that depends on time and state. [tab:sir_results_streamlined]"""

from typing import Literal

from ._labels import COMPARED, SCORES

NAME = "table_sir"
TITLE = "SIR"
CAPTION = (
    "States are divided by a tenth of their maximum in the training data. There are 16 terms "
    "in three equations. The forcing depends on time, which is not an input of any method."
)
PAPER = "tab:sir_results_streamlined"
LABELS = {"sir": "SIR"}
SETTINGS = tuple(LABELS)
METHODS = COMPARED
METRICS = SCORES
BLOCKS: Literal["setting", "metric"] = "setting"
