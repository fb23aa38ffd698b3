"""Metrics compared with scikit-learn, with values computed by hand, and with their limits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, mean_squared_error, precision_score, recall_score

from orthoreg._common.errors import InputError
from orthoreg.diagnostics import (
    RolloutScores,
    SupportScores,
    normalized_mse,
    relative_error,
    residual_cosine,
    rollout_scores,
    support_scores,
    symbolic_share,
)
from orthoreg.simulation import Rollout, Status

seeds = st.integers(0, 10_000)
THRESHOLDS = (1e-3, 0.045)
"""The thresholds of the paper and of STLSQ."""


def pair(seed: int, columns: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((40, columns)), rng.standard_normal((40, columns))


# -- predictions ---------------------------------------------------------------------------


@given(seeds)
def test_normalized_mse_is_the_mean_squared_error_over_that_of_predicting_zero(seed):
    predicted, true = pair(seed)
    expected = mean_squared_error(true, predicted) / mean_squared_error(true, np.zeros_like(true))
    assert normalized_mse(predicted, true) == pytest.approx(expected, rel=1e-12)
    assert relative_error(predicted, true) ** 2 == pytest.approx(expected, rel=1e-12)


@given(seeds, st.floats(1e-6, 1e6))
def test_normalized_mse_has_no_units_and_counts_samples_once(seed, unit):
    predicted, true = pair(seed)
    once = normalized_mse(predicted, true)
    assert normalized_mse(unit * predicted, unit * true) == pytest.approx(once, rel=1e-9)
    assert normalized_mse(np.tile(predicted, (3, 1)), np.tile(true, (3, 1))) == pytest.approx(once)


def test_normalized_mse_by_hand():
    true = np.array([[10.0, 0.0], [0.0, 0.1]])
    assert normalized_mse(true, true) == 0.0
    assert normalized_mse(0 * true, true) == 1.0
    # all components have one norm, so a wrong small component hardly counts
    assert normalized_mse(true * [[1.0, 2.0]], true) == pytest.approx(0.01 / 100.01)
    zeros = np.zeros((2, 2))
    assert normalized_mse(zeros, zeros) == 0.0 and normalized_mse(true, zeros) == 50.005


# -- terms ---------------------------------------------------------------------------------


@given(seeds, st.sampled_from(THRESHOLDS), st.floats(0.05, 0.95))
def test_support_scores_are_those_of_scikit_learn(seed, threshold, density):
    rng = np.random.default_rng(seed)
    truth = rng.random((2, 10)) < density
    coefficients = rng.standard_normal((2, 10)) * 10.0 ** rng.uniform(-4, 0, (2, 10))
    coefficients[rng.random((2, 10)) < 0.3] = 0.0
    found = np.abs(coefficients) > threshold
    scores = support_scores(coefficients, truth, threshold)
    assert scores.n_terms == np.count_nonzero(found)
    if found.any() or truth.any():
        labels = truth.ravel(), found.ravel()
        assert scores.precision == pytest.approx(precision_score(*labels, zero_division=0))
        assert scores.recall == pytest.approx(recall_score(*labels, zero_division=0))
        assert scores.f1 == pytest.approx(f1_score(*labels, zero_division=0))


def test_support_scores_by_hand():
    truth = np.array([[False, True, False], [True, True, False]])
    coefficients = np.array([[0.2, -0.9, 0.0], [0.0, 0.5, 1e-3]])
    assert support_scores(coefficients, truth, 1e-3) == SupportScores(2 / 3, 2 / 3, 2 / 3, 3)
    # small coefficients and a true term are below the higher threshold
    found = support_scores(coefficients, truth, 0.6)
    assert found == SupportScores(1.0, 1 / 3, 0.5, 1)
    # at the threshold 0, all nonzero terms count
    assert support_scores(coefficients, truth, 0.0) == SupportScores(0.5, 2 / 3, 4 / 7, 4)


def test_f1_is_the_harmonic_mean_of_precision_and_recall():
    truth = np.arange(10)[None] < 4
    scores = support_scores((np.arange(10.0)[None] - 1) * 1.0, truth, 0.5)
    assert (scores.precision, scores.recall) == (3 / 9, 3 / 4)
    assert scores.f1 == pytest.approx(2 / (9 / 3 + 4 / 3))


@pytest.mark.parametrize(
    "found, true, score",
    [(False, False, 1.0), (False, True, 0.0), (True, False, 0.0), (True, True, 1.0)],
)
def test_shares_of_nothing(found, true, score):
    scores = support_scores(np.full((2, 3), float(found)), np.full((2, 3), true), 1e-3)
    assert scores == SupportScores(score, score, score, 6 * found)


def test_coefficients_that_are_nan_are_not_in_use():
    truth = np.array([[True, True]])
    assert support_scores(np.array([[math.nan, 1.0]]), truth, 1e-3).recall == 0.5
    for threshold in (-1.0, math.nan):
        with pytest.raises(InputError, match=r"threshold=...\) must be at least 0; got"):
            support_scores(np.ones((1, 2)), truth, threshold)


# -- rollouts ------------------------------------------------------------------------------


def rollout(x: np.ndarray, status: Status = Status.completed) -> Rollout:
    if status is not Status.completed:
        x = np.concatenate([x[:2], np.full_like(x[2:], math.nan)])
    return Rollout(np.arange(float(len(x))), x, status, None, None, None)


@given(seeds)
def test_rollouts_that_end_early_change_neither_count_nor_error(seed):
    predicted, true = pair(seed)
    lengths = [(0, 10), (10, 25), (25, 40)]
    done = [(rollout(predicted[a:b]), true[a:b]) for a, b in lengths]
    scores = rollout_scores(*zip(*done, strict=True))
    assert scores == RolloutScores(normalized_mse(predicted, true), 3)
    bad = [(rollout(1e9 * predicted, status), true) for status in (Status.diverged, Status.stalled)]
    mixed = [bad[0], *done, *bad]
    assert rollout_scores(*zip(*mixed, strict=True)) == scores


def test_without_completed_rollouts_there_is_no_error():
    x = np.ones((5, 2))
    assert rollout_scores([rollout(x, Status.diverged)], [x]) == RolloutScores(None, 0)
    assert rollout_scores([], []) == RolloutScores(None, 0)


def test_a_rollout_from_before_the_truth_is_scored_on_its_last_rows():
    x = np.arange(10.0)[:, None]
    assert rollout_scores([rollout(x)], [x[7:]]).normalized_mse == 0.0
    assert rollout_scores([rollout(x)], [x[:3]]).normalized_mse == 3 * 49 / 5


def test_mistakes_in_rollouts_are_named():
    x = np.ones((5, 2))
    with pytest.raises(InputError, match="each of the 1 rollouts; got 2"):
        rollout_scores([rollout(x)], [x, x])
    with pytest.raises(InputError, match=r"Rollout 0 has the shape \(5, 2\).* \(6, 2\)"):
        rollout_scores([rollout(x)], [np.ones((6, 2))])
    with pytest.raises(InputError, match=r"Rollout 0 has the shape \(5, 2\).* \(5, 1\)"):
        rollout_scores([rollout(x)], [np.ones((5, 1))])
    batch = Rollout(np.arange(5.0), x[None], [Status.completed], [None], [None], [None])
    with pytest.raises(InputError, match=r"Rollout 0 is a batch; pass its runs\(\)"):
        rollout_scores([batch], [x])
    assert rollout_scores(batch.runs(), [x]).n_completed == 1


# -- parts ---------------------------------------------------------------------------------


@given(seeds)
def test_symbolic_share_of_orthogonal_parts_is_their_share_of_the_whole(seed):
    symbolic, neural = pair(seed)
    neural = neural - symbolic * np.sum(symbolic * neural) / np.sum(symbolic**2)
    assert residual_cosine(symbolic, neural) == pytest.approx(0.0, abs=1e-12)
    share = symbolic_share(symbolic, neural)
    assert share == pytest.approx(np.sum(symbolic**2) / np.sum((symbolic + neural) ** 2))
    assert symbolic_share(neural, symbolic) == pytest.approx(1 - share)
    assert symbolic_share(symbolic, -3.0 * neural) < share


def test_symbolic_share_in_its_limits():
    x = np.ones((4, 2))
    assert symbolic_share(x, 0 * x) == 1.0 and symbolic_share(0 * x, x) == 0.0
    assert symbolic_share(x, -x) == 0.5
    assert math.isnan(symbolic_share(0 * x, 0 * x))
