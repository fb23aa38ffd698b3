"""`adapt`: least squares for coefficients that the new data determine, old values for
the others."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import orthoreg as og
from orthoreg._common.errors import InputError
from orthoreg.model.estimator import OrthoReg

LIBRARY = og.Terms(["x0", "x1", "x0*x1"])
OLD, NEW = np.array([1.0, -2.0, 0.5]), np.array([1.3, -1.5, 0.6])


def features(x: np.ndarray) -> np.ndarray:
    return np.column_stack([x, x[:, 0] * x[:, 1]])


def rows(rng, w, n, noise=0.0, spread=(1.0, 1.0)) -> tuple[np.ndarray, np.ndarray]:
    x = rng.uniform(-1, 1, (n, 2)) * spread
    return x, features(x) @ w + noise * rng.normal(size=n)


@pytest.fixture(scope="module")
def model() -> OrthoReg:
    """One equation of three terms, known exactly."""
    return og.OrthoReg(LIBRARY, og.Zero()).fit(*rows(np.random.default_rng(0), OLD, 500))


def test_data_in_plenty_give_least_squares(model, rng):
    x, y = rows(rng, NEW, 20_000, noise=0.1)
    plain = np.linalg.lstsq(features(x), y, rcond=None)[0]
    before = model.coefficients_.copy()
    new = model.adapt(x, y)
    assert_allclose(new.coefficients_[0], plain, rtol=1e-4)
    assert_array_equal(model.coefficients_, before)
    assert type(new) is OrthoReg and new.get_params() == model.get_params()


def test_three_rows_without_error_say_nothing_of_their_error(model, rng):
    assert_array_equal(model.adapt(*rows(rng, NEW, 3)).coefficients_, model.coefficients_)
    assert_allclose(model.adapt(*rows(rng, NEW, 12)).coefficients_[0], NEW, rtol=1e-9)


def test_shrinking_beats_both_least_squares_and_no_change_on_few_noisy_rows(model):
    errors = {"adapted": 0.0, "plain": 0.0, "old": 0.0}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        truth = OLD * (1 + 0.2 * rng.normal(size=3))
        x, y = rows(rng, truth, 25, noise=0.5)
        found = {
            "adapted": model.adapt(x, y).coefficients_[0],
            "plain": np.linalg.lstsq(features(x), y, rcond=None)[0],
            "old": OLD,
        }
        for name, w in found.items():
            errors[name] += float((((w - truth) / OLD) ** 2).sum())
    assert errors["adapted"] < 0.7 * errors["plain"] and errors["adapted"] < errors["old"]


@given(st.integers(0, 20))
def test_a_term_that_the_data_do_not_excite_keeps_its_coefficient(model, seed):
    rng = np.random.default_rng(seed)
    x, y = rows(rng, NEW, 400, noise=0.01, spread=(1.0, 1e-5))
    plain = np.linalg.lstsq(features(x), y, rcond=None)[0]
    w = model.adapt(x, y).coefficients_[0]
    assert abs(w[0] - NEW[0]) < 0.01
    assert_allclose(w[1:], OLD[1:], rtol=0.02)
    assert np.abs(plain[1:] - OLD[1:]).max() > 1  # the values without this rule


def test_a_term_that_never_shows_keeps_its_coefficient_to_the_bit_of_rounding(model, rng):
    x, y = rows(rng, NEW, 100, noise=0.01, spread=(1.0, 0.0))
    assert_allclose(model.adapt(x, y).coefficients_[0, 1:], OLD[1:], rtol=1e-12)


def test_the_same_system_keeps_its_coefficients(model):
    moved, plain = [], []
    for seed in range(40):
        x, y = rows(np.random.default_rng(seed), OLD, 30, noise=0.3)
        moved.append(model.adapt(x, y).coefficients_[0] - OLD)
        plain.append(np.linalg.lstsq(features(x), y, rcond=None)[0] - OLD)
    assert np.median(np.abs(moved)) < 0.2 * np.median(np.abs(plain))


def test_errors_that_last_count_once(model, rng):
    """Noise that is correlated over many rows counts as fewer rows."""
    x, _ = rows(rng, NEW, 1000)
    x = np.repeat(x[:10], 100, axis=0)
    slow = 0.5 * np.repeat(rng.normal(size=10), 100)
    fast = 0.5 * rng.normal(size=1000)
    lasting, brief = (
        model.adapt(x, features(x) @ NEW + noise).coefficients_[0] for noise in (slow, fast)
    )
    plain = np.linalg.lstsq(features(x), features(x) @ NEW + slow, rcond=None)[0]
    assert_allclose(brief, NEW, rtol=0.2)
    assert np.abs(lasting - OLD).sum() < 0.8 * np.abs(plain - OLD).sum()


@settings(max_examples=6)
@given(st.floats(1e-5, 1e5), st.floats(1e-5, 1e5), st.floats(1e-5, 1e5))
def test_units_do_not_matter(first, second, target):
    rng = np.random.default_rng(1)
    unit = np.array([first, second])
    old, new = rows(rng, OLD, 200), rows(rng, NEW, 15, noise=0.3)
    one = og.OrthoReg(LIBRARY, og.Zero()).fit(*old).adapt(*new).coefficients_[0]
    other = og.OrthoReg(LIBRARY, og.Zero()).fit(old[0] * unit, old[1] * target)
    w = other.adapt(new[0] * unit, new[1] * target).coefficients_[0]
    assert_allclose(w * [first, second, first * second] / target, one, rtol=1e-6)


@pytest.fixture(scope="module")
def other() -> tuple[og.Dataset, og.Dataset]:
    """Runs of another pendulum with derivatives: five for adapting and five for testing."""
    from orthoreg.systems import Pendulum, Split, generate, true_derivatives

    runs = generate(Pendulum(), Split.t3, runs=10)
    slopes = np.split(true_derivatives(Pendulum(), Split.t3, runs), 10)
    data = og.Dataset.from_arrays(
        [run.states for run in runs], runs[0].times, names=runs.state_names, derivatives=slopes
    )
    return data[:5], data[5:]


@pytest.mark.parametrize("library", [og.Terms(["omega", "sin(theta)"]), None])
def test_another_pendulum_is_learned_from_five_runs(pendulum_runs, other, library):
    data, test = other
    model = og.OrthoReg(library, og.RandomFeatures(100)).fit(pendulum_runs)
    new = model.adapt(data)
    before, after = (np.square(one.predict(test) - test.derivatives).sum() for one in (model, new))
    assert after < before / 10
    assert_array_equal(new.support_, model.support_)
    assert_array_equal(new.decompose(test)[1], model.decompose(test)[1])


def test_every_kind_of_input_and_the_file(pendulum_runs, other, tmp_path):
    data, _ = other
    model = og.STLSQ().fit(pendulum_runs)
    new = model.adapt(data)
    assert_array_equal(model.adapt([data[:2], data[2:]]).coefficients_, new.coefficients_)
    times, states = [run.times for run in data], [run.states for run in data]
    assert model.adapt(states, t=times).support_.sum() == model.support_.sum()
    by_rows = model.adapt(data.states, data.derivatives)
    assert_allclose(by_rows.coefficients_, new.coefficients_, rtol=0.2)
    new.save(tmp_path / "m.orthoreg")
    loaded = og.load(tmp_path / "m.orthoreg")
    assert_array_equal(loaded.predict(data.states), new.predict(data.states))


def test_the_certificate_is_about_the_new_data_and_claims_no_bound(pendulum_model, other):
    model, (data, _) = pendulum_model, other
    new = model.adapt(data)
    certificate, slopes = new.certificate_, new.target_derivatives(data)
    assert certificate.n_samples == data.n_samples and certificate.orthogonality == 0
    neural = new.decompose(data)[1]
    theta = new.field_.features(data.states)
    overlap = np.abs(theta.T @ neural / len(neural)).T
    size = np.sqrt(np.square(slopes).mean(axis=0))
    expected = overlap / size[:, None] / np.sqrt(np.square(theta).mean(axis=0))
    assert_allclose(certificate.overlap, expected, rtol=1e-6, atol=1e-9)
    assert max(one.overlap for one in certificate.equations) > 1e-4
    error = np.sqrt(np.square(slopes - new.predict(data)).mean(axis=0)) / size
    for one, relative in zip(certificate.equations, error, strict=True):
        assert one.fit_error == pytest.approx(relative, rel=1e-4)
        assert math.isnan(one.penalty_bound.bound) and not one.penalty_bound.assumption_holds


def test_what_cannot_be_adapted_is_refused(model, rng):
    x, y = rows(rng, NEW, 30)
    network = og.UniversalODE(4, 1, solver=og.Adam(epochs=2)).fit(x, y)
    with pytest.raises(InputError, match="no terms"):
        network.adapt(x, y)
    with pytest.raises(ValueError, match="not fitted"):
        og.OrthoReg().adapt(x, y)
    with pytest.raises(ValueError, match="3 features"):
        model.adapt(np.hstack([x, x[:, :1]]), y)
    with pytest.raises(InputError, match="1 targets; the data have 2"):
        model.adapt(x, np.column_stack([y, y]))
    with pytest.raises(InputError, match="2 states; the data have 3"):
        model.adapt(np.hstack([x, x[:, :1]]), t=np.arange(30.0))
    with pytest.raises(InputError, match="The model has variables"):
        model.adapt(og.Dataset.from_arrays(x, 1.0, names=["p", "q"]))


def test_the_command_writes_the_adapted_model(pendulum_model, other, tmp_path, capsys):
    import json

    from orthoreg.cli import run
    from orthoreg.data import write_table

    data, _ = other
    old, table, new = (tmp_path / name for name in ("old.orthoreg", "runs.csv", "new.orthoreg"))
    pendulum_model.save(old)
    columns = {"t": data.times, "theta": data.states[:, 0], "omega": data.states[:, 1]}
    write_table(table, columns | {"run": data.run_of_row})
    asked = ["adapt", str(old), str(table), "--group", "run", "--out", str(new)]
    assert run([*asked, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    runs = og.read_table(table, "t", ["theta", "omega"], group="run")
    expected = pendulum_model.adapt(runs).equations()
    assert og.load(new).equations() == printed["equations"] == expected != printed["before"]
    assert run(asked) == 0 and expected[0] in capsys.readouterr().out


def test_terms_that_depend_on_each_other_are_said_in_units_of_the_data(model):
    x = np.random.default_rng(0).uniform(1, 2, 50)
    found = model.adapt(np.column_stack([x, 20 * x]), 3 * x)
    assert found.certificate_.dependences == ("x1 = 20 x0",)
