"""Least squares on some rows and its values at the others, fold by fold."""

import numpy as np
from jaxtyping import Float, Int

_RANK = 1e-10  # of the largest singular value: terms that depend on others on these rows


def held_out_values(
    design: Float[np.ndarray, "N K"],
    target: Float[np.ndarray, " N"],
    fold: Int[np.ndarray, " N"],
    ridge: Float[np.ndarray, " K"] | None = None,
) -> Float[np.ndarray, " N"]:
    """For each row the value of the fit to all other folds.

    `ridge` is added to the mean squares of the columns, which are scaled to one, as is the target.
    A fold that leaves fewer rows than there are columns is predicted by zero.
    """
    size = np.sqrt(np.mean(design**2, axis=0))
    scaled = design / np.where(size > 0, size, 1.0)
    values = np.zeros_like(target)
    if not design.shape[1]:
        return values
    if ridge is None:
        for part in np.unique(fold):
            out = fold == part
            if (~out).sum() > design.shape[1]:
                w = np.linalg.lstsq(scaled[~out], target[~out], rcond=_RANK)[0]
                values[out] = scaled[out] @ w
        return values
    grams = {part: scaled[fold == part].T @ scaled[fold == part] for part in np.unique(fold)}
    total = sum(grams.values())
    moments = scaled.T @ target
    for part, gram in grams.items():
        out = fold == part
        rows = len(target) - int(out.sum())
        left = total - gram + rows * np.diag(ridge + _RANK)
        w = np.linalg.solve(left, moments - scaled[out].T @ target[out])
        values[out] = scaled[out] @ w
    return values


def held_out_error(
    design: Float[np.ndarray, "N K"],
    target: Float[np.ndarray, " N"],
    fold: Int[np.ndarray, " N"],
) -> float:
    """The root mean square error of held-out values over that of the target."""
    error = np.mean((target - held_out_values(design, target, fold)) ** 2)
    return float(np.sqrt(error / max(float(np.mean(target**2)), 1e-300)))


def beyond_noise(error: float, noise: float, margin: float) -> float:
    """What is left of an error once noise of this size, times a margin, is taken off it."""
    return float(np.sqrt(max(error**2 - (margin * noise) ** 2, 0.0)))
