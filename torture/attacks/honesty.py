"""Data that support no equations, and numbers at the limits of double precision."""

from pathlib import Path
from typing import Any

import numpy as np

from torture._attack import Broken, Cases, attack
from torture._systems import random_system


def _data(paths: Any, times: Any, names: list[str] | None = None) -> Any:
    import orthoreg as og

    if isinstance(paths, list) and not isinstance(times, list):
        times = [times[: len(path)] for path in paths]
    return og.Dataset.from_arrays(paths, times, names=names)


def _fit(data: Any, library: str | None = None) -> tuple[Any, str]:
    """Return a model and the code of its verdict."""
    import orthoreg as og

    model = og.OrthoReg(library).fit(data)
    return model, model.summary(data).verdict.code


def _same_equations(model: Any, other: Any, tolerance: float, what: str, unit: float = 1.0) -> None:
    """Raise `Broken` if the terms differ, or coefficients relative to the largest of an
    equation."""
    w, expected = unit * model.coefficients_, other.coefficients_
    if ((w != 0) != (expected != 0)).any():
        raise Broken(f"{what}: {model.equations()} instead of {other.equations()}")
    size = np.abs(expected).max(axis=1, keepdims=True)
    if (np.abs(w - expected) > tolerance * size).any():
        raise Broken(f"{what}: {model.equations()} instead of {other.equations()}")


@attack("honesty", trials=100, seconds=60.0)
def white_noise(rng: np.random.Generator, folder: Path) -> None:
    """White noise is never called explained, and no equation of it has a term."""
    data = _data(rng.standard_normal((300, 2)), np.arange(300.0))
    model, verdict = _fit(data)
    if verdict == "explained" or model.coefficients_.any():
        raise Broken(f"noise is {verdict}: {model.equations()}")


@attack("honesty", trials=100, seconds=60.0)
def random_walks(rng: np.random.Generator, folder: Path) -> None:
    """Random walks, with steps of any distribution, are never called explained."""
    steps = rng.standard_t(float(rng.choice([2.0, 5.0, 100.0])), (200, int(rng.integers(1, 3))))
    model, verdict = _fit(_data(steps.cumsum(axis=0), np.arange(200.0)))
    if verdict == "explained":
        raise Broken(f"a random walk is {verdict}: {model.equations()}")


@attack("honesty", trials=100, seconds=60.0)
def jumping_states(rng: np.random.Generator, folder: Path) -> None:
    """States that jump between random levels at random times are never called explained."""
    n = int(rng.integers(1, 3))
    jumps = rng.random((400, n)) < 0.05
    levels = rng.standard_normal((400, n))
    last = np.maximum.accumulate(np.where(jumps, np.arange(400)[:, None], 0), axis=0)
    model, verdict = _fit(_data(np.take_along_axis(levels, last, 0), np.arange(400) * 0.1))
    if verdict == "explained":
        raise Broken(f"random jumps are {verdict}: {model.equations()}")


@attack("honesty", trials=100, seconds=60.0)
def dependent_states(rng: np.random.Generator, folder: Path) -> None:
    """If a column is a copy or a multiple of a state, or constant, equations with the verdict
    `explained` still predict the derivatives."""
    system = random_system(rng, states=int(rng.integers(1, 3)))
    level, weight = float(rng.choice([0.0, 0.01])), float(rng.uniform(-3.0, 3.0))
    kind = str(rng.choice(["copy", "multiple", "sum", "constant"]))

    def beside(values: np.ndarray, offset: float) -> np.ndarray:
        match kind:
            case "copy":
                return values[:, :1]
            case "multiple":
                return weight * values[:, :1]
            case "sum":
                return values.sum(axis=1, keepdims=True)
        return np.full((len(values), 1), offset)

    paths = [np.c_[path, beside(path, weight)] for path in system.noisy(level, rng)]
    model, verdict = _fit(_data(paths, system.times), "poly(2)")
    states = np.concatenate(system.paths)
    rates = system.rates(states)
    rates = np.c_[rates, beside(rates, 0.0)]
    size = np.sqrt((rates**2).mean(axis=0))
    error = np.sqrt(((model.predict(np.c_[states, beside(states, weight)]) - rates) ** 2).mean(0))
    if verdict == "explained" and (error > (0.05 + 2 * level) * size).any():
        raise Broken(f"{kind}: errors {error / np.where(size > 0, size, 1)}, {model.equations()}")


@attack("honesty", trials=100, seconds=60.0)
def damaged_runs(rng: np.random.Generator, folder: Path) -> None:
    """Gaps inside runs change neither the terms nor the verdict, and the constants by less than 1%.
    Runs of one row are refused."""
    system = random_system(rng)
    times, paths = [], []
    for path in system.paths:
        first, length = int(rng.integers(20, 60)), int(rng.integers(1, 40))
        kept = np.r_[0:first, first + length : len(path)]
        times.append(system.times[kept])
        paths.append(path[kept])
    if rng.random() < 0.1:
        times.append(system.times[:1])
        paths.append(system.paths[0][:1])
    model, verdict = _fit(_data(paths, times, system.names), system.library)
    full, full_verdict = _fit(system.dataset(system.paths), system.library)
    _same_equations(model, full, 0.01, "gaps")
    if verdict != full_verdict:
        raise Broken(f"gaps: {verdict} instead of {full_verdict}")


