"""Predators and prey with time-dependent forcing. [tab:lv_results_streamlined]"""

from typing import Literal

from ._labels import COMPARED, SCORES

NAME = "table_lotka_volterra"
TITLE = "Lotka-Volterra"
CAPTION = (
    "States are divided by a tenth of their maximum in the training data. The forcing depends "
    "on time, which is not an input of any method."
)
PAPER = "tab:lv_results_streamlined"
LABELS = {"lotka-volterra": "Lotka-Volterra"}
SETTINGS = tuple(LABELS)
METHODS = COMPARED
METRICS = SCORES
BLOCKS: Literal["setting", "metric"] = "setting"
