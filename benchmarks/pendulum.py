"""Samples of the pendulum for several benchmarks."""

from typing import Any

import numpy as np

import orthoreg as og
from orthoreg.systems import Pendulum, Split, generate

SUBSET = 4096


def samples(split: Split = Split.train, runs: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return states and the paper's derivatives of all runs."""
    loss = og.VectorField(og.SmoothedFiniteDifference())
    found = loss.observe(generate(Pendulum(), split, runs=runs))
    return found.variables, found.targets


def subset(rows: int = SUBSET, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return a fixed subset of a few thousand training rows."""
    x, y = samples()
    chosen = np.sort(np.random.default_rng(seed).choice(len(x), rows, replace=False))
    return x[chosen], y[chosen]


def objective(model: Any) -> float:
    """Return J in double precision, summed over equations."""
    return float(sum(equation.objective for equation in model.certificate_.equations))
