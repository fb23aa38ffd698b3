"""`model.refine`, what it does not change, files, `bootstrap` and the command."""

import json

import numpy as np
import pytest
from conftest import solved
from numpy.testing import assert_allclose

import orthoreg as og
from orthoreg.cli import run
from orthoreg.data import write_table


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    t = np.linspace(0, 15, 150)
    runs = solved(
        lambda t, z: [z[1], -np.sin(z[0]) - 0.1 * z[1]],
        [[2.0, 0.0], [0.5, 1.5], [-1.0, -1.0], [1.0, 0.3]],
        t,
    )
    size = 0.03 * np.concatenate(runs).std(axis=0)
    noisy = [x + size * rng.standard_normal(x.shape) for x in runs]
    return og.Dataset.from_arrays(noisy, t, names=["q", "v"])


@pytest.fixture(scope="module")
def model(data):
    terms = og.Terms(["v", "sin(q)", "q"])
    return og.OrthoReg(terms, og.Zero(), loss=og.VectorField()).fit(data)


@pytest.fixture(scope="module")
def refined(model, data):
    return model.refine(data)


def test_a_new_model_with_the_same_terms(model, refined, data):
    assert model.refinement_ is None
    assert refined.refinement_.kept
    assert (refined.support_ == model.support_).all()
    assert np.abs(refined.coefficients_ - model.coefficients_).max() > 1e-4
    truth = {"v": [1.0, -0.1], "sin(q)": [0.0, -1.0], "q": [0.0, 0.0]}
    expected = np.array([truth[name] for name in refined.feature_names_]).T
    assert_allclose(refined.coefficients_, expected, atol=0.01)
    assert refined.certificate_.n_samples == data.n_samples
    assert "refined on segments of 150 rows" in refined.refinement_.status


def test_arrays_and_datasets_give_equal_results(model, refined, data):
    again = model.refine([run.states for run in data], t=data[0].times)
    assert_allclose(again.coefficients_, refined.coefficients_)
    assert again.state_names_ == ("q", "v")


def test_bootstrap_has_the_intervals_of_the_refinement(model, refined):
    before, after = og.bootstrap(model, resamples=30), og.bootstrap(refined, resamples=30)
    assert_allclose(after.probability, before.probability)
    for i, (equation, term) in enumerate(refined.refinement_.places):
        assert_allclose(after.interval[equation, term], refined.refinement_.interval()[i])
    shown = {(row.equation, row.term): (row.low, row.high) for row in refined.summary().terms}
    assert_allclose(shown["v", "sin(q)"], refined.refinement_.interval()[2], rtol=1e-6)


def test_a_file_keeps_the_refinement(refined, tmp_path):
    refined.save(tmp_path / "m.orthoreg")
    loaded = og.load(tmp_path / "m.orthoreg")
    mine, theirs = refined.refinement_, loaded.refinement_
    assert loaded.equations() == refined.equations()
    assert (theirs.status, theirs.places, theirs.kept) == (mine.status, mine.places, mine.kept)
    assert_allclose(theirs.covariance, mine.covariance)
    assert_allclose(theirs.noise, mine.noise)
    assert_allclose(theirs.interval(), mine.interval())


def test_fit_and_adapt_drop_the_refinement(refined, data):
    assert refined.adapt(data).refinement_ is None


def test_times_are_needed(model, data):
    with pytest.raises(og.InputError, match="needs times"):
        model.refine(data.states)
    with pytest.raises(og.InputError, match="2 states; the data have 1"):
        model.refine(data[0].states[:, :1], t=data[0].times)


def test_command(model, refined, data, tmp_path, capsys):
    model.save(tmp_path / "m.orthoreg")
    columns = {"t": data.times, "q": data.states[:, 0], "v": data.states[:, 1]}
    write_table(tmp_path / "d.csv", {**columns, "run": data.run_of_row})
    arguments = ["refine", str(tmp_path / "m.orthoreg"), str(tmp_path / "d.csv"), "--group", "run"]
    out = tmp_path / "r.orthoreg"
    assert run([*arguments, "--out", str(out), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["kept"] is True
    assert found["model"] == str(out)
    assert_allclose(found["intervals"]["v': sin(q)"], refined.refinement_.interval()[2], rtol=1e-4)
    assert og.load(out).refinement_.status == found["status"]
    assert run(arguments) == 0
    assert "Refined on segments of 150 rows" in " ".join(capsys.readouterr().out.split())
