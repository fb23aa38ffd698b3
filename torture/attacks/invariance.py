"""Random systems in other orders and units."""

from pathlib import Path
from typing import Any

import numpy as np

from torture._attack import Broken, attack
from torture._systems import random_system

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


@attack("invariance", trials=200, seconds=60.0)
def order_of_columns(rng: np.random.Generator, folder: Path) -> None:
    """Another order of states changes only the order of the equations. Terms and verdict are the
    same, and coefficients differ only by rounding errors."""
    import orthoreg as og

    system = random_system(rng, states=2)
    level = float(rng.choice([0.0, 0.01, 0.03]))
    paths = system.noisy(level, rng)
    data = system.dataset(paths)
    swapped = og.Dataset.from_arrays(
        [path[:, ::-1] for path in paths], [system.times] * len(paths), names=["y", "x"]
    )
    model, other = (og.OrthoReg(system.library).fit(runs) for runs in (data, swapped))
    terms = list(other.feature_names_)
    places = [terms.index(_in_other_order(name, terms)) for name in model.feature_names_]
    expected = model.coefficients_
    _compare(other.coefficients_[::-1][:, places], expected, "order of columns", _TOLERANCE)
    verdicts = [model.summary(data).verdict.code, other.summary(swapped).verdict.code]
    if verdicts[0] != verdicts[1]:
        raise Broken(f"order of columns: {verdicts}")


def _in_other_order(name: str, names: list[str]) -> str:
    """Return the name of the same product of states among other names."""
    return next(text for text in names if _factors(text) == _factors(name))


@attack("invariance", trials=200, seconds=60.0)
def units_of_states(rng: np.random.Generator, folder: Path) -> None:
    """Other units of states only change the scale of the coefficients. Terms and verdict are the
    same. A power of two for all states changes no digit."""
    import orthoreg as og

    system = random_system(rng, states=2)
    paths = system.noisy(float(rng.choice([0.0, 0.01, 0.03])), rng)
    library = system.library.partition(" + fourier")[0]  # arguments of sines have no other units
    exact = bool(rng.random() < 0.5)
    units = np.full(2, 2.0 ** rng.integers(-20, 20)) if exact else 10.0 ** rng.uniform(-6, 6, 2)
    data = system.dataset(paths)
    scaled = system.dataset([path * units for path in paths])
    model, other = (og.OrthoReg(library, og.Zero()).fit(runs) for runs in (data, scaled))
    sizes = [
        np.prod([units[system.names.index(s)] ** _power(name, s) for s in system.names])
        for name in model.feature_names_
    ]
    found = other.coefficients_ * sizes / units[:, None]
    _compare(found, model.coefficients_, f"units {units}", 0.0 if exact else _TOLERANCE)
    verdicts = [model.summary(data).verdict.code, other.summary(scaled).verdict.code]
    if verdicts[0] != verdicts[1]:
        raise Broken(f"units {units}: {verdicts}")


def _factors(name: str) -> list[str]:
    return sorted(name.replace("**", "^").split("*"))


def _power(name: str, state: str) -> int:
    """Return the power of a state in a monomial, such as 2 for x in x**2*y."""
    factors = [f"{factor}^1".split("^") for factor in _factors(name)]
    return sum(int(factor[1]) for factor in factors if factor[0] == state)


@attack("invariance", trials=200, seconds=60.0)
def split_runs(rng: np.random.Generator, folder: Path) -> None:
    """If clean runs are cut in two, terms and verdict do not change. Coefficients change by less
    than 1%, because derivatives near the cut are estimated from one side."""
    import orthoreg as og

    system = random_system(rng)
    cut = int(rng.integers(30, 90))
    times = [system.times[:cut], system.times[cut:]] * len(system.paths)
    paths = [part for path in system.paths for part in (path[:cut], path[cut:])]
    whole = system.dataset(system.paths)
    parts = og.Dataset.from_arrays(paths, times, names=system.names)
    model, other = (og.OrthoReg(system.library).fit(runs) for runs in (whole, parts))
    _compare(other.coefficients_, model.coefficients_, "cut runs", 0.01)
    verdicts = [model.summary(whole).verdict.code, other.summary(parts).verdict.code]
    if verdicts[0] != verdicts[1]:
        raise Broken(f"cut runs: {verdicts}")


@attack("invariance", trials=100, seconds=60.0)
def chunks(rng: np.random.Generator, folder: Path) -> None:
    """Clean runs in chunks of any size give the same terms and coefficients as runs in memory."""
    import orthoreg as og

    system = random_system(rng, runs=6)
    stacked = np.stack(system.paths)
    rows = int(rng.integers(121, 800))
    whole = system.dataset(system.paths)
    parts = og.ChunkedDataset.from_arrays(stacked, system.times, names=system.names, rows=rows)
    model, other = (og.OrthoReg(system.library, og.Zero()).fit(runs) for runs in (whole, parts))
    _compare(other.coefficients_, model.coefficients_, f"chunks of {rows} rows", _TOLERANCE)
