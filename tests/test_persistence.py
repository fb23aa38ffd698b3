"""A model file gives the same model, or an error that says why not. It runs no code."""

import hashlib
import json
import os
import subprocess
import sys
import tracemalloc
import zipfile
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from safetensors import numpy as safetensors

import orthoreg as og
from orthoreg._common.errors import InputError, ModelFileError
from orthoreg._common.typed import is_printable
from orthoreg._persistence import read_model, write_model
from orthoreg.terms import AbstractLibrary, parse

X = np.random.default_rng(0).uniform(0.1, 0.9, (150, 2))
Y = np.column_stack([2 - 3 * X[:, 1] + np.cos(5 * X[:, 0]), -X[:, 0] * X[:, 1]])
U = X[:, :1] ** 2
PARTS = ("manifest.json", "arrays.safetensors", "digest.sha256")


def refitted(y=Y, u=None, x=X, **params):
    return og.OrthoReg(**params).fit(x, y, u=u)


def frame():
    import pandas as pd

    return pd.DataFrame(X, columns=["a b", "it's"])


CONFIGURATIONS = {
    "defaults": lambda: refitted(),
    "zero": lambda: refitted(library=og.Polynomial(3, False), augmentation=og.Zero()),
    "mlp": lambda: refitted(augmentation=og.MLP(8, 2, ridge=1e-4), seed=5),
    "per state": lambda: refitted(
        library=og.PerState({"x0": og.Fourier(2)}, default=og.Terms(["x0*x1", "exp(-x1)/x0"])),
        augmentation=og.RandomFeatures(9, weight_scale=2.0),
    ),
    "products": lambda: refitted(
        library=(og.Polynomial(1) + og.Terms(["2**x0", "x1**-0.5"])) * og.Fourier(1),
        solver=og.Exact(), sparsity=0.001, orthogonality=10.0, magnitude=0.1,
    ),
    "inputs": lambda: refitted(u=U, library=og.Polynomial(2), augmentation=og.RandomFeatures(9)),
    "flat": lambda: refitted(y=Y[:, 0], augmentation=og.RandomFeatures(9)),
    "frame": lambda: refitted(x=frame(), augmentation=og.RandomFeatures(9)),
    "dataset": lambda: og.OrthoReg(
        augmentation=og.RandomFeatures(9), loss=og.VectorField(og.SavitzkyGolay(7, 3)), seed=1
    ).fit(og.Dataset.from_arrays(X, 0.1, names=["p", "q"], units={"p": "m", "t": "s"})),
}  # fmt: skip


@pytest.fixture(scope="module")
def model():
    return refitted(library=og.Polynomial(2), augmentation=og.RandomFeatures(5, ridge=1e-6))


@pytest.fixture
def saved(model, tmp_path):
    path = tmp_path / "pendulum.orthoreg"
    model.save(path)
    return path


def rewritten(path, change, extra=(), sign=True):
    """Return the file after `change(manifest, arrays)`, with a valid or the old checksum."""
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read(PARTS[0]))
        arrays = safetensors.load(archive.read(PARTS[1]))
        digest = archive.read(PARTS[2])
    change(manifest, arrays)
    described, block = json.dumps(manifest).encode(), safetensors.save(arrays)
    if sign:
        digest = hashlib.sha256(described + b"\0" + block).hexdigest().encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in [*zip(PARTS, (described, block, digest), strict=True), *extra]:
            archive.writestr(name, content)
    return path


def test_one_step_of_an_earlier_file_is_a_window_of_one_step(saved):
    def name_it(manifest, arrays):
        manifest["params"]["loss"] = {"$kind": "OneStep", "method": "euler"}

    assert og.load(rewritten(saved, name_it)).loss == og.MultiStep(1, "euler")


def test_the_measured_loss_of_an_earlier_file_is_auto(saved):
    def name_it(manifest, arrays):
        manifest["params"]["loss"] = {"$kind": "Measured"}

    assert og.load(rewritten(saved, name_it)).loss == og.Auto()


