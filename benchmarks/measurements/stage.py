"""A controlled stage with dry friction, measured by an encoder and a force sensor."""

import time

import numpy as np

import orthoreg as og

from ._line import Line, coefficients

SEEDS = 5
TITLE = "Stage with dry friction."
ABOUT = (
    "The system is 2 kg x'' = F - 8 x' - 3 sign(x') - 0.4 N. A controller tracks sums of sines "
    "and moves between points for 25 s. The data have 1 kHz and encoder steps of 1 um. They "
    "were simulated by proximal steps of 0.05 ms. The library is `poly(1) + sign(x_dot)`. The "
    "simulation error is that of another run, simulated from its force alone."
)
MASS, VISCOUS, DRY, OFFSET = 2.0, 8.0, 3.0, 0.4
_STIFFNESS, _DAMPING = 2000.0, 80.0  # stiffness and damping of the controller
_STEP, _FINE, _ROWS = 1e-3, 20, 25_000
_ENCODER = 1e-6


def measure(seeds: int) -> list[Line]:
    fits = [_fit(seed) for seed in range(seeds)]
    columns = {name: [fit[name] for fit in fits] for name in fits[0]}
    right = float(np.mean(columns["terms"]))
    return [
        Line("exactly the true terms, share of fits", [right], at_least=1),
        Line("error of the mass", columns["mass"], "%", 3),
        Line("error of viscous friction", columns["viscous"], "%", 3),
        Line("error of dry friction", columns["dry"], "%", 3),
        Line("error of the offset", columns["offset"], "%", 10),
        Line("largest simulation error, of the stroke", columns["simulation"], "%", 1),
        Line("simulation of 25,000 rows, CPU", columns["seconds"], "s", 10),
        Line("fit, CPU", columns["fit"], "s"),
    ]  # fmt: skip


def measured(seed: int) -> og.Dataset:
    """Return the encoder reading and the force."""
    position, force = motion(seed)
    encoder = _ENCODER * np.round(position / _ENCODER)
    return og.Dataset.from_positions(
        encoder[:, None], _STEP * np.arange(_ROWS), force[:, None], ["x"], ["F"]
    )


def errors(found: dict[str, float]) -> dict[str, float]:
    """Return the errors of the physical constants in percent."""
    gain = found.get("F", np.inf)
    return {
        "mass": 100 * abs(1 / gain / MASS - 1),
        "viscous": 100 * abs(-found.get("x_dot", 0.0) / gain / VISCOUS - 1),
        "dry": 100 * abs(-found.get("sign(x_dot)", 0.0) / gain / DRY - 1),
        "offset": 100 * abs(-found.get("1", 0.0) / gain / OFFSET - 1),
    }


def _fit(seed: int) -> dict[str, float]:
    data = measured(seed)
    start = time.process_time()
    model = og.OrthoReg("poly(1) + sign(x_dot)").fit(data)
    fitted = time.process_time()
    found = coefficients(model, 1)
    fresh, force = motion(1000 + seed)
    begun = time.process_time()
    rollout = model.simulate([fresh[0], 0.0], _STEP * np.arange(_ROWS), force[:, None])
    spent = time.process_time() - begun
    error = np.abs(rollout.x[:, 0] - fresh).max() / np.ptp(fresh)
    return {
        **errors(found),
        "terms": float(found.keys() == {"1", "x_dot", "sign(x_dot)", "F"}),
        "simulation": 100 * float(error),
        "seconds": spent,
        "fit": fitted - start,
    }


def motion(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return position and force at each row.

    m v' + dry sign(v) + viscous v = F - offset is integrated by implicit steps of v, which reduce
    |v| by up to `dry`. F is the force of the controller at the row.
    """
    goals, rates = reference(_STEP / _FINE * np.arange(_ROWS * _FINE), seed)
    step = _STEP / _FINE
    x, v = float(goals[0]), 0.0
    positions, forces = [], []
    for k, (goal, rate) in enumerate(zip(goals.tolist(), rates.tolist(), strict=True)):
        force = _STIFFNESS * (goal - x) + _DAMPING * (rate - v)
        if k % _FINE == 0:
            positions.append(x)
            forces.append(force)
        free = v + step / MASS * (force - OFFSET)
        most = step / MASS * DRY
        size = abs(free) - most
        new = (size if free > 0 else -size) / (1 + step * VISCOUS / MASS) if size > 0 else 0.0
        x += step * (v + new) / 2
        v = new
    return np.array(positions), np.array(forces)


def reference(times: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the target position and velocity: first a sum of five sines that starts smoothly, then
    moves of 0.6 s between points, with rests of 0.4 s."""
    rng = np.random.default_rng(seed)
    half = times[-1] / 2
    rates, phases = 2 * np.pi * rng.uniform(0.2, 1.5, 5), rng.uniform(0, 2 * np.pi, 5)
    sizes = 0.02 / 5 * rng.uniform(1, 2, 5)
    angles = np.outer(times, rates) + phases
    rise = np.clip(np.minimum(times, half - times) / 1.0, 0, 1)
    window, slope = _ramp(rise)
    slope = slope * np.where(times < half / 2, 1.0, -1.0) * ((rise > 0) & (rise < 1))
    sines, cosines = np.sin(angles) @ sizes, np.cos(angles) @ (sizes * rates)
    path, speed = window * sines, window * cosines + slope * sines
    points = np.concatenate([[0.0], rng.uniform(-0.03, 0.03, 40)])
    since = np.maximum(times - half, 0.0)
    number = np.minimum(since.astype(int), len(points) - 2)
    share, rate = _ramp(np.clip((since - number) / 0.6, 0, 1))
    hop = points[number + 1] - points[number]
    later = times >= half
    return (
        np.where(later, points[number] + share * hop, path),
        np.where(later, rate / 0.6 * hop, speed),
    )


def _ramp(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the minimum-jerk path from 0 to 1 and its slope."""
    return s**3 * (10 - 15 * s + 6 * s**2), 30 * s**2 * (1 - s) ** 2
