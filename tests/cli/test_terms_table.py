"""Commands print intervals, probabilities and similar terms with the coefficients."""

import json

import numpy as np
import pytest

from orthoreg.cli import run
from orthoreg.data import write_table


@pytest.fixture(scope="module")
def small_swings(tmp_path_factory):
    """A pendulum at small angles, where theta and sin(theta) are similar, and its table."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-0.2, 0.2, (10, 40, 2))
    columns = {"run": np.repeat(np.arange(10), 40), "t": np.tile(0.1 * np.arange(40), 10)}
    theta, omega = x.reshape(-1, 2).T
    noise = 0.003 * rng.standard_normal(400)
    columns |= {"theta": theta, "omega": omega, "a": omega, "b": -np.sin(theta) + noise}
    path = tmp_path_factory.mktemp("terms") / "swings.csv"
    write_table(path, columns)
    return path


def fit(table, *options):
    command = ["fit", str(table), "--time", "t", "--states", "theta,omega", "--group", "run"]
    command += ["--derivatives", "a,b", "--residual", "0", "--library", "theta+omega+sin(theta)"]
    return run([*command, "--out", str(table.parent / "out"), *options])


def test_json_has_interval_and_probability_of_each_term(small_swings, capsys):
    assert fit(small_swings, "--plots", "--json") == 0
    values = json.loads(capsys.readouterr().out)
    assert {
        equation: {term: one["coefficient"] for term, one in terms.items() if one["coefficient"]}
        for equation, terms in values["terms"].items()
    } == values["coefficients"]
    for terms in values["terms"].values():
        for one in terms.values():
            assert set(one) == {"coefficient", "low", "high", "probability", "stability"}
            assert one["low"] - 1e-9 <= one["coefficient"] <= one["high"] + 1e-9
            assert 0 < one["stability"] <= 1 and one["probability"] == one["stability"]
    (sentence,) = values["lookalikes"]
    assert sentence.startswith("omega': '") and "a run that reaches" in sentence
    assert "selection.png" in values["plots"][-1]


def test_people_get_one_table_and_a_sentence(small_swings, capsys):
    assert fit(small_swings) == 0
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("Terms (probability: bootstrap over runs)")
    assert lines[start + 1].split("  ")[0] == "equation" and "95% interval" in lines[start + 1]
    first = lines[start + 2].split()
    assert first[:3] == ["theta'", "omega", "1.000"] and first[-1] == "100%"
    assert any("fit these data about equally well" in line for line in lines)


def test_models_without_a_selection_have_coefficients_only(small_swings, capsys):
    assert fit(small_swings, "--sparsity", "0.01", "--plots", "--json") == 0
    values = json.loads(capsys.readouterr().out)
    assert not {"terms", "lookalikes"} & set(values)
    assert not any("selection.png" in plot for plot in values["plots"])
    assert fit(small_swings, "--sparsity", "0.01") == 0
    assert "95% interval" not in capsys.readouterr().out