@pytest.mark.parametrize("kind", CONFIGURATIONS)
def test_round_trip_keeps_bits_parameters_and_words(kind, tmp_path):
    first = CONFIGURATIONS[kind]()
    first.save(tmp_path / "model.orthoreg")
    second = og.load(tmp_path / "model.orthoreg")
    second.save(tmp_path / "again.orthoreg")
    contents = [file.read_bytes() for file in tmp_path.iterdir()]
    assert len(contents) == 2 and contents[0] == contents[1]
    x, u = (frame() if kind == "frame" else X), (U if kind == "inputs" else None)
    assert_array_equal(second.predict(x, u), first.predict(x, u), strict=True)
    for one, other in zip(second.decompose(x, u), first.decompose(x, u), strict=True):
        assert_array_equal(one, other, strict=True)
    assert repr(second) == repr(first) and second.get_params() == first.get_params()
    assert second.equations(9) == first.equations(9)
    assert second.certificate_ == first.certificate_
    for name in ("coefficients_", "support_", "state_range_"):
        assert_array_equal(getattr(second, name), getattr(first, name), strict=True)
    for name in ("feature_names_", "state_names_", "input_names_", "units_", "n_features_in_"):
        assert getattr(second, name) == getattr(first, name)
    assert hasattr(second, "feature_names_in_") == (kind == "frame")


@pytest.mark.parametrize("summarized", [True, False])
def test_the_file_keeps_evidence_and_summary(summarized, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.uniform(-0.2, 0.2, (200, 2))  # an angle and its sine are similar here
    y = np.column_stack([x[:, 1], -np.sin(x[:, 0]) + 0.003 * rng.standard_normal(200)])
    data = og.Dataset.from_arrays(x, 1.0, names=["q", "v"], derivatives=y)
    first = og.OrthoReg(og.Terms(["q", "v", "sin(q)"]), og.Zero()).fit(data)
    made = first.summary(data, forecasts=[]) if summarized else first.summary()
    first.save(tmp_path / "model.orthoreg")
    second = og.load(tmp_path / "model.orthoreg")
    assert second.summary() == made and (made.source == "x") is summarized
    assert made.confounded and any(one.probability == 1 for one in made.terms)
    sure, kept = og.bootstrap(first), second.fit_.evidence
    assert_array_equal(kept.probability, sure.probability)
    assert_array_equal(kept.interval, sure.interval)
    assert_array_equal(kept.support, sure.support)
    assert kept.pairs == sure.confounded


LETTERS = st.characters(codec="utf-8").filter(is_printable)
NAME = st.text(LETTERS, min_size=1, max_size=6).filter(str.strip)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=8)
@example(["v1", "v0"])
@example(["sin", "pi"])
@example(["`a`b", '"\\"\n\t'])
@given(st.lists(NAME, min_size=2, max_size=2, unique=True))
def test_round_trip_under_any_names(tmp_path, names):
    data = og.Dataset.from_arrays(X[:60], 1.0, names=names, derivatives=Y[:60])
    first = og.OrthoReg(og.Polynomial(1) + og.Fourier(1), og.Zero()).fit(data)
    first.save(tmp_path / "model.orthoreg")
    second = og.load(tmp_path / "model.orthoreg")
    assert second.state_names_ == tuple(names) and second.equations() == first.equations()
    assert_array_equal(second.predict(data), first.predict(data))


@pytest.mark.parametrize("name", ["\0", "a\x1b[2Jb", "a\x9bb", "a\u202eb", "\ud800"])
def test_names_with_control_characters_are_refused(name):
    with pytest.raises(InputError, match="names must not have control characters"):
        og.Dataset.from_arrays(X[:60], 1.0, names=["x", name])


@dataclass(frozen=True)
class Own(AbstractLibrary):
    """A library that orthoreg does not have."""

    def terms(self, variables):
        return tuple(parse(text, variables) for text in ("x0", "x1*exp(x0)"))


def test_a_library_of_ones_own_is_saved_as_its_formulas(tmp_path):
    first = refitted(library=Own(), augmentation=og.Zero(), sparsity=0.0)
    first.save(tmp_path / "model.orthoreg")
    second = og.load(tmp_path / "model.orthoreg")
    assert_array_equal(second.predict(X), first.predict(X))
    assert_array_equal(second.fit(X, Y).coefficients_, first.coefficients_)


def test_a_file_cut_at_any_length_is_refused(saved):
    content = saved.read_bytes()
    for length in np.linspace(0, len(content) - 1, 60).astype(int):
        saved.write_bytes(content[:length])
        with pytest.raises(ModelFileError, match="not a complete orthoreg model file.*again"):
            og.load(saved)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(st.floats(0, 1, exclude_max=True), st.integers(1, 255))
def test_a_changed_byte_is_noticed_or_does_not_matter(saved, model, place, change):
    model.save(saved)
    content = bytearray(saved.read_bytes())
    content[int(place * len(content))] ^= change
    saved.write_bytes(content)
    try:
        loaded = og.load(saved)
    except ModelFileError:
        return
    assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.equations() == model.equations()


