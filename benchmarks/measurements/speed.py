"""What a long record costs."""

import time

import numpy as np
from scipy.integrate import solve_ivp

import orthoreg as og

from ._line import Line, coefficients, largest_error
from .oscillator import force

SEEDS = 1
TITLE = "Speed."
ABOUT = (
    "theta'' = 0.1 - 0.5 theta - 1.2 sin(theta) - 0.2 theta' + 0.9 u, 65,000 rows of position and "
    "input, 1 % noise, default library and residual."
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

    def slope(t: float, x: np.ndarray) -> list[float]:
        push = 0.9 * float(force(np.array([t]), seed)[0])
        return [x[1], 0.1 - 0.5 * x[0] - 1.2 * np.sin(x[0]) - 0.2 * x[1] + push]

    found = solve_ivp(slope, (0, times[-1]), [0.3, 0.0], "LSODA", times, rtol=1e-8, atol=1e-8)
    position = found.y[0]
    noise = np.random.default_rng(seed).standard_normal(_ROWS)
    return og.Dataset.from_positions(
        (position + 0.01 * position.std() * noise)[:, None],
        times, force(times, seed)[:, None], ["theta"], ["u"],
    )  # fmt: skip
