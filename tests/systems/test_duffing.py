"""The Duffing oscillator: every run is in the well of its split."""

import numpy as np
import pytest

from orthoreg._common.errors import InputError
from orthoreg.systems import Duffing, Split, generate

pytestmark = pytest.mark.slow  # compiled integrations of several systems

REACH = 0.8 * np.sqrt(10)
SIDE = dict.fromkeys(Split, 1) | {Split.t2: -1, Split.t3: -1}


def starts(split, count=500, system=None):
    return (system or Duffing()).starts(split, count, np.random.default_rng(0))


@pytest.mark.parametrize("split", [Split.train, Split.id, Split.t2, Split.t3])
def test_no_run_leaves_its_well(split):
    for seed in range(5):
        data = generate(Duffing(), split, runs=8, seed=seed)
        assert data.n_runs == 8
        assert (SIDE[split] * data.states[:, 0] > 0).all()


@pytest.mark.parametrize("split", list(Split))
def test_starts_fill_the_box_of_their_split(split):
    x, y = starts(split).T
    assert np.abs(y).max() <= 1 and y.max() > 0.95 and y.min() < -0.95
    x = SIDE[split] * x
    assert 0.1 <= x.min() < 0.15 and 0.97 * REACH < x.max() <= REACH


@pytest.mark.parametrize("split, least", [(Split.train, 0.03), (Split.t2, 0.03), (Split.t3, 0.01)])
def test_only_starts_that_leave_the_well_are_dropped(split, least):
    side = np.array([SIDE[split], 1])
    size = 800
    drawn = side * np.random.default_rng(0).uniform([0.1, -1], [REACH, 1], (size, 2))
    kept = starts(split, size)
    dropped = drawn[~np.isin(drawn[:, 0], kept[:, 0])]
    assert least < len(dropped) / size < 0.1
    assert (
        dropped[:, 1] * SIDE[split] < -np.abs(dropped[:, 0])
    ).all()  # steeper than the separatrix
    outwards = drawn[drawn[:, 1] * SIDE[split] > 0]
    assert np.isin(outwards[:, 0][: size // 3], kept[:, 0]).all()


def test_the_box_follows_the_wells():
    assert np.abs(starts(Split.train, system=Duffing(c=0.4))[:, 0]).max() <= REACH / 2


def test_without_the_cubic_term_runs_stop_before_they_are_huge():
    system = Duffing().within_library()
    assert system == Duffing(c=0.0)
    assert system.times()[-1] == pytest.approx(3.99)
    data = generate(system, Split.train, runs=8)
    assert 10 < np.abs(data.states).max() < 100


@pytest.mark.parametrize("wrong", [{"a": 0.1}, {"b": 1.0}, {"c": -0.1}])
def test_parameters_without_wells_are_refused(wrong):
    with pytest.raises(InputError, match="two wells only with a <= 0, b < 0 and c >= 0; got"):
        generate(Duffing(**wrong), Split.train, runs=8)
