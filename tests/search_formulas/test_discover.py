"""`discover`: ranked models of runs, including the best model of the base library."""

import json
from copy import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from sklearn.base import clone

import orthoreg as og
from orthoreg._common.errors import InputError
from orthoreg.cli import run
from orthoreg.search.formulas import best_combinations


def logistic(t: np.ndarray, start: float) -> np.ndarray:
    """x' = x - x^2/2."""
    return 2 / (1 + (2 / start - 1) * np.exp(-t))


@pytest.fixture(scope="module")
def discovery():
    t = np.linspace(0, 8, 200)
    noise = 0.01 * np.random.default_rng(0).standard_normal((2, 200))
    runs = [logistic(t, start)[:, None] + e[:, None] for start, e in zip((0.1, 3.5), noise)]  # noqa: B905
    return og.discover(og.Dataset.from_arrays(runs, t, names=["x"]))


def test_the_truth_is_on_top(discovery):
    model = discovery.best
    assert sorted(np.array(model.feature_names_)[model.support_[0]]) == ["x", "x**2"]
    assert_allclose(sorted(model.coefficients_[0][model.support_[0]]), [-0.5, 1.0], rtol=0.05)


def test_gaps_and_weights_follow_the_scores(discovery):
    scores = [one.score for one in discovery.models]
    assert scores == sorted(scores)
    assert discovery.models[0].gap == 0
    assert_allclose(sum(one.weight for one in discovery.models), 1.0)
    assert discovery.base.is_base
    json.dumps(discovery.to_dict())


def test_each_model_says_where_it_differs_from_the_best(discovery):
    assert discovery.models[0].difference is None
    for one in discovery.models[1:]:
        apart = one.difference
        at = np.array([[apart.where["x"]]])
        pairs = ((discovery.best, apart.best), (one.model, apart.other))
        for model, value in pairs:
            assert_allclose(model.predict(at)[0, 0], value, rtol=1e-6, atol=1e-9)
        assert "differs most from the best at x = " in str(one)
    assert discovery.nothing_to_add == discovery.models[0].is_base
    assert not discovery.timed_out


def test_models_far_behind_are_counted_not_printed(discovery):
    models, text = discovery.models, str(discovery)
    near = {i for i, one in enumerate(models[:10]) if one.gap <= 15} | {
        models.index(discovery.base)
    }
    assert all((f"[{i}] gap" in text) == (i in near) for i in range(len(models)))
    rest = len(models) - len(near)
    assert rest > 0 and f"{rest} more model" in text
    assert f"{rest} more model" in discovery._repr_html_()


@pytest.mark.slow
def test_a_concentration_that_noise_takes_below_zero_still_saturates():
    """S' = -1.2 S/(0.7 + S) decays to zero. S/(c + S) is tried although some values are
    negative."""
    t, rng = np.linspace(0, 10, 80), np.random.default_rng(7)
    law = lambda _, s: -1.2 * s / (0.7 + s)  # noqa: E731
    runs = [solve_ivp(law, (0, 10), [s], t_eval=t, rtol=1e-9).y.T for s in (5.0, 2.0, 8.0)]
    runs = [run + 0.02 * rng.standard_normal(run.shape) for run in runs]
    assert min(run.min() for run in runs) < -0.02
    best = og.discover(og.Dataset.from_arrays(runs, t, names=["S"])).best
    points = np.linspace(0, 8, 50)[:, None]
    assert "S/(0." in best.equations()[0] and best.support_.sum() == 1
    assert_allclose(best.predict(points)[:, 0], law(0, points[:, 0]), atol=0.02)


