"""Data that support no equations, and numbers at the limits of double precision."""

from pathlib import Path

import numpy as np

from torture._attack import Broken, attack


@attack("honesty", trials=100, seconds=60.0)
def white_noise(rng: np.random.Generator, folder: Path) -> None:
    """White noise is never called explained."""
    import orthoreg as og

    data = og.Dataset.from_arrays(rng.standard_normal((300, 2)), np.arange(300.0))
    model = og.OrthoReg().fit(data)
    verdict = model.summary(data).verdict.code
    if verdict == "explained":
        raise Broken(f"noise is {verdict}: {model.equations()}")


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
    """Singular quadratic problems with an L1 norm and bounds are solved as by SciPy's L-BFGS-B on
    positive and negative parts."""
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
    if problem.value(w) - other.fun > 1e-7:
        raise Broken(f"{problem.value(w):g} instead of {other.fun:g}")
