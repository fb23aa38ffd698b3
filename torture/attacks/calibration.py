"""Calibration of probabilities, on random systems that were not used to choose settings."""

from pathlib import Path
from typing import Any

import numpy as np

from torture._attack import Broken, Cases, attack
from torture._systems import RandomSystem, random_system

_LIBRARIES = ("poly(1)", "poly(2)", "poly(3)", "poly(1) + fourier(1)", "poly(2) + fourier(1)")
_HELD_OUT_ERROR = 0.05  # of the derivative, as in the sentence "explain x' within 5%"
_SHOWN_AS_CERTAIN = 0.995  # probability from which "100%" is shown


def _fit(system: RandomSystem, library: str, level: float, rng: np.random.Generator) -> Any:
    import orthoreg as og

    data = system.dataset(system.noisy(level, rng))
    model = og.OrthoReg(library).fit(data)
    return model, data, model.summary(data)


def _held_out_error(model: Any, system: RandomSystem, rng: np.random.Generator) -> float:
    """Return the largest relative error of the equations on clean runs from other starts, at states
    within the ranges of the training data."""
    states = np.concatenate(system.paths)
    low, high = states.min(axis=0), states.max(axis=0)
    held = np.concatenate(system.more_runs(rng.uniform(low, high, (8, len(low)))))
    held = held[((held >= low) & (held <= high)).all(axis=1)]
    truth = system.rates(held)
    errors = model.decompose(held)[0] - truth
    return float((np.sqrt((errors**2).mean(axis=0)) / np.sqrt((truth**2).mean(axis=0))).max())


@attack("calibration", trials=500, seconds=60.0, share=3.0)
def verdicts(rng: np.random.Generator, folder: Path) -> Cases:
    """Equations with the verdict `explained` predict the derivatives of clean runs from other
    initial states within 5%, in 99% of systems without noise. The library may lack terms."""
    system = random_system(rng)
    model, _, summary = _fit(system, str(rng.choice(_LIBRARIES)), 0.0, rng)
    if summary.verdict.code != "explained":
        return {}
    error = _held_out_error(model, system, rng)
    return {"explained without noise": (error <= _HELD_OUT_ERROR, 0.99)}


@attack("calibration", trials=500, seconds=60.0, share=3.0)
def intervals(rng: np.random.Generator, folder: Path) -> Cases:
    """With noise and a complete library, 95% of the intervals of models with the true terms contain
    the true value, and the share of true terms equals their probability."""
    system = random_system(rng)
    level = float(rng.choice([0.01, 0.02, 0.05]))
    model, _, summary = _fit(system, system.library, level, rng)
    truth = system.coefficients(list(model.feature_names_))
    cases: Cases = {}
    value = {
        (name, term): truth[i, k]
        for i, name in enumerate(system.names)
        for k, term in enumerate(model.feature_names_)
    }
    rows = [(row, float(value[row.equation, row.term])) for row in summary.terms]
    shown = [pair for pair in rows if pair[0].coefficient and pair[0].low is not None]
    if shown and ((model.coefficients_ != 0) == (truth != 0)).all():
        row, true = shown[rng.integers(len(shown))]
        cases["95% interval contains the constant"] = (row.low <= true <= row.high, 0.95)
    for low, high in ((0.5, 0.9), (0.9, 0.99), (0.99, 1.01)):
        between = [pair for pair in rows if low <= (pair[0].probability or 0.0) < high]
        if between:
            row, true = between[rng.integers(len(between))]
            name = f"probability of a term from {low:.0%} to {min(high, 1.0):.0%}"
            cases[name] = (true != 0.0, min(row.probability, _SHOWN_AS_CERTAIN))
    if summary.verdict.code == "explained":
        error = _held_out_error(model, system, rng)
        cases["explained with noise"] = (error <= _HELD_OUT_ERROR + level, 0.99)
    return cases


