"""Model files of format version 1 give the same models."""

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from test_persistence import rewritten

import orthoreg as og
from orthoreg.search.rows import Thresholding
from orthoreg.solving import TwoStage

FILES = Path(__file__).parent / "files" / "version_1"
EXPECTED = json.loads((FILES / "expected.json").read_text())
STATES, INPUTS = np.array(EXPECTED["states"]), np.array(EXPECTED["inputs"])
NAMES = sorted(EXPECTED["predictions"])
POLYNOMIAL = og.Polynomial(2)


def inputs_of(model):
    return INPUTS if model.input_names_ else None


@pytest.mark.parametrize("name", [*NAMES, "composed"])
def test_the_files_are_of_version_1(name):
    with zipfile.ZipFile(FILES / f"{name}.orthoreg") as archive:
        assert json.loads(archive.read("manifest.json"))["version"] == 1


@pytest.mark.parametrize("name", NAMES)
def test_predictions_are_those_of_the_version_that_wrote_the_file(name):
    model = og.load(FILES / f"{name}.orthoreg")
    predicted = model.predict(STATES, inputs_of(model))
    assert_allclose(predicted, EXPECTED["predictions"][name], rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_saved_as_version_2_with_the_same_bits(name, tmp_path):
    first = og.load(FILES / f"{name}.orthoreg")
    first.save(tmp_path / "one.orthoreg")
    second = og.load(tmp_path / "one.orthoreg")
    second.save(tmp_path / "two.orthoreg")
    one, two = (tmp_path / f"{which}.orthoreg" for which in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    with zipfile.ZipFile(one) as archive:
        assert json.loads(archive.read("manifest.json"))["version"] == 2
    u = inputs_of(first)
    assert_array_equal(second.predict(STATES, u), first.predict(STATES, u), strict=True)
    assert second.get_params() == first.get_params()
    assert second.certificate_ == first.certificate_ and second.equations() == first.equations()


RESIDUALS = ("hybrid", "projected", "refitted", "two_stage")


@pytest.mark.parametrize("name", RESIDUALS)
def test_residuals_vanish_beyond_the_data_as_they_did(name):
    model = og.load(FILES / f"{name}.orthoreg")
    neural = model.decompose(STATES, inputs_of(model))[1][:, 1]
    assert np.all(np.abs(neural[:2]) > 1e-3) and neural[2] == 0
    assert model.gate in (True, og.Gate(0.5, hold=False))
    assert model.field_.region.held is None


def test_a_file_from_before_there_were_gates_has_none(tmp_path):
    path = shutil.copy(FILES / "projected.orthoreg", tmp_path / "older.orthoreg")

    def older(manifest, arrays):
        del manifest["params"]["gate"], manifest["field"]["fade"]
        del arrays["region.rate"], arrays["region.landmarks"]

    model = og.load(rewritten(path, older))
    gated = og.load(FILES / "projected.orthoreg")
    assert model.gate is None
    assert_array_equal(model.predict(STATES[:2]), gated.predict(STATES[:2]))
    assert np.all(model.decompose(STATES[2:])[1] != 0)


def test_inputs_are_interpolated_linearly_as_they_were():
    model, rollout = og.load(FILES / "hybrid.orthoreg"), EXPECTED["rollout"]
    times, u = np.array(rollout["times"]), np.array(rollout["inputs"])[:, None]
    found = model.simulate(rollout["start"], times, u)
    assert model.input_interpolation_ == {"u0": "linear"}
    assert_allclose(found.x, rollout["states"], rtol=1e-6)
    held = model.simulate(rollout["start"], times, u, interpolation="hold")
    assert np.abs(held.x - found.x).max() > 1e-2


RECIPES = {
    "hybrid": {"gate": og.Gate(0.5, hold=False), "seed": 3,
               "augmentation": og.RandomFeatures(6, 1e-6, weight_scale=1.5)},
    "stlsq": {"threshold": 0.1, "library": POLYNOMIAL},
    "refitted": {"solver": None, "sparsity": 0.05, "selection": None, "library": POLYNOMIAL},
    "two_stage": {"solver": TwoStage(then=og.Exact()), "selection": Thresholding(0.3),
                  "sparsity": None},
    "selection_beside_sparsity": {"selection": None, "sparsity": 0.01},
    "projected": {"solver": og.Adam(epochs=2), "augmentation": og.MLP(4, 1), "sparsity": 0.01},
}  # fmt: skip


@pytest.mark.parametrize("name", RECIPES)
def test_parameters_are_those_of_today(name):
    params = og.load(FILES / f"{name}.orthoreg").get_params()
    assert {key: params[key] for key in RECIPES[name]} == RECIPES[name]


@pytest.mark.parametrize("name", ["refitted", "two_stage", "selection_beside_sparsity", "stlsq"])
def test_a_loaded_model_can_be_fitted_again_and_chooses_the_same_terms(name):
    model = og.load(FILES / f"{name}.orthoreg")
    support, rng = model.support_, np.random.default_rng(1)
    x = rng.uniform(-1, 1, (60, 2))
    y = np.column_stack([x[:, 1], -np.sin(x[:, 0]) - 0.2 * x[:, 1] + 0.3 * np.cos(4 * x[:, 0])])
    assert_array_equal(model.fit(x, y).support_, support)


def test_a_network_of_the_equations_is_refused_in_a_sentence():
    with pytest.raises(
        og.ModelFileError, match=r"composed with its equations.*Fit another model\."
    ):
        og.load(FILES / "composed.orthoreg")


@pytest.mark.parametrize("name", NAMES)
def test_a_summary_says_what_the_file_did_not_keep(name):
    model = og.load(FILES / f"{name}.orthoreg")
    summary = model.summary()
    assert summary.equations == tuple(model.equations())
    assert all(one.probability is None for one in summary.terms)
    assert any("version that did not store them" in note for note in summary.notes)
