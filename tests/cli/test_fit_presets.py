"""`orthoreg fit --preset` uses a preset, which other options can change."""

import json

import pytest

import orthoreg as og
from orthoreg.cli import run


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    file = tmp_path_factory.mktemp("preset") / "runs.csv"
    assert run(["generate", "pendulum", "--runs", "4", "--out", str(file)]) == 0
    return file


def fit(table, *options):
    command = ["fit", str(table), "--time", "t", "--states", "theta,omega", "--group", "run"]
    return run([*command, "--out", str(table.parent), "--json", *options])


def test_a_preset_decides_what_is_not_given(table, capsys):
    assert fit(table, "--preset", "lasso", "--library", "poly(1)+fourier(1)") == 0
    values = json.loads(capsys.readouterr().out)
    model = og.load(values["model"])
    expected = og.presets.lasso().set_params(library=og.Polynomial(1) + og.Fourier(1))
    assert model.get_params() == expected.get_params()
    assert values["certificate"]["sparsity"] == 0.001


def test_given_options_stand_above_the_preset(table, capsys):
    assert fit(table, "--preset", "lasso", "--sparsity", "0.5", "--residual", "5") == 0
    values = json.loads(capsys.readouterr().out)
    model = og.load(values["model"])
    assert (model.sparsity, model.augmentation) == (0.5, og.RandomFeatures(5))
    assert values["certificate"]["sparsity"] == 0.5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--preset", "lasoo"), "Did you mean 'lasso'?"),
        (("--preset", "lasso", "--sparsity", "-1"), "sparsity must be a number"),
    ],
)
def test_mistakes_are_one_sentence(table, options, words, capsys):
    assert fit(table, *options) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and words in printed.err and printed.err.count("\n") == 1