@attack("calibration", trials=200, seconds=120.0, share=3.0)
def proposals(rng: np.random.Generator, folder: Path) -> Cases:
    """`explain` proposes nothing for 95% of the complete libraries, and 95% of the accepted
    proposals improve the equations for clean runs from other initial states."""
    system = random_system(rng, states=int(rng.integers(1, 3)))
    level = float(rng.choice([0.0, 0.01]))
    if rng.random() < 0.5:
        model, data, summary = _fit(system, system.library, level, rng)
        right = (model.coefficients_ != 0) == (system.coefficients(model.feature_names_) != 0)
        proposed = model.explain(data).proposals if right.all() else ()
        return {"no proposal for a complete library": (not proposed, 0.95)}
    model, data, summary = _fit(system, "poly(1)", level, rng)
    explanation = model.explain(data)
    if summary.verdict.code == "explained" or not explanation.proposals:
        return {}
    accepted = explanation.accept()
    seed = int(rng.integers(2**32))
    before, after = (
        _held_out_error(fitted, system, np.random.default_rng(seed)) for fitted in (model, accepted)
    )
    return {"an accepted proposal improves other runs": (after < before, 0.95)}


@attack("calibration", trials=10_000)
def penalty_bounds(rng: np.random.Generator, folder: Path) -> None:
    """The overlap of the residual with the terms is below the bound of the certificate, and an
    independent computation gives the same certificate."""
    from orthoreg.diagnostics import certify
    from orthoreg.solving import Exact, Moments, Regularization

    rows, terms, width = int(rng.integers(6, 50)), int(rng.integers(1, 6)), int(rng.integers(0, 12))
    phi, psi, y = (rng.standard_normal((rows, k)) for k in (terms, width, 1))
    copies = np.zeros((rows, int(rng.random() < 0.2))) + 2.0 * phi[:, :1]
    independent, phi = phi, np.c_[phi, copies]
    y *= 10.0 ** rng.uniform(-3, 3)
    mu = float(rng.choice([0.0, 0.01, 1.0])) * float((y**2).mean())
    lam, lam2 = 10.0 ** rng.uniform(-3, 6), float(rng.choice([0.0, 0.1]))
    block = np.c_[phi, psi, y]
    moments = Moments(rows, block.T @ block, phi.shape[1], width)
    allowed = np.ones((1, phi.shape[1]), bool)
    result = Exact().solve([moments], allowed, Regularization(mu, lam, lam2), 1e-8)
    names = tuple(f"f{k}" for k in range(phi.shape[1]))
    equation = certify(result, ("y",), names, normalized=False).equations[0]
    bound, size = equation.penalty_bound, float((y**2).mean())
    w, residual = result.coefficients[0], psi @ result.weights[:, 0]
    observed = float(((phi.T @ residual / rows) ** 2).sum())
    bound_of_rows = _symbolic_objective(independent, y[:, 0], mu) / lam
    highest = bound_of_rows * (1 + 1e-6) + 1e-18 * size  # rounding error
    if not (bound.assumption_holds and bound.holds and observed <= highest):
        raise Broken(f"{bound}, from rows {observed:g} <= {bound_of_rows:g}")
    reached = float(((y[:, 0] - phi @ w - residual) ** 2).mean()) + mu * float(np.abs(w).sum())
    reached += lam * observed + lam2 * float((residual**2).mean())
    reached += equation.ridge * float((result.weights**2).sum())
    for stated, expected in (
        (bound.observed, observed), (bound.bound, bound_of_rows), (equation.objective, reached),
    ):  # fmt: skip
        if abs(stated - expected) > 1e-6 * abs(expected) + 1e-9 * size:
            raise Broken(f"{stated:g} is stated and {expected:g} follows from the rows")
    if not -1e-12 * size <= equation.duality_gap <= 1e-6 * size:
        raise Broken(f"the duality gap is {equation.duality_gap:g} at a size of {size:g}")


def _symbolic_objective(phi: np.ndarray, y: np.ndarray, mu: float) -> float:
    """Return min_w |y - phi w|^2 + mu |w|_1 by SciPy or scikit-learn."""
    from sklearn.linear_model import Lasso

    if mu:
        model = Lasso(alpha=mu / 2, fit_intercept=False, tol=1e-12, max_iter=100_000)
        w = model.fit(phi, y).coef_
    else:
        w = np.linalg.lstsq(phi, y, rcond=None)[0]
    return float(((y - phi @ w) ** 2).mean() + mu * np.abs(w).sum())
