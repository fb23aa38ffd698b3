"""Time to fit a long recording."""

import math
import time

import numpy as np

import orthoreg as og

from ._forced import force, forced_run
from ._line import Line, coefficients, largest_error

SEEDS = 1
TITLE = "Speed."
ABOUT = (
    "The system is theta'' = 0.1 - 0.5 theta - 1.2 sin(theta) - 0.2 theta' + 0.9 u. The data "
    "are 65,000 rows of position and input with 1% noise. Library and residual are the "
    "defaults."
)
_TRUTH = {"1": 0.1, "theta": -0.5, "sin(theta)": -1.2, "theta_dot": -0.2, "u": 0.9}
_ROWS, _STEP = 65_000, 0.1


def measure(seeds: int) -> list[Line]:
    seconds = {"fit": [], "refine": []}
    errors = {"fit": [], "refine": []}
    for seed in range(seeds):
        data = _data(seed)
        start = time.process_time()
        model = og.OrthoReg(loss=og.Weak()).fit(data)
        fitted = time.process_time()
        refined = model.refine(data)
        seconds["fit"].append(fitted - start)
        seconds["refine"].append(time.process_time() - fitted)
        errors["fit"].append(largest_error(coefficients(model, 1), _TRUTH))
        errors["refine"].append(largest_error(coefficients(refined, 1), _TRUTH))
    return [
        Line("weak-form fit, CPU", seconds["fit"], "s", 10),
        Line("refinement, CPU", seconds["refine"], "s", 30),
        Line("largest error of a constant, fit", errors["fit"], "%"),
        Line("largest error of a constant, refined", errors["refine"], "%"),
    ]


def _data(seed: int) -> og.Dataset:
    times = _STEP * np.arange(_ROWS)
    path = forced_run(
        lambda x, v, u: 0.1 - 0.5 * x - 1.2 * math.sin(x) - 0.2 * v + 0.9 * u,
        _STEP, _ROWS, lambda times: force(times, seed), fine=4,
    )  # fmt: skip
    position = path[:, 0]
    noise = np.random.default_rng(seed).standard_normal(_ROWS)
    return og.Dataset.from_positions(
        (position + 0.01 * position.std() * noise)[:, None],
        times, force(times, seed)[:, None], ["theta"], ["u"],
    )  # fmt: skip
