"""Development systems, on which defaults are chosen. No results are reported for them. Each system
has training runs from a box of initial states, further runs from the same box ("near"), and runs
from a wider box outside the first one ("far")."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg.terms import AbstractLibrary

_RUNS, _FRESH, _POINTS = 60, 20, 61
DEFAULT_LIBRARY = og.Polynomial(2) + og.Fourier(1)

Field = Callable[..., tuple[np.ndarray, ...]]
Point = tuple[float, ...]


@final
@dataclass(frozen=True)
class Development:
    """A system: its right-hand side, boxes of initial states, and the terms that a fit should
    select. `terms` is None if the library lacks a term."""

    field: Field
    low: Point
    high: Point
    far_low: Point
    far_high: Point
    duration: float
    library: AbstractLibrary
    terms: tuple[tuple[str, ...], ...] | None = None

    def slopes(self, states: np.ndarray) -> np.ndarray:
        """Return the true derivatives at states (... n)."""
        return np.stack(np.broadcast_arrays(*self.field(*np.moveaxis(states, -1, 0))), axis=-1)


@final
@dataclass(frozen=True)
class Runs:
    """Times, and states (runs, times, n) of each kind."""

    times: np.ndarray
    train: np.ndarray
    near: np.ndarray
    far: np.ndarray


def generate(system: Development, seed: int, noise: float = 0.0) -> Runs:
    """Return runs of a system. `noise` is relative to the standard deviation of each training
    state."""
    rng = np.random.default_rng(seed)
    low, high = np.array(system.low), np.array(system.high)
    wide = rng.uniform(system.far_low, system.far_high, (50 * _FRESH, len(low)))
    outside = wide[((wide < low) | (wide > high)).any(axis=1)][:_FRESH]
    starts = rng.uniform(low, high, (_RUNS + _FRESH, len(low)))
    times = np.linspace(0.0, system.duration, _POINTS)
    runs = _integrate(system, np.concatenate([starts, outside]), times)
    train = runs[:_RUNS]
    train = train + noise * train.std(axis=(0, 1)) * rng.standard_normal(train.shape)
    return Runs(times, train, runs[_RUNS : _RUNS + _FRESH], runs[_RUNS + _FRESH :])


def _integrate(system: Development, starts: np.ndarray, times: np.ndarray) -> np.ndarray:
    solution = solve_ivp(
        lambda _, flat: system.slopes(flat.reshape(starts.shape)).ravel(),
        (times[0], times[-1]),
        starts.ravel(),
        t_eval=times,
        rtol=1e-10,
        atol=1e-10,
    )
    if not solution.success or not np.isfinite(solution.y).all():
        raise RuntimeError(f"A development system could not be integrated: {solution.message}")
    return np.moveaxis(solution.y.reshape(*starts.shape, len(times)), -1, 1)


def _rayleigh(x, v):
    return v, -x + 1.2 * v - 0.4 * v**3


def _hopf(x, y):
    square = x**2 + y**2
    return x - y - x * square, x + y - y * square


def _nerve(v, w):
    return v - v**3 / 3 - w + 0.5, 0.08 * v + 0.056 - 0.064 * w


def _sines(x, y):
    return -0.4 * x + 1.3 * np.sin(y), -np.sin(x) - 0.3 * y


def _chain(a, b, c):
    return -0.8 * a + 0.6 * b * c, 0.8 * a - 0.6 * b * c - 0.9 * b**2, 0.9 * b**2


def _thermostat(x, y, z):
    return y, -x + y * z, 1 - y**2


def _friction(x, v):
    return v, -1.5 * x - 0.2 * v - 0.6 * np.tanh(3 * v)


def _rotor(a, w):
    return w, -1.2 * np.sin(a) - 0.3 * np.cos(a) - 0.25 * w * np.abs(w)


def _bump(x, v):
    return v, -x - 0.3 * v + 2.0 * x * np.exp(-(x**2))


def _track(x, v):
    return v, -0.1 * v + 0.4 * np.cos(4 * x) + 0.3 * np.sin(2.3 * x)


def _growth(x, y):
    return x * (1.0 - x) + 0.9 * x * y / (1 + y), 0.8 * y * (1.0 - y) - 0.5 * x * y / (1 + x)


def _tanks(h, k):
    return 0.5 - 0.8 * np.sqrt(np.abs(h)), 0.8 * np.sqrt(np.abs(h)) - 0.6 * np.sqrt(np.abs(k))


def _uptake(s):
    return (0.2 - s / (0.3 + s),)


def _consumer(s, b):
    used = b * s / (0.3 + s)
    return 0.3 - used, used - 0.4 * b


def _switch(x, y):
    return 1.5 / (1 + y**3) - x, 1.5 / (1 + x**3) - y


def _soft_spring(x, v):
    return v, -2 * np.tanh(2 * x) - 0.2 * v


def _soft_spring_and_friction(x, v):
    return v, -2 * np.tanh(2 * x) - 0.4 * np.tanh(4 * v)


def _valve(p, q):
    flow = 0.6 * np.sqrt(np.abs(p))
    return 0.8 - flow * (1 + np.tanh(3 * (p - 1))), flow - q / (1 + q)


def _hill(x, v):
    return v, 2 * x * np.exp(-(x**2)) - 0.3 * v


def _square(half: float, wide: float, n: int = 2) -> tuple[Point, Point, Point, Point]:
    return (-half,) * n, (half,) * n, (-wide,) * n, (wide,) * n


SYSTEMS = {
    "Rayleigh's oscillator": Development(
        _rayleigh, *_square(1.0, 3.0), 6.0, og.Polynomial(3), (("x1",), ("x0", "x1", "x1**3"))
    ),
    "Hopf's normal form": Development(
        _hopf, *_square(0.8, 2.0), 4.0, og.Polynomial(3),
        (("x0", "x1", "x0**3", "x0*x1**2"), ("x0", "x1", "x0**2*x1", "x1**3")),
    ),
    "nerve": Development(
        _nerve, *_square(1.0, 2.5), 15.0, og.Polynomial(3),
        (("1", "x0", "x1", "x0**3"), ("1", "x0", "x1")),
    ),
    "two sines": Development(
        _sines, *_square(1.2, 3.0), 8.0, DEFAULT_LIBRARY, (("x0", "sin(x1)"), ("sin(x0)", "x1"))
    ),
    "chain of reactions": Development(
        _chain, (0.2,) * 3, (1.0,) * 3, (0.2,) * 3, (2.5,) * 3, 5.0, DEFAULT_LIBRARY,
        (("x0", "x1*x2"), ("x0", "x1*x2", "x1**2"), ("x1**2",)),
    ),
    "thermostat": Development(
        _thermostat, *_square(1.0, 4.0, 3), 6.0, DEFAULT_LIBRARY,
        (("x1",), ("x0", "x1*x2"), ("1", "x1**2")),
    ),
    "dry friction": Development(_friction, *_square(1.0, 3.0), 6.0, DEFAULT_LIBRARY),
    "rotor with drag": Development(_rotor, *_square(1.2, 3.0), 8.0, DEFAULT_LIBRARY),
    "spring with a bump": Development(_bump, *_square(1.2, 3.0), 8.0, DEFAULT_LIBRARY),
    "bumpy track": Development(
        _track, (-1.0, 1.0), (3.0, 3.0), (-3.0, 0.0), (6.0, 5.0), 12.0, DEFAULT_LIBRARY
    ),
    "growth that saturates": Development(
        _growth, (0.1,) * 2, (1.0,) * 2, (0.1,) * 2, (3.0,) * 2, 5.0, DEFAULT_LIBRARY
    ),
    "two tanks": Development(
        _tanks, (0.4,) * 2, (1.5,) * 2, (0.2,) * 2, (4.0,) * 2, 4.0, DEFAULT_LIBRARY
    ),
}  # fmt: skip
"""Systems on which the defaults are chosen."""

BEYOND = {name: system for name, system in SYSTEMS.items() if system.terms is None} | {
    "uptake": Development(_uptake, (0.2,), (3.0,), (3.0,), (9.0,), 4.0, DEFAULT_LIBRARY),
    "consumer": Development(
        _consumer, (0.2, 0.2), (3.0, 1.0), (0.2, 0.2), (8.0, 2.0), 5.0, DEFAULT_LIBRARY
    ),
    "switch": Development(
        _switch, (0.0,) * 2, (1.5,) * 2, (0.0,) * 2, (4.0,) * 2, 4.0, DEFAULT_LIBRARY
    ),
    "soft spring": Development(_soft_spring, *_square(1.0, 3.0), 6.0, DEFAULT_LIBRARY),
    "soft spring, no term for it": Development(
        _soft_spring_and_friction, *_square(1.0, 3.0), 6.0, og.Terms(["x1", "x0**2"])
    ),
    "valve": Development(
        _valve, (0.2, 0.2), (2.0, 1.5), (0.2, 0.2), (6.0, 4.0), 4.0, DEFAULT_LIBRARY
    ),
    "hill": Development(_hill, *_square(1.2, 3.0), 6.0, DEFAULT_LIBRARY),
}  # fmt: skip
"""Systems whose library lacks a term, for comparing residuals beyond the data."""
