"""Probabilities of terms, and pairs of terms that the data cannot distinguish."""

import time

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.exceptions import NotFittedError

import orthoreg as og
from orthoreg._common.errors import InputError


def pendulum(reach: float, noise: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-reach, reach, (400, 2))
    y = np.column_stack([x[:, 1], -np.sin(x[:, 0]) - 0.3 * x[:, 1]])
    return x, y + noise * rng.standard_normal(y.shape)


def model(**params) -> og.OrthoReg:
    library = og.Terms(["x0", "x1", "sin(x0)", "x0*x1"])
    return og.OrthoReg(library, og.Zero(), **params)


def test_true_terms_are_sure_and_others_are_not():
    x, y = pendulum(reach=2.0, noise=0.05)
    found = og.bootstrap(model().fit(x, y))
    assert (found.probability[1, [1, 2]] > 0.9).all()
    assert (found.probability[1, [0, 3]] < 0.3).all()
    assert found.confounded == ()


def test_intervals_hold_the_truth_and_have_the_width_of_theory():
    x, y = pendulum(reach=2.0, noise=0.1)
    found = og.bootstrap(model().fit(x, y), resamples=500)
    low, high = found.interval[1, 2]
    assert low < -1 < high
    used = [1, 2]
    phi = np.column_stack([x[:, 1], np.sin(x[:, 0])])
    spread = 0.1 * np.sqrt(np.linalg.inv(phi.T @ phi).diagonal())
    widths = np.diff(found.interval[1, used])[:, 0]
    assert_allclose(widths, 2 * 1.96 * spread, rtol=0.35)
    assert not found.interval[1, [0, 3]].any()


def test_small_angles_cannot_tell_theta_from_its_sine():
    x, y = pendulum(reach=0.2, noise=0.01)
    found = og.bootstrap(model().fit(x, y))
    pairs = {frozenset((pair.term, pair.other)) for pair in found.confounded}
    assert pairs == {frozenset((0, 2))}
    pair = found.confounded[0]
    assert pair.equation == 1 and pair.correlation > 0.999
    assert "'x0' and 'sin(x0)'" in pair.advice or "'sin(x0)' and 'x0'" in pair.advice
    assert "differ clearly at x0 = " in pair.advice
    place = float(pair.advice.split("differ clearly at x0 = ")[1].split(",")[0])
    assert 0.2 < abs(place) < 0.7


def test_the_same_seed_gives_the_same_numbers():
    fitted = model().fit(*pendulum(reach=0.5, noise=0.1))
    one, other, third = (og.bootstrap(fitted, seed=s) for s in (1, 1, 2))
    assert np.array_equal(one.probability, other.probability)
    assert not np.array_equal(one.probability, third.probability)
    assert np.array_equal(one.interval, third.interval)  # those of the fit, which is not random


def test_hundreds_of_refits_take_about_a_second():
    x, y = pendulum(reach=2.0, noise=0.05)
    fitted = og.OrthoReg(augmentation=og.Zero()).fit(x, y)
    start = time.process_time()
    found = og.bootstrap(fitted, resamples=300)
    assert time.process_time() - start < 4  # takes a third of a second on an idle machine
    assert ((found.probability >= 0) & (found.probability <= 1)).all()


def test_intervals_are_those_of_leaving_out_a_group():
    x, y = pendulum(reach=2.0, noise=0.1)
    fitted = model().fit(x, y)
    cells = fitted.selection_.evidence.cells
    count = cells.n_groups
    solved = []
    for group in range(count):
        total = cells.total[cells.group != group].sum(axis=0)
        solved.append(np.linalg.solve(total[1:3, 1:3], total[1:3, 5]))
    moves = np.array(solved) - np.mean(solved, axis=0)
    error = np.sqrt((count - 1) / count * (moves**2).sum(axis=0))
    half = stats.t.ppf(0.975, count - 1) * error
    interval = fitted.coefficients_[1, 1:3, None] + half[:, None] * [-1, 1]
    assert_allclose(og.bootstrap(fitted, resamples=50).interval[1, 1:3], interval, rtol=1e-6)


def test_data_that_would_tell_terms_apart_lie_beyond_the_data():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1.2, 1.2, (400, 2))
    y = np.column_stack([x[:, 1], -np.sin(x[:, 0]) + 0.5 * np.sin(7 * x[:, 1])])
    (pair,) = og.bootstrap(model().fit(x, y)).confounded
    place = float(pair.advice.split("differ clearly at x0 = ")[1].split(",")[0])
    assert abs(place) > np.abs(x[:, 0]).max()


@pytest.mark.filterwarnings("ignore:The data have:orthoreg._common.errors.DataWarning")
def test_two_samples_tell_no_interval():
    x = np.array([[0.0, 1.0], [1.0, 0.0]])
    found = og.bootstrap(model().fit(x, x[:, ::-1]), resamples=20)
    assert np.isfinite(found.probability).all()
    assert np.isnan(found.interval[found.support]).all()
    assert not found.interval[~found.support].any()
    assert " to " not in str(found)


def test_what_cannot_be_chosen_again_is_refused(tmp_path):
    x, y = pendulum(reach=1.0, noise=0.0)
    fitted = model().fit(x, y)
    with pytest.raises(InputError, match="resamples must be a whole number of at least 20"):
        og.bootstrap(fitted, resamples=3)
    with pytest.raises(InputError, match="adapted model"):
        og.bootstrap(fitted.adapt(x, 2 * y))
    fitted.save(tmp_path / "m.orthoreg")
    with pytest.raises(InputError, match="models from files lack"):
        og.bootstrap(og.load(tmp_path / "m.orthoreg"))
    with pytest.raises(InputError, match="needs a model whose fit used a selection"):
        og.bootstrap(model(sparsity=0.1).fit(x, y))
    with pytest.raises(NotFittedError):
        og.bootstrap(model())


def test_the_kept_moments_leave_the_file_as_it_was(tmp_path):
    x, y = pendulum(reach=1.0, noise=0.0)
    model().fit(x, y).save(tmp_path / "m.orthoreg")
    assert (tmp_path / "m.orthoreg").stat().st_size < 20_000
