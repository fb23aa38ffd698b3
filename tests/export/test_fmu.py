"""`to_fmu()`: another simulator gives the same results as the model."""

import shutil
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_allclose

import orthoreg as og
from orthoreg._common.errors import InputError

pytestmark = pytest.mark.skipif(
    (shutil.which("cc") or shutil.which("gcc")) is None, reason="there is no C compiler"
)
X = np.random.default_rng(0).uniform(-1, 1, (300, 2))
SLOPES = np.column_stack([X[:, 1], -np.sin(2 * X[:, 0]) - 0.3 * X[:, 1]])
NAMES = ["x", "v"]


def fitted(**options):
    data = og.Dataset.from_arrays(X, 1.0, names=NAMES, derivatives=SLOPES)
    return og.OrthoReg("poly(1)", og.RandomFeatures(30), **options).fit(data)


@pytest.mark.slow
def test_fmpy_simulates_what_the_model_simulates(tmp_path):
    fmpy = pytest.importorskip("fmpy")
    model = fitted()
    assert model.field_.weights.any()
    model.to_fmu(tmp_path / "m.fmu", name="Fitted")
    assert fmpy.dump is not None and fmpy.read_model_description(tmp_path / "m.fmu").guid
    result = fmpy.simulate_fmu(
        str(tmp_path / "m.fmu"), stop_time=3.0, output_interval=0.1, relative_tolerance=1e-9,
        start_values={"x": 0.8, "v": -0.2}, output=NAMES,
    )  # fmt: skip
    expected = model.simulate([0.8, -0.2], result["time"]).x
    assert_allclose(np.column_stack([result[name] for name in NAMES]), expected, atol=1e-5)


@pytest.mark.slow
def test_fmpy_gives_inputs_to_it(tmp_path):
    fmpy = pytest.importorskip("fmpy")
    u = np.random.default_rng(1).uniform(-1, 1, (300, 1))
    data = og.Dataset.from_arrays(
        X, 1.0, u=u, names=NAMES, input_names=["force"], derivatives=SLOPES + u * [0, 1.5]
    )
    model = og.OrthoReg("poly(1) + sin(2*x)", og.Zero()).fit(data)
    model.to_fmu(tmp_path / "m.fmu")
    force = np.array([(0.0, 0.7), (3.0, 0.7)], dtype=[("time", float), ("force", float)])
    result = fmpy.simulate_fmu(
        str(tmp_path / "m.fmu"), stop_time=3.0, output_interval=0.1, relative_tolerance=1e-9,
        start_values={"x": 0.5, "v": 0.0}, input=force, output=NAMES,
    )  # fmt: skip
    expected = model.simulate([0.5, 0.0], result["time"], u=lambda s: [0.7]).x
    assert_allclose(np.column_stack([result[name] for name in NAMES]), expected, atol=1e-5)


def test_the_unit_holds_description_source_and_library(tmp_path):
    data = og.Dataset.from_arrays(X, 1.0, names=["<x> & 'y'", "der(v)"], derivatives=SLOPES)
    model = og.OrthoReg("poly(1)", og.Zero()).fit(data)
    model.to_fmu(tmp_path / "m.fmu")
    with zipfile.ZipFile(tmp_path / "m.fmu") as archive:
        names = archive.namelist()
        description = archive.read("modelDescription.xml").decode()
    assert names[:2] == ["modelDescription.xml", "sources/all.c"]
    assert names[2].startswith("binaries/") and "HybridModel" in names[2]
    assert "&lt;x&gt; &amp; 'y'" in description


def test_a_name_or_a_model_that_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(InputError, match="name of a model must consist of letters.*got 'a b'"):
        fitted().to_fmu(tmp_path / "m.fmu", name="a b")
    model = og.OrthoReg("poly(1)", og.Zero()).fit(X, SLOPES[:, :1])
    with pytest.raises(InputError, match="one equation for each of the 2 states"):
        model.to_fmu(tmp_path / "m.fmu")
    assert not list(tmp_path.iterdir())
