"""Windows of the weak form: what they show, and how wide they should be."""

import numpy as np
from jaxtyping import Float

from ..smoothing import Windows, bump_windows
from ._dataset import Dataset
from ._limits import FAST_SHARE, NARROWEST, WIDEST, WIDTH_RATIO, WINDOW_NOISE


def weak_targets(
    data: Dataset, variance: Float[np.ndarray, " n"], windows: Windows
) -> tuple[Float[np.ndarray, "R n"], Float[np.ndarray, " n"]]:
    """int phi x' in each window, and the variance that noise leaves in it."""
    targets = np.asarray(windows.slope @ data.states)
    size = np.mean(np.asarray(windows.slope.multiply(windows.slope).sum(axis=1)))
    noise = variance * size
    place = {name: c for c, name in enumerate(data.state_names)}
    bent = np.mean(np.asarray(windows.curvature.multiply(windows.curvature).sum(axis=1)))
    for position, velocity in data.velocity_of.items():
        if velocity in data.estimated:
            q, v = place[position], place[velocity]
            targets[:, v] = windows.curvature @ data.states[:, q]
            noise[v] = variance[q] * bent
    return targets, noise


def best_half_widths(
    data: Dataset, variance: Float[np.ndarray, " n"], order: int
) -> tuple[float, ...]:
    """The half-width whose windows show most: the number of windows times the ratio of the motion
    in them to the noise in them, the product over states; and about a third of it, as far as
    samples allow. `variance` is that of the noise, `order` that of the bumps."""
    step = float(np.median(np.diff(data.times)[np.diff(data.run_of_row) == 0]))
    span = float(np.median(data.step_of_run() * (data.run_lengths - 1)))
    given = set(data.given_rates)
    best, most = NARROWEST * step, -np.inf
    h = best
    while h <= max(WIDEST * span, best):
        windows = bump_windows(data.times, data.offsets, h, order)
        if not len(windows):
            break
        targets, noise = weak_targets(data, variance, windows)
        columns = [c for c in range(data.n_states) if c not in given and noise[c] > 0]
        signal = np.maximum(np.mean(targets**2, axis=0) - noise, 1e-3 * noise)
        information = np.log(signal[columns] / noise[columns] / h).sum()
        if information > most:
            best, most = h, information
        if (noise[columns] < WINDOW_NOISE * signal[columns]).all():
            best = h
            break
        h *= WIDTH_RATIO
    widths = {max(FAST_SHARE * best, NARROWEST * step), best}
    return tuple(sorted(float(f"{width:.3g}") for width in widths))
