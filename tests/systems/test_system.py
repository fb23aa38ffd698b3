"""Properties of every benchmark system: true equations, splits and sampling."""

import functools
import re
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg._common.errors import InputError
from orthoreg.simulation import Rollout, Status
from orthoreg.systems import (
    SIR,
    SYSTEMS,
    LotkaVolterra,
    Pendulum,
    Sampling,
    Split,
    generate,
    true_derivatives,
)
from orthoreg.terms import evaluate, feature_names, parse

pytestmark = pytest.mark.slow  # compiled integrations of several systems

RUNS = 8  # the same number in all tests of systems, so that most splits share a compiled shape
LIBRARY = og.Polynomial(2) + og.Fourier(1)
everywhere = pytest.mark.parametrize("name", SYSTEMS)


# the equations of the paper in raw units, with parameters that enter linearly


def pendulum_by_hand(t, x, parameters):
    frequency, alpha, beta1, beta2, beta3 = parameters
    theta, omega = x
    missing = beta1 * np.cos(3 * theta) + beta2 * np.exp(-(theta**2)) + beta3 * np.tanh(omega)
    return np.array([omega, -frequency * np.sin(theta) - alpha * omega + missing])


def duffing_by_hand(t, x, parameters):
    a, b, c = parameters
    return np.array([x[1], a * x[1] - x[0] * (b + c * x[0] ** 2)])


def lotka_volterra_by_hand(t, x, parameters):
    """Derivatives in numbers of animals. The modulation depends on scaled states."""
    alpha, beta, gamma, delta = parameters
    n, p = x
    u, v = n / LotkaVolterra().scale[0], p / LotkaVolterra().scale[1]
    modulation = np.sin(3 * t) * np.cos(3 * u * v) * np.sin(1.5 * (u + v))
    return np.array([
        alpha * n - beta * n * p + 3 * n * modulation,
        delta * n * p - gamma * p + 2 * p * modulation * np.sin(u / (v + 0.1)),
    ])  # fmt: skip


def sir_by_hand(t, x, parameters):
    """Derivatives in numbers of people. The oscillations depend on scaled states."""
    beta, gamma = parameters
    units = SIR().scale
    s, i, r = (state / unit for state, unit in zip(x, units, strict=True))
    fading = np.exp(-t / 2)
    infections, recoveries = beta * x[0] * x[1] / (x[0] + x[1] + x[2]), gamma * x[1]
    return np.array([
        -infections
        + units[0] * 0.3 * s * i * np.sin(3 * (1 + s) * t) * fading * np.tanh(1.5 * (i + r)),
        infections - recoveries
        + units[1] * 0.25 * i * r * np.sin(3 * (1 + 2 * i) * t) * fading * np.tanh(1.5 * (s + r)),
        recoveries
        + units[2] * 0.2 * s * r * np.sin(1.5 * (1 + r) * t) * fading * np.tanh(1.5 * (s + i)),
    ])  # fmt: skip


BY_HAND = {
    "pendulum": pendulum_by_hand,
    "duffing": duffing_by_hand,
    "lotka-volterra": lotka_volterra_by_hand,
    "sir": sir_by_hand,
}
PARAMETERS = {
    "pendulum": [1.0, 0.2, 0.3, 0.25, 0.15],
    "duffing": [-0.5, -1.0, 0.1],
    "lotka-volterra": [0.1 * 12, 0.005 * 12, 0.04 * 12, 0.00004 * 12],
    "sir": [2.0, 1.0],
}
T3 = {
    "pendulum": [(1.44, 1.44), (0.24, 0.24), (0.36, 0.36), (0.3, 0.3), (0.18, 0.18)],
    "duffing": [(-0.6, -0.6), (-1.2, -1.2), (0.2, 0.2)],
    "lotka-volterra": [(2.4, 3.6), (0.12, 0.18), (0.96, 1.44), (0.00096, 0.00144)],
    "sir": [(8, 12), (0.8, 1.2)],
}


@functools.cache
def generated(name, split, sampling="regular", within_library=False, seed=0):
    system = SYSTEMS[name]()
    if within_library:
        system = system.within_library()
    return generate(system, split, runs=RUNS, sampling=sampling, seed=seed)


def scale_of(name):
    return np.array(getattr(SYSTEMS[name](), "scale", 1.0))


