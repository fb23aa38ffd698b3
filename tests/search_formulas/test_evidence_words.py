"""The sentence on the share of the error that a proposal explains."""

import numpy as np
import pytest

import orthoreg as og
from orthoreg.search.formulas._evidence import _share


@pytest.fixture(scope="module")
def proposal():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (300, 1))
    slope = -x + 0.5 * np.sin(3 * x)
    return og.OrthoReg("poly(1)", og.Zero()).fit(x, slope).explain(x, slope).proposals[0]


@pytest.mark.parametrize(
    ("inside", "outside", "words"),
    [
        (0.9, 1.0, "explains 90% of the library's residual beyond noise inside, 100% on the "
         "outer shell"),
        (None, 0.5, "explains 50% of the library's residual beyond noise on the outer shell"),
        (0.4, -0.2, "explains 40% of the library's residual beyond noise inside but is worse "
         "than the library alone on the outer shell"),
        (-1.0, -1.0, "is worse than the library alone inside and on the outer shell"),
        (None, None, "improves trajectories, while single rows show only noise"),
    ],
)  # fmt: skip
def test_shares_are_said_where_they_are_known(proposal, inside, outside, words):
    for name, value in (("inside", inside), ("outside", outside)):
        object.__setattr__(proposal, name, value)
    assert proposal.explains == words
    assert proposal.is_worse_outside == (outside is not None and outside < 0)
    assert proposal.to_dict()["inside"] == inside


def test_noise_is_not_a_share_of_the_misfit():
    rng = np.random.default_rng(1)
    noise, rows = rng.standard_normal(2000), np.ones(2000, dtype=bool)
    missing = 2 * np.sin(np.arange(2000.0))
    assert _share([noise + missing, noise], rows, 2000.0) == pytest.approx(1.0, abs=0.03)
    assert _share([noise + missing, noise + missing / 2], rows, 2000.0) == pytest.approx(
        0.75, abs=0.05
    )
    assert _share([noise, noise / 2], rows, 2000.0) is None
    assert _share([noise + missing, noise + 2 * missing], rows, 2000.0) < -1


def test_a_fraction_after_a_number_has_brackets():
    x = np.random.default_rng(2).uniform(0.1, 3, (200, 1))
    slope = 2 / (1 + x**2) - x
    found = og.OrthoReg("poly(1)", og.Zero()).fit(x, slope).explain(x, slope)
    assert found.proposals[0].text == "x0' = 2.000 (1/(1 + x0**2)) - 1.000 x0"
