"""A default fit of a flow with its summary."""

from typing import Any

import numpy as np

from benchmarks._jobs import cpu_clock

from ._flows import Flow, as_polynomials, field_error, flow, structure, valid_forecasts, values


def our_case(case: dict[str, Any]) -> dict[str, Any]:
    """Return structure, coefficients, field error, forecasts, verdict and CPU time of a default
    fit."""
    import orthoreg as og

    system = flow(case["flow"])
    names = [f"x{i}" for i in range(system.dimension)]
    times = system.step * np.arange(len(system.train[0]))
    data = og.Dataset.from_arrays(system.noisy(case["noise"], case["seed"]), times, names=names)
    estimator = og.OrthoReg(library=f"poly({system.degree})")
    _load_modules(system, times, names)
    seconds: dict[str, float] = {}
    with cpu_clock(seconds, "fit"):
        model = estimator.fit(data)
    with cpu_clock(seconds, "summary"):
        summary = model.summary(data)
    found = as_polynomials(model.feature_names_, model.coefficients_, system.dimension)
    test = np.concatenate(system.test)
    return {
        **structure(found, system.truth),
        "field_error": field_error(np.asarray(model.predict(test)), values(system.truth, test)),
        **valid_forecasts(system, lambda start, t: _padded(model.simulate(start, t).x, len(t))),
        "fit_seconds": seconds["fit"],
        "summary_seconds": seconds["summary"],
        "residual": bool(np.any(model.field_.weights)),
        "verdict": summary.verdict.code,
        "text": summary.verdict.text,
        "advice": [advice.code for advice in summary.advice],
        "equations": list(summary.equations),
        "notes": list(summary.notes),
    }


def _load_modules(system: Flow, times: np.ndarray, names: list[str]) -> None:
    """Fit a short noisy run, so that imports do not count. They do not count for PySINDy either."""
    import orthoreg as og

    rows = slice(0, 60)
    short = og.Dataset.from_arrays(system.noisy(0.01, 0)[0][rows], times[rows], names=names)
    og.OrthoReg(library="poly(1)").fit(short)


def _padded(states: np.ndarray, rows: int) -> np.ndarray:
    result = np.full((rows, states.shape[1]), np.nan)
    result[: len(states)] = states
    return result
