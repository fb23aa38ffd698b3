"""The Duffing oscillator with training data from one well. [tab:duffing_results_streamlined]"""

from typing import Literal

from ._labels import COMPARED, SCORES

NAME = "table_duffing"
TITLE = "Duffing oscillator"
CAPTION = (
    "Training runs are in the positive well. T2 is in the negative well, and T3 is in the "
    "negative well with other parameters. The library lacks the cubic term."
)
PAPER = "tab:duffing_results_streamlined"
LABELS = {"duffing": "Duffing oscillator"}
SETTINGS = tuple(LABELS)
METHODS = COMPARED
METRICS = SCORES
BLOCKS: Literal["setting", "metric"] = "setting"
