"""PySINDy on the same runs: the strong form with smoothed differences, and the weak form.

The threshold of STLSQ is chosen by validation. Models are fitted to the first four runs and
compared on the fifth, in the form in which they are fitted. Among the models whose error is within
5% of the minimum, the one with the fewest terms is selected and fitted again to all runs.
"""

from importlib import import_module
from typing import Any

import numpy as np

from benchmarks._jobs import cpu_clock

from ._flows import (
    Flow,
    as_polynomials,
    field_error,
    flow,
    simulated,
    structure,
    valid_forecasts,
    values,
)

THRESHOLDS = tuple(np.geomspace(0.005, 5, 13).round(4).tolist())
TOLERANCE = 1.05  # relative to the minimum validation error
_TEST_FUNCTIONS = 200  # test functions of the weak form per run
_WINDOW = 11  # rows of the Savitzky-Golay filter, PySINDy's default
_SEED = 0


def peer_case(case: dict[str, Any]) -> dict[str, Any]:
    """Return structure, coefficients, field error, forecasts and CPU time of a PySINDy fit."""
    import_module("pysindy")  # import time does not count
    system = flow(case["flow"])
    runs = system.noisy(case["noise"], case["seed"])
    seconds: dict[str, float] = {}
    with cpu_clock(seconds, "fit"):
        make = _weak if case["method"] == "weak" else _strong
        terms, coefficients, threshold = _validated(make, system, runs)
    found = as_polynomials(terms, coefficients, system.dimension)
    test = np.concatenate(system.test)
    return {
        **structure(found, system.truth),
        "field_error": field_error(values(found, test), values(system.truth, test)),
        **valid_forecasts(system, simulated(found)),
        "threshold": threshold,
        "fit_seconds": seconds["fit"],
    }


def _validated(
    make: Any, system: Flow, runs: list[np.ndarray]
) -> tuple[list[str], np.ndarray, float]:
    from pysindy import STLSQ

    terms, blocks = make(system, runs)
    train, test = blocks[:-1], blocks[-1]
    results = []
    for threshold in THRESHOLDS:
        coefficients = _solve(STLSQ, threshold, train)
        residual = test[0] @ coefficients.T - test[1]
        error = float(
            np.sqrt(np.mean(np.mean(residual**2, axis=0) / np.mean(test[1] ** 2, axis=0)))
        )
        results.append((error, int(np.count_nonzero(coefficients)), threshold))
    min_error = min(error for error, _, _ in results)
    _, threshold = min((n, t) for error, n, t in results if error <= TOLERANCE * min_error)
    return terms, _solve(STLSQ, threshold, blocks), threshold


def _solve(stlsq: Any, threshold: float, blocks: list[Any]) -> np.ndarray:
    features = np.concatenate([block[0] for block in blocks])
    targets = np.concatenate([block[1] for block in blocks])
    return stlsq(threshold=threshold, alpha=1e-6).fit(features, targets).coef_


def _strong(system: Flow, runs: list[np.ndarray]) -> tuple[list[str], list[Any]]:
    """Return features at smoothed states and smoothed differences of each run."""
    import pysindy as ps

    times = system.step * np.arange(len(runs[0]))
    library: Any = ps.PolynomialLibrary(degree=system.degree)
    library.fit(runs[0])
    blocks = []
    for run in runs:
        difference: Any = ps.SmoothedFiniteDifference(
            smoother_kws={"window_length": _WINDOW, "polyorder": 3, "axis": 0}
        )
        slopes = np.asarray(difference(run, times))
        blocks.append((np.asarray(library.transform(difference.smoothed_x_)), slopes))
    return _named(library, system), blocks


def _weak(system: Flow, runs: list[np.ndarray]) -> tuple[list[str], list[Any]]:
    """Return integrals of features and of derivatives of each run, by parts."""
    import pysindy as ps

    times = system.step * np.arange(len(runs[0]))
    polynomials: Any = ps.PolynomialLibrary(degree=system.degree)
    np.random.seed(_SEED)  # noqa: NPY002 (PySINDy draws windows from the global generator)
    library = ps.WeakPDELibrary(
        polynomials, spatiotemporal_grid=times, K=_TEST_FUNCTIONS, is_uniform=True
    )
    library.fit([ps.AxesArray(runs[0], {"ax_time": 0, "ax_coord": 1})])
    blocks = []
    for run in runs:
        axes = ps.AxesArray(run, {"ax_time": 0, "ax_coord": 1})
        features = np.asarray(library.transform([axes])[0])
        blocks.append((features, np.asarray(library.convert_u_dot_integral(axes))))
    return _named(polynomials.fit(runs[0]), system), blocks


def _named(library: Any, system: Flow) -> list[str]:
    names = library.get_feature_names([f"x{i}" for i in range(system.dimension)])
    return [name.replace(" ", "*").replace("^", "**") for name in names]
