"""Lotka-Volterra and SIR: initial states in raw units, and units in which training runs
reach ten."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from orthoreg.systems import SIR, LotkaVolterra, Split, generate

pytestmark = pytest.mark.slow  # compiled integrations of several systems

FAR = (Split.t2, Split.t3)
SYSTEMS = [LotkaVolterra(), SIR(), LotkaVolterra().within_library(), SIR().within_library()]


def box(system, split):
    if isinstance(system, SIR):
        low, high = [9, 1, 0], [10, 5, 0]
    else:
        low, high = [1000, 10], [2000, 20]
    factor = {SIR: 10.0, LotkaVolterra: 0.1}[type(system)] if split in FAR else 1.0
    first = np.eye(len(low))[0] * (factor - 1) + 1
    return low * first, high * first


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("split", list(Split))
def test_raw_starts_fill_the_box_of_their_split(system, split):
    raw = system.starts(split, 500, np.random.default_rng(0)) * np.array(system.scale)
    low, high = box(system, split)
    assert_allclose(raw.min(axis=0), low, rtol=0, atol=0.02 * np.abs(high - low).max())
    assert (raw >= low * (1 - 1e-12)).all() and (raw <= high * (1 + 1e-12)).all()
    assert ((high - raw.max(axis=0)) <= 0.02 * (high - low)).all()


@pytest.mark.parametrize(
    "system, missing", list(zip(SYSTEMS, [0.13, 0.02, 0.05, 0.02], strict=True))
)
def test_training_states_reach_ten(system, missing):
    """The maximum is slightly smaller, because a hundred runs cover less of the box than a
    thousand."""
    data = [generate(system, Split.train, runs=8, seed=seed) for seed in range(12)]
    assert_allclose(np.max([part.states.max(axis=0) for part in data], axis=0), 10, rtol=missing)
    assert min(part.states.min() for part in data) >= 0


def test_the_scale_changes_units_and_nothing_else():
    """Without missing terms, runs in scaled units are the same as in raw units."""
    for system, other in (
        (LotkaVolterra().within_library(), (50.0, 0.5)),
        (SIR().within_library(), (0.2, 3.0, 0.7)),
    ):
        changed = replace(system, scale=other)
        raw = [
            np.array(one.scale) * generate(one, Split.t2, runs=8).states
            for one in (system, changed)
        ]
        assert_allclose(*raw, rtol=0, atol=1e-6 * np.abs(raw[0]).max())


def test_people_are_conserved_without_missing_terms():
    for system in (SIR(epsilons=(0.0, 0.0, 0.0)), SIR().within_library()):
        data = generate(system, Split.t2, runs=8)
        people = (data.states * np.array(system.scale)).sum(axis=1)
        assert_allclose(people, people[data.offsets[:-1]][data.run_of_row], rtol=1e-7)


def test_one_population_makes_the_infections_a_product():
    system = SIR().within_library()
    x = np.random.default_rng(0).uniform(0, 10, (50, 3))
    slopes = system.slope(0.0, x, np)[:, 0]
    assert_allclose(slopes, system.true_coefficients["S"]["S*I"] * x[:, 0] * x[:, 1])
    without = SIR(epsilons=(0.0, 0.0, 0.0)).slope(0.0, x, np)[:, 0] / (x[:, 0] * x[:, 1])
    assert np.ptp(without) > 0.1 * np.abs(without).mean()
