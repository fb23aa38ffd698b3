"""A forced cubic oscillator with measured position and input."""

import numpy as np

import orthoreg as og

from ._forced import force, forced_run
from ._line import Line, coefficients, largest_error, relative_rms

SEEDS = 5
TITLE = "Forced cubic oscillator."
ABOUT = (
    "The system is x'' = -x - 0.15 x' - 0.4 x^3 + 1.3 u. The data are 1,500 rows of position "
    "and input, with ten samples per period of the fastest input component. The model is "
    '`OrthoReg("poly(3)")`. The simulation error is that of a run with a new input of 1.4 '
    "times the amplitude."
)
TRUTH = {"x": -1.0, "x_dot": -0.15, "x**3": -0.4, "u": 1.3}
_STEP = 2 * np.pi / 1.2 / 10
_ROWS, _FRESH_ROWS = 1500, 600


def measure(seeds: int) -> list[Line]:
    lines = []
    for noise, most in ((0.01, 2.0), (0.03, 5.0)):
        fits = np.array([_fit(noise, seed) for seed in range(seeds)])
        label = f"{100 * noise:g}% noise: "
        lines += [
            Line(label + "exactly the true terms, share of fits", [fits[:, 0].mean()], at_least=1),
            Line(label + "largest error of a constant", fits[:, 1].tolist(), "%", most),
            Line(label + "simulation error", fits[:, 2].tolist(), "%", most),
        ]
    return lines


def _fit(noise: float, seed: int) -> tuple[float, float, float]:
    """Return whether the terms are true, the largest error of a constant and the forecast error."""
    times = _STEP * np.arange(_ROWS)
    position = _run(seed, _ROWS)[:, 0]
    rng = np.random.default_rng(seed)
    measured = position + noise * position.std() * rng.standard_normal(_ROWS)
    data = og.Dataset.from_positions(
        measured[:, None], times, force(times, seed)[:, None], ["x"], ["u"]
    )
    model = og.OrthoReg("poly(3)").fit(data)
    found = coefficients(model, 1)
    times = times[:_FRESH_ROWS]
    truth = _run(100 + seed, _FRESH_ROWS, 1.4)
    rollout = model.simulate(truth[0], times, force(times, 100 + seed, 1.4)[:, None])
    error = relative_rms(rollout.x[:, 0], truth[:, 0])
    return float(found.keys() == TRUTH.keys()), largest_error(found, TRUTH), 100 * error


def _run(seed: int, rows: int, size: float = 1.0) -> np.ndarray:
    return forced_run(
        lambda x, v, u: -x - 0.15 * v - 0.4 * x**3 + 1.3 * u,
        _STEP, rows, lambda times: force(times, seed, size), fine=20,
    )  # fmt: skip
