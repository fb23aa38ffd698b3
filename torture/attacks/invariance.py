"""Random systems in other orders, units and threads."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from torture._attack import Broken, attack

_TOLERANCE = 1e-6  # relative, of coefficients


def _runs(rng: np.random.Generator) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return times and noisy runs with different lengths of a random nonlinear oscillator."""
    from scipy.integrate import solve_ivp

    a, b, c = rng.uniform(-0.4, 0.4), rng.uniform(0.6, 1.5), rng.uniform(0.0, 0.4)
    times, paths = np.linspace(0, 8, 121), []
    for start in rng.uniform(-1, 1, (4, 2)):
        some = times[: rng.integers(80, 122)]
        solution = solve_ivp(
            lambda _, x: [x[1], -b * x[0] + a * x[1] - c * x[1] ** 3], (0, 8), start, t_eval=some,
            rtol=1e-9, atol=1e-10,
        )  # fmt: skip
        paths.append(solution.y.T)
    level = float(rng.choice([0.0, 0.01, 0.03])) * np.concatenate(paths).std(axis=0)
    return times, [path + level * rng.standard_normal(path.shape) for path in paths]


def _fit(paths: list[np.ndarray], times: np.ndarray, names: tuple[str, ...] = ("x", "v")) -> Any:
    import orthoreg as og

    data = og.Dataset.from_arrays(paths, [times[: len(path)] for path in paths], names=list(names))
    model = og.OrthoReg("poly(3)").fit(data)
    return model, model.summary(data).verdict.code


def _compare(found: np.ndarray, expected: np.ndarray, what: str, tolerance: float) -> None:
    if ((found != 0) != (expected != 0)).any():
        raise Broken(f"{what}: other terms")
    error = np.abs(found - expected).max() / np.abs(expected).max()
    if error > tolerance:
        raise Broken(f"{what}: coefficients differ by {error:.1e}")


@attack("invariance", trials=200, seconds=60.0)
def order_of_runs(rng: np.random.Generator, folder: Path) -> None:
    """The order of runs changes neither a digit of the coefficients nor the verdict."""
    times, paths = _runs(rng)
    model, verdict = _fit(paths, times)
    other, other_verdict = _fit([paths[i] for i in rng.permutation(len(paths))], times)
    _compare(other.coefficients_, model.coefficients_, "order of runs", 0.0)
    if verdict != other_verdict:
        raise Broken(f"order of runs: {verdict} and {other_verdict}")


@attack("invariance", trials=200, seconds=60.0)
def time_units(rng: np.random.Generator, folder: Path) -> None:
    """Another unit or origin of time only changes the unit of the coefficients."""
    times, paths = _runs(rng)
    model, verdict = _fit(paths, times)
    unit = float(rng.choice([3600.0, 60.0, 1e-3, 7.0, 1024.0]))
    shift = float(rng.choice([0.0, 100.0]))
    other, other_verdict = _fit(paths, times / unit + shift)
    _compare(
        other.coefficients_ / unit, model.coefficients_, f"t / {unit:g} + {shift:g}", _TOLERANCE
    )
    if verdict != other_verdict:
        raise Broken(f"t / {unit:g} + {shift:g}: {verdict} and {other_verdict}")


@attack("invariance", trials=100, seconds=60.0)
def names_of_columns(rng: np.random.Generator, folder: Path) -> None:
    """The names of columns do not change the result."""
    times, paths = _runs(rng)
    model, _ = _fit(paths, times)
    other, _ = _fit(paths, times, ("second", "a b"))
    _compare(other.coefficients_, model.coefficients_, "names", 0.0)


@attack("concurrency", trials=50, seconds=120.0)
def fits_in_threads(rng: np.random.Generator, folder: Path) -> None:
    """Fits in four threads give the same bytes as fits one after the other."""
    work = [_runs(rng) for _ in range(4)]

    def fit(pair: tuple[np.ndarray, list[np.ndarray]]) -> bytes:
        times, paths = pair
        return _fit(paths, times)[0].coefficients_.tobytes()

    serial = [fit(pair) for pair in work]
    with ThreadPoolExecutor(4) as pool:
        if list(pool.map(fit, work)) != serial:
            raise Broken("threads give other coefficients")
