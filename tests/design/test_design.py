"""Designed experiments: the information equals finite differences, and runs have the expected
effect."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg import InputError
from orthoreg.cli import run
from orthoreg.design import (
    KINDS,
    Band,
    PlannedRuns,
    RunLimits,
    choose,
    information,
    interval_widths,
    signals,
)
from orthoreg.matching import run_sensitivities
from orthoreg.model.designing import Request, _allowed, _candidates, _dataset, _noise

STEP = 0.1
ALLOWED = {"x": (-0.5, 0.5), "v": (-0.5, 0.5)}, {"u": (-1.0, 1.0, 1.0)}


def recorded(start, u, times, noise=0.02, seed=0):
    """Return a noisy run of a forced oscillator."""

    def rate(t, x):
        return [x[1], -4.0 * x[0] - 0.3 * x[1] + np.interp(t, times, u[:, 0])]

    x = solve_ivp(rate, (times[0], times[-1]), start, t_eval=times, rtol=1e-9, atol=1e-10,
                  max_step=STEP).y.T  # fmt: skip
    x = x + noise * np.random.default_rng(seed).standard_normal(x.shape)
    return og.Dataset.from_arrays(x, times, u=u, names=["x", "v"], input_names=["u"])


def fitted(runs):
    physics = og.Physics(equations={"x": "v", "v": "-k*x - c*v + b*u"})
    return og.OrthoReg(augmentation=og.Zero(), physics=physics).fit(runs)


@pytest.fixture(scope="module")
def first():
    rng, t = np.random.default_rng(0), STEP * np.arange(30)
    waves = [np.interp(t, [0, 1, 2, 3], rng.uniform(-0.3, 0.3, 4))[:, None] for _ in range(2)]
    return [recorded([0.3, 0.0], u, t, seed=i) for i, u in enumerate(waves)]


@pytest.fixture(scope="module")
def model(first):
    return fitted(first)


def test_the_information_of_a_run_is_that_of_differences(model):
    request = Request(*ALLOWED, 1, 5.0, STEP, "constants")
    allowed = _allowed(model, request)
    every = _candidates(model, request, allowed.times, allowed.spread_runs(0))
    some = every.only(np.arange(4))
    sigma, data = _noise(model, 0.02 * np.ones(2)), _dataset(model, some)
    kinds = model.input_interpolation_
    runs = run_sensitivities(model.field_, data, kinds, sigma, model.knowledge())
    found, h = information(runs), 1e-5
    places = [runs.places[i] for i in runs.constants.lead]

    def simulated(r, coefficients, start):
        moved = og.OrthoReg(augmentation=og.Zero(), physics=model.physics)
        moved.fit_ = replace(model.fit_, field=replace(model.field_, coefficients=coefficients))
        moved.n_features_in_ = 2
        x = moved.simulate(start, some.times, some.inputs[r], rtol=1e-11).x
        return (x / sigma).ravel()

    w, unit = np.array(model.coefficients_), np.eye(2)
    for r in range(4):
        columns, starts = [], []
        for place in places:
            change = np.zeros_like(w)
            change[place] = h
            ends = [simulated(r, w + s * change, some.starts[r]) for s in (1, -1)]
            columns.append((ends[0] - ends[1]) / (2 * h))
        for j in range(2):
            ends = [simulated(r, w, some.starts[r] + s * h * unit[j]) for s in (1, -1)]
            starts.append((ends[0] - ends[1]) / (2 * h))
        S, start = np.array(columns).T, np.array(starts).T
        S = S - start @ np.linalg.lstsq(start, S, rcond=None)[0]
        assert_allclose(found[r], S.T @ S, rtol=5e-3, atol=1e-3 * np.abs(found[r]).max())


def test_proposed_runs_shrink_intervals_as_expected_and_more_than_random_ones(model, first):
    proposal = model.next_experiment(*ALLOWED, runs=2, horizon=8, step=STEP)
    rng, times = np.random.default_rng(5), proposal.times
    before = {name: np.ptp(ends) for name, ends in model.parameter_intervals_.items()}
    assert set(proposal.expected_shrinkage) == set(before)

    def intervals(starts, inputs):
        new = [recorded(starts[r], inputs[r], times, seed=10 + r) for r in range(2)]
        return fitted([*first, *new]).parameter_intervals_

    after = intervals(proposal.starts, proposal.inputs)
    for name, expected in proposal.expected_shrinkage.items():
        assert expected == pytest.approx(np.ptp(after[name]) / before[name], rel=0.3)
    ratios = []
    for _ in range(3):
        waves = signals([Band(-1, 1, 1.0)], times, 2, int(rng.integers(1000)))
        random = intervals(rng.uniform(-0.5, 0.5, (2, 2)), waves)
        ratios.append([np.ptp(after[name]) / np.ptp(random[name]) for name in before])
    assert np.exp(np.mean(np.log(ratios))) < 0.8


def test_greedy_with_exchange_finds_the_best_pair_of_a_small_set():
    S = np.random.default_rng(0).standard_normal((8, 4, 3))
    widths = interval_widths(np.diag([1.0, 4.0, 0.25]), np.swapaxes(S, 1, 2) @ S, np.eye(3))

    def value(chosen):
        return -np.log(widths(chosen)).sum()

    best = max(value([i, j]) for i in range(8) for j in range(i, 8))
    assert value(choose(2, 8, value)) == pytest.approx(best)


def test_widths_are_those_of_the_inverse_information_in_any_units():
    rng = np.random.default_rng(0)
    S, R = rng.standard_normal((5, 4, 3)), rng.standard_normal((4, 3))
    M, C, D = np.swapaxes(S, 1, 2) @ S, np.linalg.inv(R.T @ R), rng.standard_normal((2, 3))
    after = np.linalg.inv(np.linalg.inv(C) + M[1] + M[3])
    expected = np.sqrt(np.diag(D @ after @ D.T) / np.diag(D @ C @ D.T))
    assert_allclose(interval_widths(C, M, D)([1, 3]), expected)
    units = np.diag([1e6, 1.0, 1e-6])
    inverse = np.linalg.inv(units)
    scaled = interval_widths(units @ C @ units, inverse @ M @ inverse, D @ inverse)
    assert_allclose(scaled([1, 3]), expected)


@pytest.mark.parametrize("rate", [np.inf, 1.5])
def test_variants_stay_within_the_limits_and_become_smaller(rate):
    times, bands = np.arange(0, 20, 0.02), [Band(-1, 3, 0.5, rate)]
    low, high = np.array([-1.0, 0.5]), np.array([1.0, 0.5])  # the second state has one start
    allowed, kinds = RunLimits(times, low, high, bands), np.array([1, 2])
    starts, waves = np.array([[0.9, 0.5], [0.0, 0.5]]), signals(bands, times, 3, 0)[1:]
    sizes = []
    for i in range(2):
        runs = allowed.with_variants(PlannedRuns(starts, waves, kinds), (0, 7 * i))
        assert np.array_equal(runs.starts[:2], starts) and runs.inputs is not None
        assert np.array_equal(runs.inputs[:2], waves)
        assert np.all((runs.starts >= low) & (runs.starts <= high))
        assert runs.inputs.min() >= -1 and runs.inputs.max() <= 3
        assert (np.abs(np.diff(runs.inputs, axis=1)) / 0.02).max() <= rate * (1 + 1e-9)
        parents = np.repeat([0, 1], len(runs.starts[2:]) // 2)
        changed = (runs.inputs[2:] != waves[parents]).any(axis=2)
        assert 0.05 < changed.mean() < 0.6
        moves = runs.starts[2:] - starts[parents]
        assert 0.3 < np.mean(moves[:, 0] != 0) < 0.7
        sizes.append(np.std(moves[:, 0]))
        assert {KINDS[k] for k in runs.kinds[2:]} == {"random steps", "full steps", KINDS[3]}
    assert sizes[1] < 0.2 * sizes[0]


def test_refined_runs_are_expected_to_narrow_intervals_more(model, monkeypatch):
    def mean_width():
        proposal = model.next_experiment(*ALLOWED, runs=2, horizon=8, step=STEP)
        return np.exp(np.mean(np.log([*proposal.expected_shrinkage.values()])))

    refined = mean_width()
    monkeypatch.setattr("orthoreg.design.ROUNDS", 0)
    assert refined < 0.9 * mean_width()


def test_signals_stay_within_amplitude_and_bandwidth():
    times = np.arange(0, 20, 0.02)
    waves = signals([Band(-1, 3, 0.5)], times, 40, 0)[:, :, 0]
    assert waves.min() >= -1 and waves.max() <= 3
    for wave in waves[::3]:  # multisines
        assert np.isclose(np.abs(wave - 1).max(), 2)
        power = np.abs(np.fft.rfft((wave - wave.mean()) * np.hanning(len(times)))) ** 2
        assert power[np.fft.rfftfreq(len(times), 0.02) > 0.7].sum() < 1e-3 * power.sum()
    for wave in [*waves[1::3], *waves[2::3]]:  # steps
        assert np.diff(times[np.flatnonzero(np.diff(wave))]).min() > 0.97


def test_signals_stay_within_the_rate():
    times, band = np.arange(0, 20, 0.05), Band(-1, 3, 0.5, 1.5)
    waves = signals([band], times, 40, 0)[:, :, 0]
    slopes = np.abs(np.diff(waves, axis=1)) / 0.05
    assert slopes.max() <= 1.5 * (1 + 1e-9) and waves.min() >= -1 and waves.max() <= 3
    assert (slopes.max(axis=1) > 0.75).all()  # the limit is used
    full = waves[2::3]
    changing = full[np.ptp(full, axis=1) > 0]
    assert len(changing) > 5 and np.ptp(changing, axis=1).min() > 4 - 0.1  # up to a row's change
    free = signals([Band(-1, 3, 0.5)], times, 40, 0)[:, :, 0]
    assert np.array_equal(signals([Band(-1, 3, 0.5, 1e9)], times, 40, 0)[:, :, 0], free)


def test_proposed_inputs_stay_within_all_limits(model):
    limits = {"u": {"range": (-0.8, 0.6), "bandwidth": 0.5, "rate": 0.4}}
    proposal = model.next_experiment({"x": (-0.5, 0.5)}, limits, horizon=8, step=STEP)
    assert proposal.inputs.min() >= -0.8 and proposal.inputs.max() <= 0.6
    assert np.abs(np.diff(proposal.inputs, axis=1)).max() <= 0.4 * STEP * (1 + 1e-9)
    short = model.next_experiment({"x": (-0.5, 0.5)}, {"u": (-0.8, 0.6, 0.5)}, horizon=8, step=STEP)
    long = {"u": {"range": (-0.8, 0.6), "bandwidth": 0.5}}
    named = model.next_experiment({"x": (-0.5, 0.5)}, long, horizon=8, step=STEP)
    assert np.array_equal(short.inputs, named.inputs)


def swung(start, times, noise, seed):
    """Return a noisy run of a pendulum."""
    x = solve_ivp(lambda t, x: [x[1], -np.sin(x[0]) - 0.1 * x[1]], (0, times[-1]), start,
                  t_eval=times, rtol=1e-9).y.T  # fmt: skip
    return x + noise * np.random.default_rng(seed).standard_normal(x.shape)


def test_rivals_that_the_data_do_not_separate_are_separated():
    """Small swings do not distinguish sin(theta) from theta, but large ones do."""
    t = 0.05 * np.arange(120)
    runs = [swung([0.2, 0.0], t, 0.004, seed) for seed in range(2)]
    data = og.Dataset.from_arrays(runs, t, names=["theta", "omega"])
    rivals = [
        og.OrthoReg(physics=og.Physics(equations={"theta": "omega", "omega": right})).fit(data)
        for right in ("-a*sin(theta) - c*omega", "-a*theta - c*omega")
    ]
    options = {"runs": 1, "horizon": 6.0, "goal": "rivals", "rivals": rivals[1:]}
    wide = rivals[0].next_experiment({"theta": (-2.0, 2.0)}, **options)
    near = rivals[0].next_experiment({"theta": (-0.2, 0.2)}, **options)
    assert abs(wide.starts[0, 0]) > 1.5
    assert wide.separation is not None and near.separation is not None
    assert wide.separation > 10 > 5 > near.separation
    new = swung(wide.starts[0], wide.times, 0.004, 9)
    errors = [
        np.sqrt(np.mean((model.simulate(wide.starts[0], wide.times).x - new) ** 2))
        for model in rivals
    ]
    assert errors[0] < 0.1 * errors[1]


def test_coverage_goes_where_the_data_are_not():
    t = np.linspace(0, 10, 200)
    model = og.OrthoReg("poly(3)").fit(
        og.Dataset.from_arrays(np.column_stack([np.cos(t), -np.sin(t)]), t, names=["x", "v"])
    )
    starts = {"x": (-3, 3), "v": (-3, 3)}
    proposal = model.next_experiment(starts, runs=2, horizon=3, goal="coverage")
    radius = np.hypot(*proposal.starts.T)
    assert (np.abs(radius - 1) > 0.5).any() and proposal.coverage > 0 and proposal.outside.any()


def test_the_table_has_inputs_and_expected_states(model, tmp_path):
    proposal = model.next_experiment(*ALLOWED, runs=2, horizon=2, step=STEP)
    proposal.to_csv(tmp_path / "next.csv")
    rows = list(csv.DictReader((tmp_path / "next.csv").read_text().splitlines()))
    assert list(rows[0]) == ["run", "t", "u", "x_expected", "v_expected", "outside_data"]
    assert len(rows) == 2 * 21 and rows[21]["run"] == "2"
    outside = np.array([int(row["outside_data"]) for row in rows]).reshape(2, 21)
    assert np.array_equal(outside, proposal.outside) and outside.any()
    assert float(rows[21]["x_expected"]) == pytest.approx(proposal.starts[1, 0])
    assert "Expected widths of intervals" in str(proposal)
    again = model.next_experiment(*ALLOWED, runs=2, horizon=2, step=STEP)
    assert np.array_equal(again.inputs, proposal.inputs)


def test_allowed_ranges_of_states_hold(model):
    limits = {"x": (-0.3, 0.3)}
    proposal = model.next_experiment(
        {"x": (-0.2, 0.2)}, {"u": (-0.5, 0.5)}, horizon=4, ranges=limits
    )
    assert np.abs(proposal.predicted[:, :, 0]).max() <= 0.3
    with pytest.raises(InputError, match="No candidate run stays within the allowed ranges"):
        model.next_experiment({"x": (0.4, 0.5)}, {"u": (-1, 1)}, ranges=limits)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (({"y": (0, 1)}, {"u": (-1, 1)}), {}, "starts has 'y', which is not one of 'x', 'v'"),
        (({}, {}), {}, "inputs needs a range for each of 'u'"),
        (({}, {"u": (1, -1)}), {}, r"inputs\['u'\] must be a lowest and a highest"),
        (({}, {"u": (-1, 1, 0.0)}), {}, "bandwidth of inputs"),
        (({}, {"u": (-1, 1, 0.5, 2)}), {}, r"optionally with a bandwidth and a rate: \{'range'"),
        (({}, {"u": {"bandwidth": 2}}), {}, r"inputs\['u'\] must be a lowest"),
        (({}, {"u": {"range": (-1, 1), "rate": -1}}), {}, "rate of inputs.* must be a positive"),
        (({}, {"u": {"range": (-1, 1), "rates": 1}}), {}, "has 'rates'.* Did you mean 'rate'"),
        (({}, {"u": (-1, 1), "w": (0, 1)}), {}, "inputs has 'w', which is not one of 'u'"),
        (({}, {"u": (-1, 1)}), {"goal": "constant"}, "Did you mean 'constants'"),
        (({}, {"u": (-1, 1)}), {"goal": "rivals"}, "left no alternative terms open"),
        (({}, {"u": (-1, 1)}), {"runs": 0}, "runs must be a whole number"),
        (({}, {"u": (-1, 1)}), {"step": 20.0}, "smaller than horizon"),
        (({}, {"u": (-1, 1)}), {"step": 1e-4}, "Increase step"),
        (({}, {"u": (-1, 1)}), {"nosie": 1}, "no argument 'nosie'. Did you mean 'noise'"),
    ],
)
def test_wrong_requests_are_refused(model, arguments, options, message):
    with pytest.raises(InputError, match=message):
        model.next_experiment(*arguments, **options)


def test_a_map_takes_its_own_step():
    rng, x = np.random.default_rng(0), [[0.3, 0.2]]
    for _ in range(200):
        x.append([1 - 1.2 * x[-1][0] ** 2 + x[-1][1], 0.3 * x[-1][0]])
    noisy = np.array(x) + 0.005 * rng.standard_normal((201, 2))
    henon = og.OrthoReg().fit(og.Dataset.from_arrays(noisy, names=["a", "b"], discrete=True))
    proposal = henon.next_experiment({"a": (-0.5, 0.5)}, runs=1, horizon=50, step=1)
    assert len(proposal.times) == 51
    assert all(0 < width < 1 for width in proposal.expected_shrinkage.values())
    with pytest.raises(InputError, match="step must be 1, the step of the map; got 0.5"):
        henon.next_experiment({"a": (-0.5, 0.5)}, runs=1, horizon=50, step=0.5)


def test_the_command_writes_the_table(model, tmp_path, capsys):
    path, out = tmp_path / "m.orthoreg", tmp_path / "next.csv"
    model.save(path)
    arguments = ["design", str(path), "--start", "x=-0.5..0.5", "--input", "u=-1..1,1", "--runs",
                 "2", "--horizon", "4", "--out", str(out)]  # fmt: skip
    assert run(arguments) == 0
    assert "Run 2: start at" in capsys.readouterr().out and out.exists()
    assert run([*arguments, "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)
    assert set(entries["expected_shrinkage"]) == {"b", "c", "k"} and len(entries["starts"]) == 2
    limited = ["--input", "u=-1..1, bandwidth=0.5, rate=0.5", "--horizon", "4", "--json"]
    assert run(["design", str(path), *limited]) == 0
    inputs = np.array(json.loads(capsys.readouterr().out)["inputs"])
    assert np.abs(np.diff(inputs, axis=1)).max() <= 0.5 * 0.05 * (1 + 1e-9)
    for text in ("u=low", "u=-1..1, rate=fast", "=1..2", "u", "u=1..-1", "u=0..1, rates=2"):
        assert run(["design", str(path), "--input", text]) == 2
        assert "--input must be text such as 'u=-1..1'" in capsys.readouterr().err
    assert run(["design", str(path)]) == 2
    assert "error: --input needs a range for each of 'u'." in capsys.readouterr().err
    assert run(["design", str(path), "--start", "y=0..1", "--input", "u=-1..1"]) == 2
    assert "error: --start has 'y', which is not one of" in capsys.readouterr().err
