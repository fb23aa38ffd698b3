"""ODE-Strogatz: seven systems with two states, as published by La Cava et al. (2016).

Equations, starts and times are those of the repository lacava/ode-strogatz (`simulate_ode.m` and
the first rows of its tables). The script and the table differ for the van der Pol oscillator, whose
equation here is that of the table. The runs are integrated anew, because the tables contain errors
of a solver with steps of 0.1.
"""

import contextlib
import importlib
import io
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from benchmarks._jobs import cpu_clock
from paper._odebench import forecast, forecast_r2

NOISES = (0.0, 0.05)  # relative to the standard deviation of each state
GOOD = 0.9  # R^2 of a forecast
EXACT = 0.01  # relative error of derivatives
TIMES = 0.1 * np.arange(100)

Field = Callable[[np.ndarray], np.ndarray]


def _bacterial(x: np.ndarray) -> list[float]:
    eaten = x[0] * x[1] / (1 + 0.5 * x[0] ** 2)
    return [20 - x[0] - eaten, 10 - eaten]


SYSTEMS: dict[str, tuple[Callable[[np.ndarray], list[float]], list[list[float]]]] = {
    "bacterial respiration": (
        _bacterial,
        [[9.01502740318998, 12.8015055992981], [3.48540194192317, 13.0700662237925],
         [5.81391692721814, 9.936214985790382], [5.80195472817425, 9.79266054660331]],
    ),
    "bar magnets": (
        lambda x: [0.5 * np.sin(x[0] - x[1]) - np.sin(x[0]),
                   0.5 * np.sin(x[1] - x[0]) - np.sin(x[1])],
        [[4.26461875246862, 4.76102165511013], [4.66923900501058, 2.46443504621593],
         [4.1184890487447, 1.07559768164234], [4.43621840643643, 0.200011672644315]],
    ),
    "glider": (
        lambda x: [-0.05 * x[0] ** 2 - np.sin(x[1]), x[0] - np.cos(x[1]) / x[0]],
        [[5.603272452842469, 1.8551204022395], [2.46553213651184, 0.872156816895428],
         [5.35766048171177, -1.32283061311855], [4.51350174933492, 0.346591870877256]],
    ),
    "competition": (
        lambda x: [3 * x[0] - 2 * x[0] * x[1] - x[0] ** 2, 2 * x[1] - x[0] * x[1] - x[1] ** 2],
        [[1.0, 3.0], [4.0, 1.0], [8.0, 2.0], [3.0, 3.0]],
    ),
    "predator and prey": (
        lambda x: [x[0] * (4 - x[0] - x[1] / (1 + x[0])),
                   x[1] * (x[0] / (1 + x[0]) - 0.075 * x[1])],
        [[4.86070775030401, 11.5069474930959], [6.58096270030409, 11.4336027281584],
         [5.75343217591914, 8.77853103772431], [5.80475502900297, 11.6491125241285]],
    ),
    "shear flow": (
        lambda x: [np.cos(x[0]) / np.tan(x[1]),
                   (np.cos(x[1]) ** 2 + 0.1 * np.sin(x[1]) ** 2) * np.sin(x[0])],
        [[-1.40163422326322, -1.42574462518204], [-2.53129567286853, 1.01617273721913],
         [1.22414434129968, -0.5745989297785539], [2.82882856222944, -1.462580773342]],
    ),
    "van der Pol": (
        lambda x: [10 * (x[1] - (x[0] ** 3 - x[0]) / 3), -x[0] / 10],
        [[0.3573007050358039, 0.2166979323670089], [0.677280004283046, 0.7360147137408308],
         [0.0100185705081634, 0.3559143141937729], [0.239954583001563, 0.9276087313632232]],
    ),
}  # fmt: skip


def clean_runs(system: str) -> list[np.ndarray]:
    """Return the four runs without noise."""
    field, starts = SYSTEMS[system]
    return [
        solve_ivp(
            lambda _, x: field(x), (0, TIMES[-1]), start, "LSODA", TIMES, rtol=1e-10, atol=1e-12
        ).y.T
        for start in starts
    ]


def fit_case(case: dict[str, Any]) -> dict[str, Any]:
    """Fit three runs by each method, and return errors of derivatives and forecasts of the fourth
    run."""
    *train, test = clean_runs(case["system"])
    rng = np.random.default_rng([case["seed"], list(SYSTEMS).index(case["system"])])
    std = np.concatenate(train).std(axis=0)
    noisy = [run + case["noise"] * std * rng.standard_normal(run.shape) for run in train]
    truth = np.array([SYSTEMS[case["system"]][0](x) for x in test])
    return {"fits": {name: _fit(name, noisy, test, truth) for name in case["methods"]}}


def _fit(
    method: str, runs: list[np.ndarray], test: np.ndarray, truth: np.ndarray
) -> dict[str, Any]:
    seconds: dict[str, float] = {}
    try:
        learn = importlib.import_module(f"benchmarks.boards.snippets.{method}").learn
        with cpu_clock(seconds, "fit"), contextlib.redirect_stdout(io.StringIO()):
            field: Field = learn(runs, TIMES)
        with np.errstate(all="ignore"):
            slopes = np.array([field(x) for x in test])
            error = float(np.sqrt(np.mean((slopes - truth) ** 2) / np.mean(truth**2)))
        r2 = forecast_r2(forecast(field, test[0], TIMES), test)
    except Exception as problem:
        return {"failure": repr(problem), "seconds": None, "error": None, "r2": None}
    return {
        "seconds": seconds["fit"],
        "error": error if np.isfinite(error) else None,
        "r2": r2 if np.isfinite(r2) else None,
    }