def starts(data):
    return data.states[data.offsets[:-1]]


def assert_solves(name, times, states, parameters):
    """The states equal those of SciPy's LSODA for the equations above."""
    scale = scale_of(name)
    solution = solve_ivp(
        lambda t, x: BY_HAND[name](t, x, parameters),
        (times[0], times[-1]), states[0] * scale, "LSODA", times, rtol=1e-12, atol=1e-12,
    )  # fmt: skip
    assert_allclose(states, solution.y.T / scale, rtol=0, atol=2e-7 * np.abs(states).max())


@everywhere
@pytest.mark.parametrize("split", [Split.train, Split.t2])
def test_runs_agree_with_scipy(name, split):
    run = generated(name, split)[1]
    assert_solves(name, run.times, run.states, PARAMETERS[name])


@pytest.mark.parametrize(
    "name, sampling",
    [("pendulum", "regular"), ("pendulum", "irregular"), ("lotka-volterra", "regular")],
)
def test_ext_continues_the_runs_of_id(name, sampling):
    inside, beyond = (generated(name, split, sampling)[2] for split in (Split.id, Split.ext))
    times = np.append(inside.times[-1], beyond.times)
    states = np.concatenate([inside.states[-1:], beyond.states])
    assert_solves(name, times, states, PARAMETERS[name])


@pytest.mark.parametrize("name", ["pendulum", "sir"])
def test_irregular_runs_start_as_regular_ones_and_agree_with_scipy(name):
    data = generated(name, Split.id, "irregular")
    assert_array_equal(starts(data), starts(generated(name, Split.id)))
    assert_solves(name, data[0].times, data[0].states, PARAMETERS[name])


@pytest.fixture
def at_rest(monkeypatch):
    """Runs that hardly move, so that all of them are simulated quickly."""

    def integrate(field, starts, times, **_):
        count, nothing = len(starts), [None] * len(starts)
        x = starts[:, None] + 1e-9 * times[:, :, None]
        return Rollout(times, x, [Status.completed] * count, nothing, nothing, [""] * count)

    monkeypatch.setattr("orthoreg.simulation.integrate", integrate)


