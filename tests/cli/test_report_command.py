"""`orthoreg report`, and reports that other commands write."""

import json

import pytest

from orthoreg.cli import run


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    table = folder / "runs.csv"
    assert run(["generate", "pendulum", "--runs", "6", "--out", str(table)]) == 0
    columns = ["--time", "t", "--states", "theta,omega", "--group", "run"]
    assert run(["fit", str(table), *columns, "--residual", "0", "--out", str(folder)]) == 0
    return folder / "runs.orthoreg"


def test_fit_writes_a_report_that_says_how_it_was_made(model):
    page = (model.parent / "report.html").read_text()
    assert 'id="chart-path"' in page
    assert f"orthoreg fit {model.parent}/runs.csv --time t --states theta,omega" in page


def test_report_needs_nothing_but_the_model_file(model, capsys):
    assert run(["report", str(model), "--json"]) == 0
    out = json.loads(capsys.readouterr().out)["report"]
    assert out == str(model.with_suffix(".html"))
    page = model.with_suffix(".html").read_text()
    assert 'id="equations"' in page and 'id="chart-forecast"' not in page


def test_report_of_a_table_draws_it(model, tmp_path):
    out = tmp_path / "page.html"
    assert run(["report", str(model), str(model.parent / "runs.csv"), "--out", str(out)]) == 0
    assert 'id="chart-forecast"' in out.read_text()


@pytest.mark.parametrize(
    "options, sentence",
    [
        (["--explain"], "--explain needs data"),
        (["--out", "."], "--out must be a file"),
        (["--out", "no/such/page.html"], "The folder 'no/such' for"),
    ],
)
def test_a_mistake_is_one_sentence(model, options, sentence, capsys):
    assert run(["report", str(model), *options]) == 2
    assert sentence in capsys.readouterr().err
