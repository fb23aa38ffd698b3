"""The Duffing oscillator, seen in one basin. [tab:duffing_results_streamlined]"""

from typing import Literal

from ._labels import COMPARED, SCORES

NAME = "table_duffing"
TITLE = "Duffing oscillator"
CAPTION = (
    "Training runs are in the positive basin. T2 is in the negative basin, and T3 has other "
    "parameters there. The library lacks the cubic term."
)
PAPER = "tab:duffing_results_streamlined"
LABELS = {"duffing": "Duffing oscillator"}
SETTINGS = tuple(LABELS)
METHODS = COMPARED
METRICS = SCORES
BLOCKS: Literal["setting", "metric"] = "setting"