@everywhere
@pytest.mark.parametrize("split", list(Split))
def test_splits_have_the_sizes_and_times_of_the_paper(name, split, at_rest):
    runs = {Split.train: 1000, Split.validation: 100}.get(split, 200)
    points, last = {"pendulum": (100, 6), "duffing": (4000, 40)}.get(name, (100, 10))
    data = generate(SYSTEMS[name](), split)
    assert data.n_runs == runs
    assert_array_equal(data.run_lengths, 3 * points // 10 if split is Split.ext else points)
    step = data.times[1] - data.times[0]
    assert data.times[-1] == pytest.approx(
        1.3 * last if split is Split.ext else last, abs=1.1 * step
    )
    assert data.times[0] == pytest.approx(last if split is Split.ext else 0, abs=1.1 * step)
    assert data.has_equal_steps().all()


@everywhere
def test_irregular_runs_have_the_asked_steps_up_to_the_same_last_time(name, at_rest):
    inside, beyond = (
        generate(SYSTEMS[name](), split, sampling="irregular") for split in (Split.id, Split.ext)
    )
    last = SYSTEMS[name]().times()[-1]
    assert (inside.times[inside.offsets[:-1]] == 0).all()
    assert inside.times.max() <= last < beyond.times.min()
    assert last - 0.05 < inside.times[inside.offsets[1:] - 1].min()
    assert 1.3 * last - 0.05 < beyond.times[beyond.offsets[1:] - 1].min()
    assert beyond.times.max() <= 1.3 * last
    joined = [
        np.diff(np.append(first.times, second.times))
        for first, second in zip(inside, beyond, strict=True)
    ]
    steps = np.concatenate(joined)
    assert steps.min() >= 0.01 - 1e-9 and steps.max() <= 0.05 + 1e-9
    assert steps.mean() == pytest.approx(0.03, rel=0.01)
    assert len({len(run) for run in joined}) > 1
    assert len(np.unique(joined[0][:50])) == 50 and not np.isin(joined[0], joined[1]).any()


@everywhere
@pytest.mark.parametrize("split", [Split.train, Split.validation, Split.id, Split.t2])
def test_true_derivatives_follow_the_equations(name, split):
    data, scale = generated(name, split), scale_of(name)
    expected = BY_HAND[name](data.times, (data.states * scale).T, PARAMETERS[name]).T / scale
    slopes = true_derivatives(SYSTEMS[name](), split, data)
    assert_allclose(slopes, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def parameters_of(name, run, slopes):
    """Return the parameters for which the equations have these derivatives."""
    scale = scale_of(name)
    unit = np.eye(len(PARAMETERS[name]))
    rest, *columns = (
        (BY_HAND[name](run.times, (run.states * scale).T, values).T / scale).ravel()
        for values in (0 * unit[0], *unit)
    )
    matrix = np.column_stack(columns) - rest[:, None]
    size = np.linalg.norm(matrix, axis=0)
    found = np.linalg.lstsq(matrix / size, slopes.ravel() - rest, rcond=None)[0]
    assert_allclose(matrix / size @ found + rest, slopes.ravel(), atol=1e-9 * np.abs(slopes).max())
    return found / size


@everywhere
def test_t3_has_other_parameters_and_the_runs_obey_them(name):
    data, low, high = generated(name, Split.t3), *np.array(T3[name]).T
    slopes = true_derivatives(SYSTEMS[name](), Split.t3, data)
    found = np.array([
        parameters_of(name, run, slopes[first:last])
        for run, first, last in zip(data, data.offsets[:-1], data.offsets[1:], strict=True)
    ])  # fmt: skip
    rounding = 1e-7 * np.abs(high)
    assert (found >= low - rounding).all() and (found <= high + rounding).all()
    drawn = high > low
    assert (np.ptp(found, axis=0)[drawn] > 0.3 * (high - low)[drawn]).all()
    assert_solves(name, data[1].times[:25], data[1].states[:25], found[1])


@pytest.mark.parametrize("name", ["lotka-volterra", "sir"])
def test_t3_parameters_belong_to_the_label_of_a_run_and_to_the_seed(name):
    system, data = SYSTEMS[name](), generated(name, Split.t3)
    slopes = true_derivatives(system, Split.t3, data)
    rows = np.isin(data.run_of_row, [2, 5])
    assert_array_equal(true_derivatives(system, Split.t3, data[[2, 5]]), slopes[rows])
    assert not np.allclose(true_derivatives(system, Split.t3, data, seed=1), slopes)
    renamed = replace(data, labels=("morning", *data.labels[1:]))
    with pytest.raises(InputError, match="'morning'"):
        true_derivatives(system, Split.t3, renamed)


@everywhere
def test_splits_share_no_start_except_id_and_ext(name):
    drawn = np.concatenate(
        [starts(generated(name, split)) for split in Split if split is not Split.ext]
    )
    assert len(np.unique(drawn, axis=0)) == RUNS * (len(Split) - 1)


@everywhere
@pytest.mark.parametrize("split", list(Split))
def test_a_seed_names_the_starts_and_fewer_are_the_first_ones(name, split):
    def drawn(count, seed):
        return SYSTEMS[name]().starts(split, count, np.random.default_rng(seed))

    many = drawn(50, 0)
    assert len(many) == 50
    assert_array_equal(drawn(3, 0), many[:3])
    assert not np.isin(drawn(50, 1)[:, :2], many[:, :2]).any()


def test_the_same_seed_gives_the_same_runs_and_another_seed_none_of_them():
    first = generated("pendulum", Split.id)
    assert_array_equal(generate(Pendulum(), Split.id, runs=RUNS).states, first.states)
    assert not np.isin(starts(generated("pendulum", Split.id, seed=1)), starts(first)).any()


@everywhere
def test_within_the_library_least_squares_finds_the_truth(name):
    system = SYSTEMS[name]().within_library()
    names = feature_names(LIBRARY, system.state_names)
    for split in (Split.train, Split.t2):
        data = generated(name, split, within_library=True)
        features = np.column_stack([
            np.broadcast_to(evaluate(term, list(data.states.T), np), data.n_samples)
            for term in LIBRARY.terms(system.state_names)
        ])  # fmt: skip
        size = np.linalg.norm(features, axis=0)
        slopes = true_derivatives(system, split, data)
        found = np.linalg.lstsq(features / size, slopes, rcond=None)[0] / size[:, None]
        for state, column in zip(system.state_names, found.T, strict=True):
            truth = system.true_coefficients[state]
            expected = np.array([truth.get(term, 0.0) for term in names])
            assert np.count_nonzero(expected) == len(truth)
            assert_allclose(column, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def test_true_supports_are_those_of_the_paper():
    assert {name: system().true_support for name, system in SYSTEMS.items()} == {
        "pendulum": {"theta": ("omega",), "omega": ("sin(theta)", "omega")},
        "duffing": {"x": ("y",), "y": ("x", "y")},
        "lotka-volterra": {"x": ("x", "x*y"), "y": ("y", "x*y")},
        "sir": {"S": ("S*I",), "I": ("S*I", "I"), "R": ("I",)},
    }


def test_only_missing_terms_know_the_time(rng):  # app:non_autonomy_caveat
    for name, system in SYSTEMS.items():
        x = rng.uniform(1, 5, (20, len(system().state_names)))
        early, late = (system().slope(t, x, np) for t in (0.3, 1.7))
        assert np.array_equal(early, late) == (name in ("pendulum", "duffing"))
        early, late = (system().within_library().slope(t, x, np) for t in (0.3, 1.7))
        assert_array_equal(early, late)


@pytest.mark.parametrize("within_library", [False, True])
@pytest.mark.parametrize(
    "system",
    [
        *(SYSTEMS[name]() for name in ("pendulum", "duffing")),
        *(Pendulum.of_difficulty(difficulty) for difficulty in ("low", "high")),
        LotkaVolterra(scale=(100.0, 10.0)),  # coefficients with three digits
        SIR(scale=(1.0, 0.5, 2.0)),
        SIR(scale=(1.0, 0.5, 2.0), population=2.0),
    ],
)
def test_true_equations_are_the_field(system, within_library, rng):
    """The printed equations, read as formulas, give the derivatives."""
    if within_library:
        units = {"scale": system.scale} if hasattr(system, "scale") else {}
        system = replace(system.within_library(), **units)
    x, t = rng.uniform(0.1, 2, (50, len(system.state_names))), rng.uniform(0, 5, 50)
    expected = system.slope(t, x, np)
    assert len(system.true_equations) == len(system.state_names)
    for state, line, column in zip(
        system.state_names, system.true_equations, expected.T, strict=True
    ):
        left, right = line.split("' = ")
        formula = parse(re.sub(r"(\d\.\d{3}) ", r"\1*", right), (*system.state_names, "t"))
        assert left == state
        assert_allclose(evaluate(formula, [*x.T, t], np), column, atol=1e-12)


def test_noise_has_the_asked_size_and_every_split_its_own():
    noise = {
        split: generate(Pendulum(), split, runs=RUNS, noise=0.1).states
        - generated("pendulum", split).states
        for split in Split
    }
    for values in noise.values():
        assert values.std() == pytest.approx(0.1, rel=0.1)
        assert abs(values.mean()) < 0.02
    first = np.stack([values[:20].ravel() for values in noise.values()])
    assert np.abs(np.corrcoef(first) - np.eye(len(Split))).max() < 0.75


def test_noise_is_added_to_irregular_runs_of_all_lengths():
    clean = generated("pendulum", Split.train, Sampling.irregular)
    noisy = generate(Pendulum(), "train", runs=RUNS, sampling="irregular", noise=0.1)
    assert_array_equal(noisy.times, clean.times)
    assert (noisy.states - clean.states).std() == pytest.approx(0.1, rel=0.1)


def test_generating_leaves_the_global_generator_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    generate(Pendulum(), Split.train, runs=RUNS, noise=0.1, sampling="irregular")
    assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"split": "tset"}, "split must be one of 'train', .*; got 'tset'"),
        ({"split": "valid"}, "Did you mean 'validation'"),
        ({"sampling": "iregular"}, "Did you mean 'irregular'"),
        ({"runs": 0}, "runs must be a whole number of at least 1; got 0"),
        ({"seed": -1}, "seed must be a whole number of at least 0; got -1"),
        ({"noise": -0.1}, "noise must be a finite number of at least 0; got -0.1"),
        ({"noise": float("nan")}, "noise must be a finite number"),
    ],
)
def test_wrong_arguments_are_refused(arguments, words):
    with pytest.raises(InputError, match=words):
        generate(Pendulum(), **({"split": "train"} | arguments))
