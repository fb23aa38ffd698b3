"""Quantities that are constant within runs, and relations of constants per run to them."""

import json

import numpy as np
import pytest
from pendulum_runs import KNOWN, pendulums

import orthoreg as og
from orthoreg._common.errors import DataError
from orthoreg.cli import run
from orthoreg.data import concatenate
from orthoreg.fitting._relations import find_relation


def relation_of(form, noise=0.01, scatter=0.0, runs=10, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.uniform(0.5, 2, (runs, 2))
    y = form(*z.T) * (1 + scatter * rng.standard_normal(runs))
    std = np.abs(noise * y)
    return find_relation(y + std * rng.standard_normal(runs), std, z, ["L", "m"])


@pytest.mark.parametrize(
    ("form", "expected", "text"),
    [
        (lambda L, m: 9.81 / L, ("power", ("L",), (-1.0,)), "/L"),
        (lambda L, m: -9.81 / L, ("power", ("L",), (-1.0,)), "/L"),
        (lambda L, m: 3 * np.sqrt(m), ("power", ("m",), (0.5,)), "*sqrt(m)"),
        (lambda L, m: 2 * L / m, ("power", ("L", "m"), (1.0, -1.0)), "*L/m"),
        (lambda L, m: 1 + 2 * L, ("linear", ("L",), ()), "*L"),
        (lambda L, m: 3 * np.exp(-1.3 * m), ("exponential", ("m",), ()), "*m)"),
        (lambda L, m: 3 * L**1.23, ("free power", ("L",), ()), "*L**1.2"),
    ],
)
def test_a_form_is_found(form, expected, text):
    relation = relation_of(form)
    assert (relation.form, relation.covariates, relation.exponents) == expected
    assert text in relation.text
    assert relation.is_exact and relation.probability > 0.01
    assert relation.left_out_error < 0.03 < 5 * relation.left_out_error + 0.03 < relation.spread


def test_intervals_contain_the_truth():
    inside = 0
    for seed in range(20):
        low, high = relation_of(lambda L, m: 9.81 / L, seed=seed).intervals[0]
        inside += low < 9.81 < high
        assert high - low < 0.2
    assert inside >= 17  # fewer have a probability of 0.016 if the coverage is 95%


def test_scatter_around_a_relation_is_estimated():
    relation = relation_of(lambda L, m: 5 / L, noise=0.002, scatter=0.05, runs=40)
    assert relation.exponents == (-1.0,) and not relation.is_exact
    assert relation.scatter == pytest.approx(0.05, rel=0.4)


@pytest.mark.parametrize("seed", range(5))
def test_what_does_not_follow_from_covariates_has_no_relation(seed):
    rng = np.random.default_rng(seed)
    assert relation_of(lambda L, m: np.exp(0.4 * rng.standard_normal(len(L))), seed=seed) is None


def lengths_of(data, lengths, known):
    values = np.where(np.arange(len(lengths)) < known, lengths, np.nan)
    return og.Dataset.from_arrays(
        [part.states for part in data], data[0].times, names=["theta", "omega"],
        covariates={"L": values},
    )  # fmt: skip


@pytest.fixture(scope="module")
def swung():
    data, lengths = pendulums(12)
    data = lengths_of(data, lengths, 8)
    return og.OrthoReg(physics=og.Physics(equations=KNOWN, per_run=["m"])).fit(data), data, lengths


def test_lengths_of_some_pendulums_give_g_and_the_other_lengths(swung, tmp_path):
    model, data, lengths = swung
    (constant,) = model.schema_.per_run
    low, high = constant.relation.intervals[0]
    assert constant.relation.exponents == (-1.0,) and low < 9.81 < high
    values = np.array([value for value, _, _ in model.per_run(data)["m"].values()])
    assert np.allclose(constant.relation.values[0] / values[8:], lengths[8:], rtol=0.01)
    assert any("m follows 9.8" in note for note in model.summary(data).notes)
    model.save(tmp_path / "m.orthoreg")
    assert og.load(tmp_path / "m.orthoreg").schema_ == model.schema_


def test_intervals_of_runs_contain_their_constants():
    inside, total = 0, 0
    for seed in range(3):
        data, lengths = pendulums(8, seed=seed)
        model = og.OrthoReg(physics=og.Physics(equations=KNOWN, per_run=["m"])).fit(data)
        ends = np.array(list(model.per_run(data)["m"].values()))
        inside += int(((ends[:, 1] < 9.81 / lengths) & (9.81 / lengths < ends[:, 2])).sum())
        total += len(lengths)
        assert (ends[:, 2] - ends[:, 1] < 0.01 * ends[:, 0]).all()
    assert inside >= 0.75 * total  # the errors of a fit are correlated


def test_a_forecast_of_a_new_run_uses_the_relation(swung):
    model, _, _ = swung
    new, lengths = pendulums(1, seed=5)
    errors = {}
    for known in (0, 1):
        start = lengths_of(new.only(np.arange(new.n_samples) < 6), lengths, known)
        errors[known] = abs(model.forecast(start)[0].x[0, 2] * lengths[0] / 9.81 - 1)
        assert abs(
            model.simulate(t=[0.0, 1.0], from_data=start).x[0, 2] * lengths[0] / 9.81 - 1
        ) == (pytest.approx(errors[known], abs=1e-6))
    assert errors[1] < 2e-3 < errors[0]


def test_covariates_of_tables(tmp_path, capsys):
    data, lengths = pendulums(6)
    rows = [
        f"{i},{t:.3f},{x:.6f},{v:.6f},{'' if i == 5 else lengths[i]}"
        for i, part in enumerate(data)
        for t, (x, v) in zip(part.times, part.states, strict=True)
    ]
    path = tmp_path / "p.csv"
    path.write_text("\n".join(["run,t,theta,omega,L [m]", *rows]))
    columns = {"time": "t", "states": ["theta", "omega"], "group": "run"}
    table = og.read_table(path, **columns, covariates=["L"])
    assert np.allclose(
        table.covariates[table.offsets[:-1], 0], [*lengths[:5], np.nan], equal_nan=True
    )
    assert table.input_names == () and table.units["L"] == "m"
    known = ["--known", "theta' = omega", "--known", "omega' = -m*sin(theta) - c*omega"]
    options = ["--time", "t", "--states", "theta,omega", "--group", "run", "--per-run", "m"]
    options += ["--covariates", "L", "--out", str(tmp_path), "--json", *known]
    assert run(["fit", str(path), *options]) == 0
    result = json.loads(capsys.readouterr().out)["per_run"]["m"]
    assert result["relation"]["formula"].startswith("9.8") and result["relation"]["exponents"] == [
        -1
    ]
    assert run(["evaluate", str(tmp_path / "p.orthoreg"), str(path), "--json"]) == 0


@pytest.mark.parametrize(
    ("column", "more", "words"),
    [
        ([1.0, 1.0, 2.0, 3.0], {}, "constant within each run.*2 and 3 in run 1"),
        ([1.0, 1.0, 2.0, 2.0], {"inputs": ["L"]}, "not two of them"),
    ],
)
def test_wrong_covariates_are_refused(column, more, words):
    table = {"run": [0, 0, 1, 1], "t": [0, 1, 0, 1], "x": [1.0, 2.0, 2.0, 1.0], "L": column}
    with pytest.raises(DataError, match=words):
        og.read_table(table, "t", ["x"], group="run", covariates=["L"], **more)


def test_covariates_have_one_value_for_each_run():
    runs = [np.ones((3, 1)) * np.arange(3)[:, None]] * 2
    with pytest.raises(DataError, match="each of the 2 runs; 'L' has 3"):
        og.Dataset.from_arrays(runs, 1.0, covariates={"L": [1, 2, 3]})
    data = og.Dataset.from_arrays(runs, 1.0, names=["x"], covariates={"L": [1, 2]})
    assert data[1].covariates.tolist() == [[2.0]] * 3
    joined = concatenate([data[0], data[1]])
    assert joined.covariates[:, 0].tolist() == [1.0] * 3 + [2.0] * 3