def test_a_changed_number_is_noticed(saved):
    def change(manifest, arrays):
        arrays["basis.mean"] *= 2

    rewritten(saved, change, sign=False)
    with pytest.raises(ModelFileError, match="pendulum.orthoreg.*changed.*checksum"):
        og.load(saved)


def nested(manifest, path, value):
    for key in path[:-1]:
        manifest = manifest[key]
    manifest[path[-1]] = value


HOSTILE = "__import__('os').system('touch hacked')"
FORGERIES = {
    "a future version": (["version"], 99, "version 99.*Upgrade"),
    "no version": (["version"], "1", "manifest"),
    "another format": (["format"], "torch", "manifest"),
    "code for a formula": (["field", "terms", 0], HOSTILE, "parts are inconsistent"),
    "an endless formula": (["field", "terms", 0], "(" * 9000, "parts are inconsistent"),
    "a number too large": (["field", "terms", 0], "9**9**9**9", "parts are inconsistent"),
    "a formula that is a number": (["field", "terms", 0], 7, "parts are inconsistent"),
    "an unknown part": (["params", "augmentation", "$kind"], "os.system", "not part of orthoreg"),
    "an unknown parameter": (["params", "hook"], HOSTILE, "parts are inconsistent"),
    "a wrong argument": (["params", "augmentation", "width"], -3, "parts are inconsistent"),
    "too few terms": (["field", "terms"], ["1"], "fit together|inconsistent"),
    "an unknown residual": (["field", "basis"], "os.system", "which is not a residual basis"),
    "a recipe for a residual": (["field", "basis"], "MLP", "which is not a residual basis"),
    "a list for a residual": (["field", "basis"], ["TanhLayers"], "not a residual basis"),
    "a parameter too many": (["field", "parameters"], ["K"], "fit together|inconsistent"),
    "an equation too many": (["outputs"], ["x0", "x1", "x2"], "fit together|inconsistent"),
    "a state too few": (["states"], ["x0"], "fit together|inconsistent"),
    "no field": (["field"], None, "parts are inconsistent"),
    "no certificate": (["certificate"], {}, "parts are inconsistent"),
    "no evidence": (["evidence"], {}, "parts are inconsistent"),
    "a support too small": (["evidence", "support"], [[True]], "parts are inconsistent"),
    "an unknown term": (
        ["evidence", "confounded"],
        [{"equation": 0, "term": 0, "other": 99, "correlation": 1.0, "advice": ""}],
        "fit together|inconsistent",
    ),
    "half a summary": (["summary"], {"verdict": {}}, "parts are inconsistent"),
}


@pytest.mark.parametrize("kind", FORGERIES)
def test_a_forged_manifest_is_refused_in_a_sentence(saved, kind, monkeypatch):
    monkeypatch.chdir(saved.parent)
    path, value, message = FORGERIES[kind]
    rewritten(saved, lambda manifest, _: nested(manifest, path, value))
    with pytest.raises(ModelFileError, match=message) as caught:
        og.load(saved)
    assert str(caught.value).endswith(".")
    assert not os.path.exists("hacked")


@pytest.mark.parametrize("array", ["coefficients", "weights", "basis.layer0.weight", "state_range"])
def test_numbers_that_are_not_finite_are_refused(saved, array):
    def change(manifest, arrays):
        arrays[array] = np.full_like(arrays[array], np.nan)

    with pytest.raises(ModelFileError, match="finite"):
        og.load(rewritten(saved, change))


@pytest.mark.parametrize(
    "array",
    [
        "coefficients",
        "weights",
        "basis.layer0.weight",
        "basis.mean",
        "state_range",
        "evidence.interval",
    ],
)
@pytest.mark.parametrize("missing", [True, False])
def test_missing_and_misshapen_arrays_are_refused(saved, array, missing):
    def change(manifest, arrays):
        old = arrays.pop(array)
        if not missing:
            arrays[array] = np.concatenate([old, old])

    with pytest.raises(ModelFileError):
        og.load(rewritten(saved, change))


def test_foreign_files_are_refused(saved, tmp_path):
    rewritten(saved, lambda *_: None)
    assert og.load(saved).state_names_ == ("x0", "x1")  # the function that changes files is correct
    rewritten(saved, lambda *_: None, extra=[("evil.py", "print('hello')")])
    with pytest.raises(ModelFileError, match="evil.py"):
        og.load(saved)
    (tmp_path / "empty").mkdir()
    foreign = tmp_path / "foreign.zip"
    with zipfile.ZipFile(foreign, "w") as archive:
        archive.writestr("data.pkl", b"cos\nsystem\n(S'touch hacked'\ntR.")
    for path, message in (
        (foreign, "foreign.zip.*data.pkl"),
        (tmp_path / "absent.orthoreg", "no model file.*absent.orthoreg"),
        (tmp_path, f"is a folder, not a model file. The models in it: {saved.name}."),
        (tmp_path / "empty", "is a folder.*no model in it"),
    ):
        with pytest.raises(ModelFileError, match=message):
            og.load(path)


