"""Second-order systems under a force, by Runge-Kutta steps."""

from collections.abc import Callable

import numpy as np

_FASTEST = 1.2


def force(times: np.ndarray, seed: int, size: float = 1.0) -> np.ndarray:
    """Return a sum of eight sines of at most 1.2 rad/s."""
    rng = np.random.default_rng(seed)
    rates, phases = rng.uniform(0.3, _FASTEST, 8), rng.uniform(0, 2 * np.pi, 8)
    return size * 0.5 * np.sin(np.outer(times, rates) + phases).sum(axis=1)


def forced_run(
    acceleration: Callable[[float, float, float], float],
    step: float,
    rows: int,
    push: Callable[[np.ndarray], np.ndarray],
    fine: int,
) -> np.ndarray:
    """Return positions and velocities (rows, 2) from (0.3, 0), with `fine` steps per row."""
    h = step / fine
    pushes = push(h / 2 * np.arange(2 * fine * (rows - 1) + 1)).tolist()
    x, v = 0.3, 0.0
    path = [(x, v)]
    for k in range(fine * (rows - 1)):
        begin, middle, end = pushes[2 * k : 2 * k + 3]
        a1 = acceleration(x, v, begin)
        v2 = v + h / 2 * a1
        a2 = acceleration(x + h / 2 * v, v2, middle)
        v3 = v + h / 2 * a2
        a3 = acceleration(x + h / 2 * v2, v3, middle)
        v4 = v + h * a3
        a4 = acceleration(x + h * v3, v4, end)
        x, v = x + h / 6 * (v + 2 * v2 + 2 * v3 + v4), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        if (k + 1) % fine == 0:
            path.append((x, v))
    return np.array(path)
