"""Changed model files with a valid checksum are refused or harmless. Anyone can compute the
checksum, so it does not prove who wrote the file."""

import hashlib
import json
import struct
import zipfile

import numpy as np
import pytest
from safetensors import numpy as safetensors

import orthoreg as og
from orthoreg._common.typed import check_type, is_printable, printable
from orthoreg.cli import run

PARTS = ("manifest.json", "arrays.safetensors", "digest.sha256")
T = np.linspace(0, 8, 160)


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.orthoreg"
    x = np.column_stack([np.cos(T), -np.sin(T)])
    data = og.Dataset.from_arrays(x, T, names=["x", "v"], units={"x": "m"})
    model = og.OrthoReg("poly(2)", og.RandomFeatures(4), gate=og.Gate(0.5)).fit(data)
    model.summary(data)
    model.save(path)
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read(PARTS[0])), archive.read(PARTS[1])


@pytest.fixture
def signed(content, tmp_path):
    """Return a function that writes the file after `change(manifest)` and
    `change_arrays(arrays)`."""

    def write(change=lambda manifest: None, change_arrays=None, block=None):
        manifest = json.loads(json.dumps(content[0]))
        change(manifest)
        if change_arrays is not None:
            arrays = safetensors.load(content[1])
            change_arrays(arrays)
            block = safetensors.save(arrays)
        block = content[1] if block is None else block
        described = json.dumps(manifest).encode()
        digest = hashlib.sha256(described + b"\0" + block).hexdigest()
        path = tmp_path / "m.orthoreg"
        with zipfile.ZipFile(path, "w") as archive:
            for name, part in zip(PARTS, (described, block, digest), strict=True):
                archive.writestr(name, part)
        return path

    return write


def set_at(*keys, to):
    def change(parts):
        for key in keys[:-1]:
            parts = parts[key]
        parts[keys[-1]] = to

    return change


def test_a_file_that_was_only_signed_again_is_read(signed):
    assert og.load(signed()).state_names_ == ("x", "v")


@pytest.mark.parametrize(
    "change",
    [
        set_at("version", to=0), set_at("version", to=-1), set_at("version", to=True),
        set_at("version", to=1), set_at("outputs", to=["x", "energy"]),
        set_at("outputs", to=["v", "x"]), set_at("states", to=["x", "x"]),
        set_at("states", to=["x", " "]), set_at("states", to=["x", "\ud800"]),
        set_at("states", to=["x", "\x1b[31m"]), set_at("columns", "time", to=3),
        set_at("units", "x", to=3), set_at("hidden", to=["x"]), set_at("step", to=-1.0),
        set_at("delays", to=[["x", "tau", 1.0, False]]), set_at("per_run", to=[["m", 0, 1, False]]),
        set_at("summary", "verdict", "text", to="\x1b[2Jexplained"),
        set_at("summary", "verdict", "text", to=["explained"]),
        set_at("summary", "notes", to="no"), set_at("summary", "scores", "r2", to="high"),
        set_at("certificate", "equations", to=[]),
        set_at("certificate", "equations", 0, "n_terms", to="x"),
        set_at("field", "fade", to=-1.0), set_at("field", "terms", 0, to="v0**v0**" * 30),
        set_at("params", "library", to={"$kind": "Polynomial", "degree": 10**9, "x": 1}),
    ],
)  # fmt: skip
def test_inconsistent_manifests_are_refused(signed, change, capsys):
    path = signed(change)
    with pytest.raises(og.ModelFileError):
        og.load(path)
    assert run(["show", str(path)]) == 2
    assert is_printable(capsys.readouterr().err)


@pytest.mark.parametrize(
    "change",
    [
        set_at("basis.scale", to=np.zeros(2)), set_at("basis.scale", to=-np.ones(2)),
        set_at("region.rate", to=-np.ones(2)), set_at("coefficients", to=np.zeros((2, 2**10))),
        set_at("state_range", to=np.full((2, 2), np.nan)),
        set_at("weights", to=np.zeros((5, 2), np.float32)),
    ],
)  # fmt: skip
def test_inconsistent_arrays_are_refused(signed, change):
    with pytest.raises(og.ModelFileError):
        og.load(signed(change_arrays=change))


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("dtype", "BF16"), ("dtype", "F8_E4M3"), ("dtype", "F8_E5M2"), ("dtype", 3),
        ("shape", [0, 2**60]), ("shape", [1] * 5000), ("shape", [-1]), ("data_offsets", [0, 2**62]),
    ],
)  # fmt: skip
def test_types_and_shapes_that_numpy_does_not_have_are_refused(content, signed, part, value):
    length = struct.unpack("<Q", content[1][:8])[0]
    header = json.loads(content[1][8 : 8 + length])
    header["coefficients"][part] = value
    text = json.dumps(header).encode()
    block = struct.pack("<Q", len(text)) + text + content[1][8 + length :]
    with pytest.raises(og.ModelFileError, match="arrays cannot be read|inconsistent"):
        og.load(signed(block=block))


def test_a_stored_summary_cannot_give_other_equations(signed, capsys):
    def lie(manifest):
        manifest["summary"]["equations"] = ["x' = 9.81 z"]
        manifest["summary"]["terms"][0]["coefficient"] = 1234.0

    path = signed(lie)
    model = og.load(path)
    assert model.summary().equations == tuple(og.load(signed()).summary().equations)
    assert run(["show", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "9.81 z" not in shown and "1234" not in shown


def test_a_long_formula_in_a_file_is_read_in_linear_time(signed):
    text = " + ".join(f"v0**{k}" for k in range(1, 900))
    with pytest.raises(og.ModelFileError):  # the number of terms in the arrays
        og.load(signed(lambda manifest: manifest["field"]["terms"].append(text)))
    model = og.load(signed(set_at("field", "terms", 0, to=text)))
    assert len(model.feature_names_[0]) > 5000
    assert run(["show", str(signed(set_at("field", "terms", 0, to=text)))]) == 0


def test_terms_that_are_longer_as_they_are_stored_are_read_again(tmp_path):
    text = "sin(" + "+".join(f"x0**{k}*.1" for k in range(1, 901)) + ")"
    model = og.OrthoReg(og.Terms([text, "x0"]), og.Zero()).fit(np.exp(-T)[:, None], t=T)
    assert len(text) < 10_000 < len(model.feature_names_[0])
    model.save(tmp_path / "m.orthoreg")
    assert og.load(tmp_path / "m.orthoreg").feature_names_ == model.feature_names_


def test_types_are_checked_to_the_last_part():
    check_type({"a": (1, 2.5)}, dict[str, tuple[float, ...]], "x")
    check_type(None, str | None, "x")
    check_type((1, "a"), tuple[int, str], "x")
    for value, annotation in (
        ({"a": ("1",)}, dict[str, tuple[float, ...]]), (True, int), (True, float), (1, str | None),
        ((1,), tuple[int, str]), ("ab", tuple[str, ...]), (1.5, int), (3, list[int]),
    ):  # fmt: skip
        with pytest.raises(TypeError, match="'x"):
            check_type(value, annotation, "x")
    assert printable("a\x1b[2J\ud800\n\tb") == "a\\x1b[2J\\ud800\n\tb"
