"""The modified pendulum: boxes of initial states, and difficulties."""

import numpy as np
import pytest

from orthoreg._common.errors import InputError
from orthoreg.systems import DIFFICULTIES, Pendulum, Split

BOX = np.array([np.pi / 2, 1.0])


def starts(split):
    return np.abs(Pendulum().starts(split, 500, np.random.default_rng(0)))


@pytest.mark.parametrize("split", [Split.train, Split.validation, Split.id, Split.ext, Split.t3])
def test_starts_fill_the_box_of_training(split):
    assert (starts(split) <= BOX).all()
    assert (starts(split).max(axis=0) > 0.95 * BOX).all()


def test_t2_starts_lie_outside_the_box_of_training():
    t2 = starts(Split.t2)
    assert (t2 > BOX).any(axis=1).all() and (t2 <= 5).all() and (t2.max(axis=0) > 4.8).all()


def test_difficulties_are_those_of_the_paper():
    strengths = [
        [getattr(Pendulum.of_difficulty(difficulty), f"beta{k}") for k in (1, 2, 3)]
        for difficulty in ("low", "medium", "high")
    ]
    assert strengths == [[0.1, 0.08, 0.05], [0.3, 0.25, 0.15], [2.0, 2.0, 2.0]]
    assert list(DIFFICULTIES) == ["low", "medium", "high"]


def test_an_unknown_difficulty_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match="medium"):
        Pendulum.of_difficulty("meduim")
