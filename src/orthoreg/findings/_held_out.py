"""Predict held-out rows by least squares, fold by fold."""

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import cho_factor, cho_solve

from . import _limits as limits


def held_out_values(
    design: Float[np.ndarray, "N K"],
    targets: Float[np.ndarray, "N c"],
    fold: Int[np.ndarray, " N"],
) -> Float[np.ndarray, "N c"]:
    """Return the prediction for each row by a least-squares fit to the other folds.

    With design = U S V', the fit to the rows outside fold f has the coefficients (I - U_f' U_f)^-1
    (U' y - U_f' y_f) in the basis U. This is as accurate as the design allows. Directions that
    occur only in fold f have coefficient zero.
    """
    values = np.zeros_like(targets)
    size = np.sqrt(np.mean(design**2, axis=0))
    basis, extent, _ = np.linalg.svd(design / np.where(size > 0, size, 1.0), full_matrices=False)
    basis = basis[:, extent > limits.RANK_TOLERANCE * max(float(extent.max(initial=0.0)), 1e-300)]
    moments = basis.T @ targets
    for part in np.unique(fold):
        inside = basis[fold == part]
        gram = np.eye(basis.shape[1]) - inside.T @ inside
        right = moments - inside.T @ targets[fold == part]
        values[fold == part] = (
            inside @ np.linalg.lstsq(gram, right, rcond=limits.UNSEEN_DIRECTION)[0]
        )
    return values


def held_out_ridge(
    design: Float[np.ndarray, "N K"],
    target: Float[np.ndarray, " N"],
    fold: Int[np.ndarray, " N"],
    ridge: Float[np.ndarray, " K"],
) -> Float[np.ndarray, " N"]:
    """Return the prediction for each row by ridge regression on the other folds.

    `ridge` applies to columns scaled to unit mean square.
    """
    size = np.sqrt(np.mean(design**2, axis=0))
    scaled = design / np.where(size > 0, size, 1.0)
    grams = {part: scaled[fold == part].T @ scaled[fold == part] for part in np.unique(fold)}
    total = np.sum(list(grams.values()), axis=0)
    moments = scaled.T @ target
    values = np.zeros_like(target)
    for part, gram in grams.items():
        out = fold == part
        rows = len(target) - int(out.sum())
        gram_outside = total - gram + rows * np.diag(ridge + limits.RANK_TOLERANCE)
        w = cho_solve(cho_factor(gram_outside), moments - scaled[out].T @ target[out])
        values[out] = scaled[out] @ w
    return values


def held_out_errors(
    design: Float[np.ndarray, "N K"],
    targets: Float[np.ndarray, "N c"],
    fold: Int[np.ndarray, " N"],
) -> Float[np.ndarray, " c"]:
    """Return the root mean square error of held-out predictions, relative to each target."""
    error = np.mean((targets - held_out_values(design, targets, fold)) ** 2, axis=0)
    return np.sqrt(error / np.maximum(np.mean(targets**2, axis=0), 1e-300))


def beyond_noise(error: float, noise: float, margin: float) -> float:
    """Return the part of an error that exceeds `margin` times the noise."""
    return float(np.sqrt(max(error**2 - (margin * noise) ** 2, 0.0)))
