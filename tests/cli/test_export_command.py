"""`orthoreg export` prints or writes the output of the export methods of the model."""

import json
import shutil
import zipfile

import numpy as np
import pytest

import orthoreg as og
from orthoreg.cli import run
from orthoreg.export import sympy_source


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    x = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    slopes = np.column_stack([x[:, 1], -x[:, 0] + 0.3 * np.cos(7 * x[:, 0])])
    data = og.Dataset.from_arrays(x, 1.0, names=["theta", "[red]v"], derivatives=slopes)
    fitted = og.OrthoReg("poly(1)", og.RandomFeatures(10)).fit(data)
    path = tmp_path_factory.mktemp("export") / "m.orthoreg"
    fitted.save(path)
    return fitted, path


def written(fitted, form):
    return {
        "text": lambda: "\n".join(fitted.equations()) + "\n",
        "latex": lambda: "\n".join(fitted.to_latex()) + "\n",
        "mathml": lambda: "\n".join(fitted.to_mathml()) + "\n",
        "python": fitted.to_python,
        "c": fitted.to_c,
        "julia": fitted.to_julia,
        "matlab": fitted.to_matlab,
        "modelica": fitted.to_modelica,
        "sympy": lambda: sympy_source(fitted.field_, fitted.output_names_),
    }[form]()


@pytest.mark.parametrize(
    "form", ["text", "latex", "mathml", "python", "c", "julia", "matlab", "modelica", "sympy"]
)
def test_export_prints_and_writes_the_same(model, form, tmp_path, capsys):
    fitted, path = model
    expected = written(fitted, form)
    assert run(["export", str(path), "--format", form]) == 0
    assert capsys.readouterr() == (expected, "")
    out = tmp_path / "somewhere.else"
    assert run(["export", str(path), "--format", form, "--out", str(out)]) == 0
    assert out.read_text() == expected
    assert capsys.readouterr().out == f"wrote {out}\n"


@pytest.mark.parametrize(
    "ending, form",
    [
        ("py", "python"),
        ("c", "c"),
        ("tex", "latex"),
        ("txt", "text"),
        ("md", "text"),
        ("mml", "mathml"),
        ("jl", "julia"),
        ("m", "matlab"),
        ("mo", "modelica"),
    ],
)
def test_the_ending_of_the_file_is_the_format_that_is_not_named(model, ending, form, tmp_path):
    fitted, path = model
    out = tmp_path / f"model.{ending}"
    assert run(["export", str(path), "--out", str(out)]) == 0
    assert out.read_text() == written(fitted, form)


def test_json_holds_the_text_or_names_the_file(model, tmp_path, capsys):
    fitted, path = model
    assert run(["export", str(path), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == {"model": str(path), "format": "text", "text": written(fitted, "text")}
    out = tmp_path / "model.c"
    assert run(["export", str(path), "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["out"] == str(out)


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--format", "cc"], "--format must be one of 'text', 'python', 'c', 'julia', 'matlab', "),
        (["--format", "pyton"], "Did you mean 'python'?"),
        (["--out", "."], "--out must be a file"),
        (["--out", "nowhere/m.c"], "The folder 'nowhere' for the file"),
    ],
)
def test_mistakes_are_one_sentence(model, arguments, words, capsys):
    assert run(["export", str(model[1]), *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and words in printed.err


def test_a_mock_up_unit_is_a_file(model, tmp_path, capsys):
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    out = tmp_path / "m.fmu"
    assert run(["export", str(model[1]), "--format", "fmu"]) == 2
    assert "--out model.fmu" in capsys.readouterr().err
    assert run(["export", str(model[1]), "--out", str(out)]) == 0
    assert zipfile.is_zipfile(out)


def test_a_model_file_is_not_overwritten(model, capsys):
    path = model[1]
    assert run(
        ["export", str(path), "--out", str(path.parent / ".." / path.parent.name / path.name)]
    )
    assert "must not be the model file itself" in capsys.readouterr().err
    assert og.load(path).equations() == model[0].equations()
