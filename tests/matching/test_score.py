"""The largest misfit that noise alone explains."""

import numpy as np
import pytest
from scipy.stats import chi2

from orthoreg.matching._limits import EXCESS_LEVEL, NOISE_ACCURACY
from orthoreg.matching._score import max_noise_ratio, trajectory_score


@pytest.mark.parametrize("rows", [20.0, 120.0, 3000.0])
def test_the_limit_is_a_quantile_of_the_chi_squared_distribution(rows):
    limit = max_noise_ratio(rows) / NOISE_ACCURACY
    assert chi2.cdf(limit * rows, rows) == pytest.approx(EXCESS_LEVEL, abs=1e-9)


def test_the_limit_is_larger_for_fewer_rows():
    assert (
        max_noise_ratio(20.0)
        > max_noise_ratio(120.0)
        > max_noise_ratio(3000.0)
        > max_noise_ratio(np.inf)
        == NOISE_ACCURACY
    )


def test_the_score_is_zero_for_noise_and_grows_with_the_misfit():
    rows = np.full(2, 100.0)
    scores = [trajectory_score(np.array([1.0, ratio]), rows) for ratio in (1.0, 1.5, 2.0, 8.0)]
    assert scores[0] == 0 and scores == sorted(scores)
    # above twice the noise, only 60 values count
    assert scores[3] - scores[2] == pytest.approx(30 * np.log(4.0))