@pytest.mark.slow
def test_a_tank_that_runs_dry_is_torricellis():
    """h' = -0.4 sqrt(h) is measured below zero after the tank is empty. Since no solution with
    sqrt(abs(h)) stays at zero, a constant of a few hundredths of the largest rate may be added."""
    t, rng = np.linspace(0, 9, 120), np.random.default_rng(3)
    runs = [np.maximum(np.sqrt(h) - 0.2 * t, 0.0)[:, None] ** 2 for h in (2.0, 1.2, 0.8)]
    runs = [run + 0.01 * rng.standard_normal(run.shape) for run in runs]
    best = og.discover(og.Dataset.from_arrays(runs, t, names=["h"])).best
    known = dict(zip(best.feature_names_, best.coefficients_[0], strict=True))
    assert_allclose(known.pop("sqrt(abs(h))"), -0.4, rtol=0.03)
    fastest = 0.4 * np.sqrt(2.0)
    assert all(abs(value) < 0.02 * fastest for value in known.values())


def test_forecasts_are_averaged(discovery):
    t = np.linspace(0, 5, 20)
    found = discovery.simulate([0.5], t)
    assert_allclose(found.x[:, 0], logistic(t, 0.5), atol=0.03)
    assert found.spread.shape == found.x.shape and (found.spread >= 0).all()


def test_a_model_of_the_list_is_a_model(discovery, tmp_path):
    assert discovery.best is discovery.models[0]
    t = np.linspace(0, 5, 20)
    for one in discovery.models:
        assert_allclose(one.simulate([0.5], t).x[:, 0], logistic(t, 0.5), atol=0.1)
        assert one.summary().equations == tuple(one.equations())
        one.save(tmp_path / "m.orthoreg")
        loaded = og.load(tmp_path / "m.orthoreg")
        assert isinstance(loaded, og.OrthoReg)
        assert loaded.equations() == one.equations()
        assert_allclose(loaded.predict([[0.5]]), one.predict([[0.5]]))
        assert isinstance(clone(one), og.OrthoReg) and isinstance(copy(one), og.OrthoReg)
        assert one.model is one


def test_every_model_has_intervals(discovery):
    for one in discovery.models:
        ends = og.bootstrap(one).interval[one.support_]
        values = one.coefficients_[one.support_]
        assert (ends[:, 0] < values).all() and (values < ends[:, 1]).all()
        constants = one.to_dict()["constants"]
        assert_allclose([[c["low"], c["high"]] for c in constants if c["equation"]], ends)
    ends = og.bootstrap(discovery.best).interval[0][discovery.best.support_[0]]
    truth = np.where(discovery.best.coefficients_[0][discovery.best.support_[0]] > 0, 1.0, -0.5)
    assert (ends[:, 0] < truth).all() and (truth < ends[:, 1]).all()


@pytest.mark.slow
def test_a_constant_inside_a_fraction_has_an_interval():
    """S' = -S/(1.08 + S) with 2% noise."""
    from scipy.integrate import solve_ivp

    t = np.linspace(0, 8, 100)
    runs = [solve_ivp(lambda _, s: -s / (1.08 + s), (0, 8), [start], t_eval=t, rtol=1e-9).y.T
            for start in (4.0, 1.5, 0.5)]  # fmt: skip
    spread = np.concatenate(runs).std()
    rng = np.random.default_rng(0)
    noisy = [run + 0.01 * spread * rng.standard_normal(run.shape) for run in runs]
    found = og.discover(og.Dataset.from_arrays(noisy, t, names=["S"]), "poly(1)")
    free = [one for one in found.models if one.parameters_]
    assert free
    for one in free:
        assert set(one.parameter_intervals_) == set(one.parameters_)
        for name, (low, high) in one.parameter_intervals_.items():
            assert low < one.parameters_[name] < high
        names = [c["term"] for c in one.constants() if c["equation"] is None]
        assert names == list(one.parameters_)


def test_runs_in_time_are_needed():
    with pytest.raises(InputError, match="runs in time"):
        og.discover(np.zeros((10, 2)))


@pytest.mark.parametrize("options, sentence", [
    ({"tried": 0}, "tried must be a whole number"),
    ({"minutes": -1}, "minutes must be more than 0"),
    ({"library": og.Terms(["x/(K + x)"])}, "does not estimate constants inside"),
])  # fmt: skip
def test_mistakes_are_told_in_a_sentence(options, sentence):
    t = np.linspace(0, 8, 60)
    data = og.Dataset.from_arrays(logistic(t, 0.1)[:, None], t, names=["x"])
    with pytest.raises(InputError, match=sentence):
        og.discover(data, **options)


