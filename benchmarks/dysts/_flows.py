"""The flows: training and test runs, true equations and noise, and scores of polynomial models.

A polynomial field is a dictionary per equation, which maps monomials to coefficients. A monomial is
the tuple of its exponents.
"""

import csv
import gzip
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from benchmarks.measurements._line import data_file

VALID_ERROR = 0.2  # in standard deviations of the states; a larger error ends a valid forecast

Polynomials = list[dict[tuple[int, ...], float]]


@final
@dataclass(frozen=True)
class Flow:
    """A chaotic flow with clean runs and the coefficients of its equations."""

    name: str
    degree: int
    step: float
    lyapunov: float
    truth: Polynomials
    train: tuple[np.ndarray, ...]
    test: tuple[np.ndarray, ...]

    @property
    def dimension(self) -> int:
        return len(self.truth)

    @cached_property
    def spread(self) -> np.ndarray:
        """The standard deviation of each state over the training runs."""
        return np.concatenate(self.train).std(axis=0)

    def noisy(self, noise: float, seed: int) -> list[np.ndarray]:
        """Return the training runs with noise in standard deviations of each state."""
        rng = np.random.default_rng([seed, *self.name.encode()])
        return [run + noise * self.spread * rng.standard_normal(run.shape) for run in self.train]


def names() -> list[str] | None:
    """Return the names of all flows, or None if the data are not available."""
    file = data_file("dysts_half.json")
    return None if file is None else [entry["name"] for entry in json.loads(file.read_text())]


def flow(name: str) -> Flow:
    described, table = data_file("dysts_half.json"), data_file("dysts_half.csv.gz")
    assert described is not None and table is not None
    entry = {flow["name"]: flow for flow in json.loads(described.read_text())}[name]
    dimension = entry["dim"]
    runs: dict[tuple[str, str], list[list[float]]] = {}
    with gzip.open(table, "rt") as lines:
        for row in csv.DictReader(lines):
            if row["name"] == name:
                values = [float(row[f"x{i}"]) for i in range(dimension)]
                runs.setdefault((row["part"], row["run"]), []).append(values)
    parts = {
        wanted: tuple(np.array(run) for (part, _), run in runs.items() if part == wanted)
        for wanted in ("train", "test")
    }
    truth = [_polynomial(text, dimension) for text in entry["equations"]]
    return Flow(name, entry["degree"], entry["step"], entry["lyapunov"], truth, **parts)


def monomial(term: str, dimension: int) -> tuple[int, ...]:
    """Return the exponents of "x0**2*x1", or zeros for "1"."""
    exponents = [0] * dimension
    for factor in term.replace("^", "**").replace(" ", "*").split("*x"):
        match = re.fullmatch(r"x?(\d+)(?:\*\*(\d+))?", factor)
        if match is None:
            raise ValueError(f"not a monomial: {term!r}")
        if term != "1":
            exponents[int(match[1])] += int(match[2] or 1)
    return tuple(exponents)


def _polynomial(text: str, dimension: int) -> dict[tuple[int, ...], float]:
    result = {}
    for term in text.split(" + "):
        number, _, factors = term.partition("*")
        result[monomial(factors or "1", dimension)] = float(number)
    return result


def values(polynomials: Polynomials, states: np.ndarray) -> np.ndarray:
    """Return the derivatives (N, n) at states (N, n)."""
    columns = [
        sum(
            (c * np.prod(states ** np.array(m), axis=1) for m, c in row.items()),
            np.zeros(len(states)),
        )
        for row in polynomials
    ]
    return np.column_stack(columns)


def structure(found: Polynomials, truth: Polynomials) -> dict[str, Any]:
    """Return whether the terms are exactly the true terms, their F1, and the median relative error
    of the true coefficients. A missing coefficient counts as zero."""
    pairs = {(c, m) for c, row in enumerate(truth) for m in row}
    chosen = {(c, m) for c, row in enumerate(found) for m, value in row.items() if value}
    common = len(pairs & chosen)
    errors = [abs(found[c].get(m, 0.0) / truth[c][m] - 1) for c, m in sorted(pairs)]
    return {
        "exact": chosen == pairs,
        "f1": 2 * common / (len(pairs) + len(chosen)),
        "missed": len(pairs - chosen),
        "spurious": len(chosen - pairs),
        "coefficient_error": float(np.median(errors)),
        "worst_coefficient_error": float(np.max(errors)),
    }


def field_error(predicted: np.ndarray, truth: np.ndarray) -> float:
    """Return the largest relative RMS error of the derivatives over all equations."""
    size = np.sqrt(np.mean(truth**2, axis=0))
    return float(np.max(np.sqrt(np.mean((predicted - truth) ** 2, axis=0)) / size))


def valid_forecasts(
    flow: Flow, forecast: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> dict[str, float]:
    """Return how long forecasts of the test runs stay within 20% of the standard deviation, in
    Lyapunov times and as a fraction of the duration (means over all test runs)."""
    lengths, shares = [], []
    for run in flow.test:
        times = flow.step * np.arange(len(run))
        with np.errstate(all="ignore"):
            error = np.sqrt(np.mean(((forecast(run[0], times) - run) / flow.spread) ** 2, axis=1))
        outside = np.flatnonzero(~(error <= VALID_ERROR))
        last = int(outside[0]) if len(outside) else len(run) - 1
        lengths.append(times[last] * flow.lyapunov)
        shares.append(last / (len(run) - 1))
    return {"lyapunov_times": float(np.mean(lengths)), "horizon_share": float(np.mean(shares))}


def simulated(polynomials: Polynomials) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return a function that solves a polynomial field from an initial state at given times. States
    after divergence are NaN."""
    from scipy.integrate import solve_ivp

    dimension = len(polynomials)
    exponents = [np.array([*row], float).reshape(len(row), dimension) for row in polynomials]
    weights = [np.array(list(row.values())) for row in polynomials]

    def slope(_: float, x: np.ndarray) -> list[float]:
        return [
            float(w @ np.prod(x**e, axis=1)) if len(w) else 0.0
            for w, e in zip(weights, exponents, strict=True)
        ]

    def forecast(start: np.ndarray, times: np.ndarray) -> np.ndarray:
        limit = 1e3 * (1 + float(np.abs(start).max()))

        def escape(_: float, x: np.ndarray) -> float:
            return limit - float(np.abs(x).max())

        escape.terminal = True  # pyright: ignore[reportFunctionMemberAccess]
        result = np.full((len(times), len(start)), np.nan)
        solution = solve_ivp(
            slope,
            (times[0], times[-1]),
            start,
            "LSODA",
            times,
            events=escape,
            rtol=1e-8,
            atol=1e-10,
        )
        result[: solution.y.shape[1]] = solution.y.T
        return result

    return forecast


def as_polynomials(terms: Sequence[str], coefficients: np.ndarray, dimension: int) -> Polynomials:
    """Return the equations of a coefficient matrix (n, K) whose columns are these monomials."""
    keys = [monomial(term, dimension) for term in terms]
    return [
        {key: float(value) for key, value in zip(keys, row, strict=True) if value}
        for row in coefficients
    ]