@attack("honesty", trials=100, seconds=60.0)
def number_formats(rng: np.random.Generator, folder: Path) -> None:
    """With single precision, or times as integer nanoseconds or seconds since 1970, the terms are
    the same, and the constants differ only by rounding errors."""
    system = random_system(rng, states=2)
    full, _ = _fit(system.dataset(system.paths), system.library)
    times = np.round(system.times, 9)
    form = str(rng.choice(["float32", "nanoseconds", "epoch"]))
    unit = 1e9 if form == "nanoseconds" else 1.0
    match form:
        case "float32":
            paths = [path.astype(np.float32) for path in system.paths]
        case "epoch":
            paths, times = list(system.paths), times + 1.7e9
        case _:
            start = np.int64(1_700_000_000_000_000_000)
            paths, times = list(system.paths), start + np.round(times * 1e9).astype(np.int64)
    model, _ = _fit(_data(paths, times, system.names), system.library)
    _same_equations(model, full, 1e-3, form, unit)


@attack("honesty", trials=50, seconds=120.0)
def chaos(rng: np.random.Generator, folder: Path) -> Cases:
    """For the Lorenz system with random constants, equations with the verdict `explained` have the
    true terms. In 80% of cases, simulations far beyond the data state the time up to which they are
    reliable: 12 s do not always show the growth of small errors in both halves of the run."""
    from scipy.integrate import solve_ivp

    s, r, b = rng.uniform(8, 12), rng.uniform(26, 40), rng.uniform(2.2, 3.0)
    times = np.linspace(0, 12, 1201)

    def rates(_: float, x: np.ndarray) -> list[float]:
        return [s * (x[1] - x[0]), x[0] * (r - x[2]) - x[1], x[0] * x[1] - b * x[2]]

    start = rng.uniform(-8, 8, 3) + [0, 0, 20]
    path = solve_ivp(rates, (0, 12), start, t_eval=times, rtol=1e-9, atol=1e-9).y.T
    path += float(rng.choice([0.0, 0.01])) * path.std(axis=0) * rng.standard_normal(path.shape)
    model, verdict = _fit(_data(path, times, ["x", "y", "z"]), "poly(2)")
    counts = (model.coefficients_ != 0).sum(axis=1)
    if verdict == "explained" and counts.tolist() != [2, 3, 2]:
        raise Broken(f"{verdict}: {model.equations()}")
    rollout = model.simulate(path[-1], np.linspace(0, 60, 3001))
    if verdict != "explained":
        return {}
    until = rollout.reliable_until
    if until is not None and until >= 60:
        raise Broken(f"a forecast of 60 s is reliable until {until}")
    return {"a long forecast states how long it is reliable": (until is not None, 0.8)}


@attack("honesty", trials=300, seconds=20.0)
def extreme_sizes(rng: np.random.Generator, folder: Path) -> None:
    """States of any size, from denormal to 1e300, are refused or give the same digits."""
    import orthoreg as og

    times = np.linspace(0, 10, 201)
    states = np.exp(-0.1 * times)[:, None] * np.c_[np.cos(times), -np.sin(times)]
    exponent = int(rng.integers(-1070, 1000))
    data = og.Dataset.from_arrays(np.ldexp(states, exponent), times)
    model = og.OrthoReg("poly(1)", og.Zero()).fit(data)
    expected = [[-0.1, 1.0], [-1.0, -0.1]]
    if not np.allclose(model.coefficients_[:, 1:], expected, rtol=1e-4, atol=1e-5):
        raise Broken(f"2**{exponent}: {model.equations()}")


@attack("honesty", trials=2000)
def singular_problems(rng: np.random.Generator, folder: Path) -> None:
    """Singular quadratic problems with an L1 norm and bounds are solved as accurately as by SciPy's
    L-BFGS-B, or the duality gap bounds the difference."""
    from scipy.optimize import minimize

    from orthoreg.solving import Bounds, QuadraticProblem

    size, rank = int(rng.integers(2, 8)), int(rng.integers(1, 7))
    features, target = rng.standard_normal((rank, size)), rng.standard_normal(rank)
    middle, width = rng.standard_normal(size), rng.exponential(1.0, size)
    low = np.where(rng.random(size) < 0.4, -np.inf, middle - width)
    high = np.where(rng.random(size) < 0.4, np.inf, middle + width)
    problem = QuadraticProblem(
        features.T @ features, features.T @ target, float(rng.choice([0.0, 0.01, 1.0])),
        bounds=Bounds(low, high),
    )  # fmt: skip
    w = problem.solve()
    if (w < low).any() or (w > high).any():
        raise Broken("the solution violates its bounds")

    def split(parts: np.ndarray) -> tuple[float, np.ndarray]:
        positive, negative = np.split(parts, 2)
        v = positive - negative
        slope = 2 * (problem.Q @ v - problem.r)
        value = v @ (problem.Q @ v - 2 * problem.r) + problem.l1 * parts.sum()
        return float(value), np.concatenate([slope + problem.l1, problem.l1 - slope])

    lows, highs = (np.clip(side, 0, None) for side in (low, high))
    limits = np.r_[np.c_[lows, highs], np.c_[np.clip(-high, 0, None), np.clip(-low, 0, None)]]
    start = np.clip(1.0, limits[:, 0], limits[:, 1])
    other = minimize(
        split, start, jac=True, method="L-BFGS-B", bounds=limits,
        options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-12},
    )  # fmt: skip
    gap, excess = problem.duality_gap(w, float(target @ target)), problem.value(w) - other.fun
    if excess > gap + 1e-10 or gap > 1e-6:
        raise Broken(f"{problem.value(w):g} instead of {other.fun:g}, stated gap {gap:g}")
