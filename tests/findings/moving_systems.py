"""Runs of known systems by Runge-Kutta steps, with some columns left out."""

from functools import cache

import numpy as np

import orthoreg as og
from orthoreg.findings._motion import motion_of
from orthoreg.findings._observations import of_motion

LIBRARY = og.Polynomial(2) + og.Fourier(1)


def runs_of(slope, starts, end, rows, names, *, inputs=None, noise=0.0, keep=None, seed=0):
    """Return runs from the starts. `inputs(t)` drives them, and `keep` names the columns that are
    given. Noise is relative to the standard deviation of each state."""
    times = np.linspace(0, end, rows)
    fine = 8
    x = np.array(starts, dtype=float)
    states = [x]
    for t, step in zip(times[:-1], np.diff(times) / fine, strict=True):
        for i in range(fine):
            at = t + i * step

            def rate(moment, z):
                given = () if inputs is None else (inputs(moment),)
                return np.stack(slope(moment, z.T, *given), axis=1)

            a = rate(at, x)
            b = rate(at + step / 2, x + step / 2 * a)
            c = rate(at + step / 2, x + step / 2 * b)
            d = rate(at + step, x + step * c)
            x = x + step / 6 * (a + 2 * b + 2 * c + d)
        states.append(x)
    runs = np.swapaxes(np.stack(states), 0, 1)
    rng = np.random.default_rng(seed)
    spread = runs.reshape(-1, runs.shape[2]).std(axis=0)
    runs = runs + noise * spread * rng.standard_normal(runs.shape)
    kept = list(range(runs.shape[2])) if keep is None else keep
    return og.Dataset.from_arrays(list(runs[:, :, kept]), times, names=[names[k] for k in kept])


def with_input(data, values, name="u"):
    """Return the same runs with the values at their times as an input column."""
    columns = [values(run.times)[:, None] for run in data]
    return og.Dataset.from_arrays(
        [run.states for run in data], [run.times for run in data], columns,
        names=data.state_names, input_names=[name],
    )  # fmt: skip


def starts(count, low, high, seed=1):
    return np.random.default_rng(seed).uniform(low, high, (count, len(low)))


def pendulum(t, x):
    return [x[1], -np.sin(x[0]) - 0.2 * x[1]]


def lorenz(t, x):
    return [10 * (x[1] - x[0]), x[0] * (28 - x[2]) - x[1], x[0] * x[1] - 8 / 3 * x[2]]


def predators(t, x):
    return [x[0] - 0.5 * x[0] * x[1], -0.8 * x[1] + 0.3 * x[0] * x[1]]


def duffing(t, x):
    return [x[1], x[0] - x[0] ** 3 - 0.2 * x[1]]


def van_der_pol(t, x):
    return [x[1], 1.5 * (1 - x[0] ** 2) * x[1] - x[0]]


def driven(t, x, u):
    return [x[1], -4 * x[0] - 0.2 * x[1] + u]


def two_tones(t):
    return np.sin(1.3 * t) + 0.7 * np.sin(2.9 * t + 1)


SWINGS = starts(6, [-2, -1], [2, 1])


def observed(data):
    """Returns the data that diagnoses examine."""
    motion = motion_of(data, og.Automatic())
    assert motion is not None
    return of_motion(motion)


def swings(**options):
    return runs_of(pendulum, SWINGS, 10, 200, ["theta", "omega"], **options)


def forced(**options):
    """Return the data without the input."""
    begin = starts(5, [-1, -1], [1, 1])
    return runs_of(driven, begin, 20, 300, ["x", "v"], inputs=two_tones, **options)


COMPLETE = {
    "pendulum": lambda: swings(),
    "one swing": lambda: runs_of(pendulum, [[1.5, 0.5]], 20, 500, ["theta", "omega"]),
    "predators": lambda: runs_of(predators, starts(4, [1, 1], [5, 3]), 20, 300, ["prey", "pred"]),
    "forced": lambda: with_input(forced(), two_tones),
    "growth": lambda: runs_of(lambda t, x: [0.8 * x[0] * (1 - x[0] / 5)],
                              [[0.1], [0.5], [7], [2]], 10, 100, ["n"]),
    "decay": lambda: runs_of(lambda t, x: [-0.5 * x[0]], [[2.0], [5.0]], 8, 80, ["m"]),
    "epidemic": lambda: runs_of(lambda t, x: [-0.5 * x[0] * x[1], 0.5 * x[0] * x[1] - 0.2 * x[1]],
                                starts(4, [2, 0.05], [4, 0.3]), 20, 120, ["s", "i"]),
    "spiral": lambda: runs_of(lambda t, x: [-0.3 * x[0] + 2 * x[1], -2 * x[0] - 0.3 * x[1]],
                              starts(3, [-2, -2], [2, 2]), 8, 150, ["a", "b"]),
    "overdamped": lambda: runs_of(lambda t, x: [0.5 - np.sin(x[0])],
                                  [[-2.0], [1.0], [2.5]], 12, 120, ["phi"]),
    "driven pendulum": lambda: runs_of(lambda t, x: [x[1], 1.2 - 0.6 * x[1] - np.sin(x[0])],
                                       starts(4, [-2, -1], [2, 1]), 15, 250, ["phi", "w"]),
    "competition": lambda: runs_of(lambda t, x: [x[0] * (1 - x[0] - 0.5 * x[1]),
                                                 x[1] * (0.8 - x[1] - 0.3 * x[0])],
                                   starts(4, [0.1, 0.1], [2, 2]), 10, 150, ["p", "q"]),
    "roessler": lambda: runs_of(lambda t, x: [-x[1] - x[2], x[0] + 0.2 * x[1],
                                              0.2 + x[2] * (x[0] - 5.7)],
                                [[1, 1, 1]], 30, 900, ["x", "y", "z"]),
}  # fmt: skip
"""Systems that the default library represents."""


@cache
def complete(name):
    """Return the runs of a system, simulated once."""
    return COMPLETE[name]()