WATCHED_LOAD = """
import sys, orthoreg
orthoreg.load(sys.argv[1])  # whatever is imported lazily, is after this
words = ("exec", "compile", "import", "marshal", "pickle", "subprocess", "ctypes", "socket",
         "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork")
seen = []
sys.addaudithook(lambda event, _: seen.append(event) if event.startswith(words) else None)
orthoreg.load(sys.argv[1])
before = list(seen)
eval("1")
print(before, seen != before)
"""


def test_loading_executes_nothing(saved):
    """In a separate process, because audit hooks cannot be removed and shape checks compile."""
    command = [sys.executable, "-c", WATCHED_LOAD, str(saved)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed == "[] True\n"


def test_a_save_that_fails_leaves_the_old_file_alone(saved, monkeypatch):
    before = saved.read_bytes()

    def full(*_):
        raise OSError("No space left on device")

    other = refitted(augmentation=og.Zero())
    for function in ("replace", "fsync"):
        with monkeypatch.context() as patch, pytest.raises(OSError, match="No space"):
            patch.setattr(os, function, full)
            other.save(saved)
        assert saved.read_bytes() == before
        assert os.listdir(saved.parent) == [saved.name]
    other.save(saved)
    assert_array_equal(og.load(saved).predict(X), other.predict(X))


def test_what_cannot_be_saved_is_refused_before_anything_is_written(model, tmp_path):
    with pytest.raises(InputError, match="absent.*does not exist"):
        model.save(tmp_path / "absent" / "model.orthoreg")
    with pytest.raises(ValueError, match="not fitted"):
        og.OrthoReg().save(tmp_path / "model.orthoreg")
    assert os.listdir(tmp_path) == []


def bomb(path, entry: str, size: int) -> None:
    """Return a model file with an entry that unpacks to this many zeros."""
    parts = dict.fromkeys(PARTS, b"0" * 64) | {entry: bytes(size)}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


@pytest.mark.parametrize(
    ("entry", "size"),
    [("arrays.safetensors", 80 * 2**20), ("manifest.json", 20 * 2**20), ("digest.sha256", 10**6)],
)
@pytest.mark.parametrize("declared", [None, 4096])
def test_a_file_that_would_grow_without_measure_is_not_unpacked(tmp_path, entry, size, declared):
    path = tmp_path / "bomb.orthoreg"
    bomb(path, entry, size)
    if declared is not None:  # false sizes in both headers, which store the size in four bytes
        content = path.read_bytes()
        lie = content.replace(size.to_bytes(4, "little"), declared.to_bytes(4, "little"))
        assert lie != content
        path.write_bytes(lie)
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match="not a complete orthoreg model file"):
            og.load(path)
        assert tracemalloc.get_traced_memory()[1] < 4 * 2**20
    finally:
        tracemalloc.stop()


def test_large_arrays_that_pack_well_are_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr("orthoreg._common.unpacking.FREE_SIZE", 2**16)
    arrays = {"zeros": np.zeros(2**16)}
    write_model(tmp_path / "m.orthoreg", {}, arrays)
    assert_array_equal(read_model(tmp_path / "m.orthoreg")[1]["zeros"], arrays["zeros"])


def test_a_file_from_before_second_order_and_one_that_contradicts_itself(tmp_path):
    t = np.linspace(0, 5, 60)
    data = og.Dataset.from_positions(np.sin(t), t, names=["x"])
    path = tmp_path / "model.orthoreg"
    og.OrthoReg(og.Polynomial(1), og.Zero()).fit(data).save(path)
    manifest, arrays = read_model(path)
    old = {key: value for key, value in manifest.items() if key not in ("velocity_of", "estimated")}
    write_model(path, old, arrays)
    model = og.load(path)
    assert (model.velocity_of_, model.estimated_) == ({}, ())
    assert [line.partition(" =")[0] for line in model.equations()] == ["x'", "x_dot'"]
    write_model(path, {**manifest, "velocity_of": {"x": "y"}}, arrays)
    with pytest.raises(ModelFileError, match="inconsistent"):
        og.load(path)
