"""Small data and models for figures, without compilation."""

import numpy as np
import pytest
from pictures import TIMES, oscillator

import orthoreg as og


@pytest.fixture(scope="session")
def swing() -> og.Dataset:
    return oscillator()


@pytest.fixture(scope="session")
def swing_model(swing) -> og.OrthoReg:
    return og.OrthoReg(og.Polynomial(1), og.Zero()).fit(swing)


@pytest.fixture(scope="session")
def chain() -> og.Dataset:
    """Ten independent oscillators, positions first: 20 states."""
    rng = np.random.default_rng(0)
    rates = 1 + 0.2 * np.arange(10)
    phases = [np.outer(TIMES, rates) + rng.uniform(0, 6, 10) for _ in range(4)]
    runs = [np.hstack([np.cos(phase), -rates * np.sin(phase)]) for phase in phases]
    names = [f"q{i}" for i in range(10)] + [f"p{i}" for i in range(10)]
    return og.Dataset.from_arrays(runs, TIMES, names=names)


@pytest.fixture(scope="session")
def chain_model(chain) -> og.STLSQ:
    return og.STLSQ(0.3, og.Polynomial(1)).fit(chain)
