"""Benchmark systems: the truth they state, and splits that share nothing they should not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg._errors import InputError
from orthoreg.libraries import evaluate, parse
from orthoreg.systems import DIFFICULTIES, Pendulum, Split, generate, true_derivatives

RUNS = 20  # as many as in the shared fixture: one compiled shape serves all splits
BOX = np.array([np.pi / 2, 1.0])


def pendulum_by_hand(t, x, omega0=1.0, alpha=0.2, beta1=0.3, beta2=0.25, beta3=0.15):
    theta, omega = x
    missing = beta1 * np.cos(3 * theta) + beta2 * np.exp(-(theta**2)) + beta3 * np.tanh(omega)
    return np.array([omega, -(omega0**2) * np.sin(theta) - alpha * omega + missing])


def solved(start, times, **parameters):
    return solve_ivp(
        lambda t, x: pendulum_by_hand(t, x, **parameters),
        (times[0], times[-1]), start, "LSODA", times, rtol=1e-12, atol=1e-12,
    ).y.T  # fmt: skip


def starts(data):
    return data.states[data.offsets[:-1]]


@pytest.fixture(scope="module")
def splits():
    return {split: generate(Pendulum(), split, runs=RUNS) for split in Split}


def test_splits_share_no_start_except_id_and_ext(splits):
    drawn = np.concatenate([starts(data) for split, data in splits.items() if split != "ext"])
    assert len(np.unique(drawn, axis=0)) == RUNS * (len(Split) - 1)


def test_the_same_seed_gives_the_same_runs_and_another_seed_none_of_them(splits):
    again = generate(Pendulum(), Split.id, runs=RUNS)
    assert_array_equal(again.states, splits[Split.id].states)
    other = generate(Pendulum(), Split.id, runs=RUNS, seed=1)
    assert not np.isin(starts(other), starts(again)).any()


def test_generating_leaves_the_global_generator_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    generate(Pendulum(), Split.train, runs=RUNS, noise=0.1)
    assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.parametrize("split", [Split.train, Split.t2])
def test_runs_agree_with_scipy(splits, split):
    data = splits[split]
    for run in data[:5]:
        assert_allclose(run.states, solved(run.states[0], run.times), rtol=0, atol=2e-8)


def test_ext_continues_the_runs_of_id(splits):
    inside, beyond = splits[Split.id], splits[Split.ext]
    step = inside.times[1]
    assert beyond.times[0] == pytest.approx(inside.times[-1] + step)
    assert beyond.times[-1] == pytest.approx(1.3 * inside.times[-1], abs=step)
    for first, second in zip(inside[:5], beyond[:5], strict=True):
        times = np.append(first.times[-1], second.times)
        assert_allclose(second.states, solved(first.states[-1], times)[1:], rtol=0, atol=2e-8)


def test_t2_starts_lie_outside_the_box_of_training(splits):
    assert (np.abs(starts(splits[Split.train])) <= BOX).all()
    t2 = np.abs(starts(splits[Split.t2]))
    assert (t2 > BOX).any(axis=1).all() and (t2 <= 5).all()
    assert len(t2) == RUNS


def test_t3_has_every_parameter_larger_by_a_fifth(splits):
    parameters = dict(omega0=1.2, alpha=0.24, beta1=0.36, beta2=0.3, beta3=0.18)
    assert (np.abs(starts(splits[Split.t3])) <= BOX).all()
    for run in splits[Split.t3][:5]:
        expected = solved(run.states[0], run.times, **parameters)
        assert_allclose(run.states, expected, rtol=0, atol=2e-8)


@pytest.mark.parametrize("split", list(Split))
def test_true_derivatives_are_the_slopes_of_the_runs(splits, split):
    data = splits[split]
    slopes = true_derivatives(Pendulum(), split, data)
    order = 6
    for run in range(3):
        rows = slice(data.offsets[run], data.offsets[run + 1])
        h = data.times[1] - data.times[0]
        x = data.states[rows]
        weights = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60
        estimate = sum(w * x[k : len(x) - order + k] for k, w in enumerate(weights)) / h
        assert_allclose(slopes[rows][3:-3], estimate, rtol=0, atol=5e-4)


def test_noise_has_the_asked_size_and_every_split_its_own(splits):
    noise = {
        split: generate(Pendulum(), split, runs=RUNS, noise=0.1).states - splits[split].states
        for split in Split
    }
    for values in noise.values():
        assert values.std() == pytest.approx(0.1, rel=0.1)
        assert abs(values.mean()) < 0.02
    first = np.stack([values[:20].ravel() for values in noise.values()])
    assert np.abs(np.corrcoef(first) - np.eye(len(Split))).max() < 0.75


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
def test_true_equations_and_support_say_what_the_field_is(difficulty):
    system = Pendulum.of_difficulty(difficulty)
    x = np.random.default_rng(0).uniform(-2, 2, (50, 2))
    expected = system.slope(0.0, x, np)
    assert_allclose(expected.T, pendulum_by_hand(0, x.T, 1.0, 0.2, *DIFFICULTIES[difficulty]))
    for c, line in enumerate(system.true_equations):
        name, formula = line.split("' = ")
        parsed = parse(formula.replace("0 ", "0*"), system.state_names)
        assert name == system.state_names[c]
        assert_allclose(evaluate(parsed, list(x.T), np), expected[:, c], atol=1e-12)
    assert system.true_support == {"theta": ("omega",), "omega": ("sin(theta)", "omega")}


def test_an_unknown_difficulty_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match="medium"):
        Pendulum.of_difficulty("meduim")


def test_without_missing_terms_the_true_support_is_the_whole_truth(splits):
    system = Pendulum(beta1=0.0, beta2=0.0, beta3=0.0)
    own = {state: og.Terms(names) for state, names in system.true_support.items()}
    x = splits[Split.t2].states
    slopes = true_derivatives(system, Split.t2, splits[Split.t2])
    data = og.Dataset.from_arrays(x, 1.0, names=system.state_names, derivatives=slopes)
    model = og.OrthoReg(og.PerState(own), og.Zero()).fit(data)
    assert_allclose(model.predict(data), slopes, atol=1e-12)
    assert_allclose(model.coefficients_[model.support_], [1.0, -0.2, -1.0], atol=1e-12)
