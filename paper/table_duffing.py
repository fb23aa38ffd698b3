"""The Duffing oscillator, seen in one basin. [tab:duffing_results_streamlined]"""

from typing import Literal

from ._labels import COMPARED, SCORES

NAME = "table_duffing"
TITLE = "Duffing oscillator"
CAPTION = (
    "Trained in the positive basin; T2 is the negative basin, T3 has other parameters there. "
    "The cubic term is not in the library."
)
PAPER = "tab:duffing_results_streamlined"
LABELS = {"duffing": "Duffing oscillator"}
SETTINGS = tuple(LABELS)
METHODS = COMPARED
METRICS = SCORES
BLOCKS: Literal["setting", "metric"] = "setting"
