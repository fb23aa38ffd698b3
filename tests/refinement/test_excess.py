"""How large a misfit noise alone explains."""

import numpy as np
import pytest
from scipy.stats import chi2

from orthoreg.refinement._likelihood import excess, trajectory_score
from orthoreg.refinement._limits import EXCESS_LEVEL, NOISE_ACCURACY


@pytest.mark.parametrize("rows", [20.0, 120.0, 3000.0])
def test_the_limit_is_a_quantile_of_the_chi_squared_distribution(rows):
    limit = excess(rows) / NOISE_ACCURACY
    assert chi2.cdf(limit * rows, rows) == pytest.approx(EXCESS_LEVEL, abs=1e-9)


def test_few_rows_allow_more_and_no_rows_nothing():
    assert excess(20.0) > excess(120.0) > excess(3000.0) > excess(np.inf) == NOISE_ACCURACY


def test_a_misfit_of_the_noise_scores_zero_and_more_scores_more():
    rows = np.full(2, 100.0)
    scores = [trajectory_score(np.array([1.0, ratio]), rows) for ratio in (1.0, 1.5, 2.0, 8.0)]
    assert scores[0] == 0 and scores == sorted(scores)
    # beyond twice the noise only 60 values count
    assert scores[3] - scores[2] == pytest.approx(30 * np.log(4.0))