def test_combinations_come_in_the_order_of_their_sums():
    class One:
        def __init__(self, score):
            self.score = score

    rng = np.random.default_rng(0)
    lists = [
        sorted((One(s) for s in rng.uniform(0, 9, n)), key=lambda o: o.score) for n in (4, 3, 5)
    ]
    found = [sum(one.score for one in chosen) for chosen in best_combinations(lists, 60)]
    every = sorted(
        a.score + b.score + c.score for a in lists[0] for b in lists[1] for c in lists[2]
    )
    assert_allclose(found, every)


@pytest.mark.slow
def test_fit_discovers_on_the_command_line(tmp_path, capsys):
    t = np.linspace(0, 8, 120)
    table = tmp_path / "runs.csv"
    rows = np.column_stack([t, logistic(t, 0.1)])
    np.savetxt(table, rows, delimiter=",", header="t,x", comments="")
    arguments = ["fit", str(table), "--time", "t", "--states", "x", "--discover"]
    assert run([*arguments, "--out", str(tmp_path / "out"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["discovery"][0]["equations"] == found["equations"]
    assert any(one["is_base"] for one in found["discovery"])
    for option in (["--sparsity", "0.1"], ["--preset", "paper_l2"]):
        assert run([*arguments, *option]) == 2
        assert f"does not accept {option[0]}" in capsys.readouterr().err
    assert run([*arguments[:-1], "--minutes", "1"]) == 2
    assert "--minutes requires --discover" in capsys.readouterr().err


@pytest.mark.slow
def test_a_positive_quantity_near_zero_beside_noise():
    """x' = 1.2 - 0.2 x - exp(-x) from 0: smoothed samples are below zero, but states of a model are
    not."""
    from scipy.integrate import solve_ivp

    t = np.linspace(0, 10, 300)
    x = solve_ivp(lambda _, x: 1.2 - 0.2 * x - np.exp(-x), (0, 10), [0.0], t_eval=t).y.T
    for seed in range(3):
        noise = 0.02 * x.std() * np.random.default_rng(seed).standard_normal(x.shape)
        found = og.discover(x + noise, t=t)
        rows = found.best.predict(x)
        assert found.base.is_base and np.isfinite(rows).all()


@pytest.mark.slow
def test_outliers_are_left_out():
    """x'' = -x - 0.3 x' abs(x') with an outlier in each run. The verdict does not count outliers
    either."""
    from scipy.integrate import solve_ivp

    rng = np.random.default_rng(0)
    runs, times = [], []
    for _ in range(5):
        t = np.sort(rng.uniform(0, 12, rng.integers(60, 160)))
        start = rng.uniform(-2, 2, 2)
        y = solve_ivp(
            lambda _, z: [z[1], -z[0] - 0.3 * z[1] * abs(z[1])], (0, 12.1), start, t_eval=t,
            rtol=1e-8,
        ).y.T  # fmt: skip
        y = y + 0.02 * rng.standard_normal(y.shape)
        y[rng.integers(5, len(y) - 5)] += 3
        runs.append(y)
        times.append(t)
    data = og.Dataset.from_arrays(runs, times, names=["x", "v"])
    model = og.discover(data).best
    terms = np.array(model.feature_names_)
    assert sorted(terms[model.support_[1]]) == ["v*abs(v)", "x"]
    fitted = og.OrthoReg("poly(1) + v*abs(v)", og.Zero()).fit(data)
    assert fitted.summary(data).verdict.code == "explained"


@pytest.mark.slow
def test_an_equation_may_have_no_term():
    """One state hardly moves, and the other does."""
    t = np.linspace(0, 8, 200)
    rng = np.random.default_rng(3)
    states = np.column_stack([logistic(t, 0.1), np.ones(200)]) + 0.01 * rng.standard_normal(
        (200, 2)
    )
    found = og.discover(og.Dataset.from_arrays(states, t, names=["x", "rest"]))
    assert found.best.equations()[1] == "rest' = 0"
    assert found.best.support_[0].any()
