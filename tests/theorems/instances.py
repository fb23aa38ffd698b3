"""Random problems, and formulas of the paper that only tests need. Arrays hold values on N samples:
features Phi (N x K), functions N x c, coefficients w (c x K)."""

import math
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from orthoreg.solving import Exact, FitResult, Moments, Regularization
from orthoreg.solving._moments import squared_norm

N = 30
seeds = st.integers(0, 10_000)


def drawn(seed: int, *columns: int) -> list[np.ndarray]:
    """Return matrices with N rows and these numbers of columns."""
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((N, count)) for count in columns]


def orthonormal(seed: int, columns: int) -> np.ndarray:
    """Return columns that are orthonormal under <.,.>_D = 1/N sum."""
    return np.linalg.qr(drawn(seed, columns)[0])[0] * math.sqrt(N)


def any_function() -> np.ndarray:
    """Return a basis that represents any function on the samples."""
    return np.eye(N) * math.sqrt(N)


def inner(f: np.ndarray, g: np.ndarray) -> float:
    """Return <f, g>_D by the definition of the paper."""
    return sum(float(f_i @ g_i) for f_i, g_i in zip(f, g, strict=True)) / len(f)


def library_functions(Phi: np.ndarray, outputs: int) -> list[np.ndarray]:
    """Return phi_j(x) = theta_k(x) e_c on the samples for every pair j = (k, c), ordered by k."""
    return [np.outer(theta, e) for theta in Phi.T for e in np.eye(outputs)]


def projection(Phi: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the projection P^D onto the span of the library."""
    return Phi @ np.linalg.lstsq(Phi, values, rcond=None)[0]


def best_residual(leftover: np.ndarray, lam2: float) -> np.ndarray:
    """Return r / (1 + lam2), the minimizer of |r - g|^2 + lam2 |g|^2 over g. [eq:aphynity]"""
    return leftover / (1 + lam2)


def reduced_value(leftover: np.ndarray, lam2: float) -> float:
    """Return lam2 / (1 + lam2) |r|^2, the minimum of |r - g|^2 + lam2 |g|^2 over g.
    [eq:aphynity]"""
    return lam2 / (1 + lam2) * squared_norm(leftover)


def rescaled_penalty(penalty: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return c_j^2 <f_aug, phi_j>^2, the share of c_j phi_j in the penalty.
    [app:hyperparam_selection]"""
    return scale[:, None] ** 2 * penalty


@dataclass(frozen=True)
class Solution:
    """The global minimizer on the samples."""

    w: np.ndarray
    f_phy: np.ndarray
    f_aug: np.ndarray
    result: FitResult


def solve(
    Phi: np.ndarray,
    Psi: np.ndarray,
    y: np.ndarray,
    *,
    mu: float = 0.0,
    lam: float = 0.0,
    lam2: float = 0.0,
    rho: float = 0.0,
) -> Solution:
    """Minimize |y - Phi w - Psi v|^2 + mu |w|_1 + lam sum_j <Psi v, phi_j>^2 + lam2 |Psi v|^2."""
    block = np.hstack([Phi, Psi, y])
    moments = Moments(len(y), block.T @ block, Phi.shape[1], Psi.shape[1])
    mask = np.ones((y.shape[1], Phi.shape[1]), bool)
    result = Exact().solve([moments], mask, Regularization(mu, lam, lam2), rho)
    w = result.coefficients
    return Solution(w, Phi @ w.T, Psi @ result.weights, result)
