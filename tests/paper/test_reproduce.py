"""From jobs to files on tiny problems, with splits that share no data."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sweep_jobs import ENVIRONMENT

from orthoreg._common.errors import InputError
from orthoreg.systems import SYSTEMS, Split, generate
from paper import PAPERS, Scale, _command, read, reproduce, write
from paper._labels import SCORES
from paper._methods import fitted
from paper._settings import Setting, problem
from paper._store import from_table, rounded, to_table
from paper._work import Run, score

TINY = Scale(train_runs=6, test_runs=3, adapt_runs=2, rows=40, epochs=2)

values = st.none() | st.floats(allow_nan=False, allow_infinity=True)
names = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\r\0"), min_size=1)


@given(st.dictionaries(st.tuples(names, names, names), st.lists(values, min_size=3, max_size=3)))
def test_the_table_of_records_gives_them_back(cells):
    records = [
        {"setting": s, "method": m, "metric": q, "seed": seed, "value": value}
        for (s, m, q), found in cells.items()
        for seed, value in enumerate(found)
    ]
    once = rounded(records)
    assert from_table(to_table(records)) == once
    assert rounded(once) == once
    for before, after in zip(records, once, strict=True):
        if before["value"] is not None:
            assert after["value"] == pytest.approx(before["value"], rel=1e-6)


def test_a_missing_seed_stays_missing():
    rows = [
        {"setting": "s", "method": m, "metric": "q", "seed": seed, "value": 1.5}
        for m, seed in (("a", 0), ("a", 1), ("b", 1))
    ]
    assert from_table(to_table(rows)) == rows


def test_another_table_is_no_table_of_records():
    with pytest.raises(InputError, match="begins with setting, method, metric"):
        from_table("a,b,c\n1,2,3\n")


@pytest.mark.slow
@pytest.mark.parametrize("name", SYSTEMS)
def test_no_two_splits_share_a_state(name):
    """Training, validation and test runs, and the T3 runs for adapting."""
    system, seen = SYSTEMS[name](), set()
    for split in Split:
        states = generate(system, split, runs=5, seed=1).states
        rows = {row.tobytes() for row in states if np.abs(row).max() > 0}
        assert len(rows) > 0.9 * len(states)
        assert not rows & seen, split
        seen |= rows


@pytest.mark.slow
def test_a_model_is_adapted_to_runs_that_it_is_not_tested_on():
    found = problem(Setting(), TINY, 0)
    tested = {row.tobytes() for row in found.tests[Split.t3].data.states}
    assert found.adapting.run_of_row.max() == TINY.adapt_runs - 1
    assert not tested & {row.tobytes() for row in found.adapting.states}


@pytest.mark.slow
def test_methods_never_see_a_test_split():
    """Models do not change if the test splits and the runs for adapting are removed."""
    whole = problem(Setting(), TINY, 0)
    blind = replace(whole, tests={}, adapting=whole.adapting.only(np.zeros(0, dtype=int)))
    methods = (
        "pure@0.003", "stlsq", "orthoreg", "validated", "projection", "pinn", "recommended"
    )  # fmt: skip
    for one, other in zip(
        fitted(methods, whole, TINY, 0).values(),
        fitted(methods, blind, TINY, 0).values(),
        strict=True,
    ):
        states = whole.training.states
        np.testing.assert_array_equal(one.predict(states), other.predict(states))


@pytest.mark.slow
def test_the_recommended_default_is_the_same_with_permuted_test_splits():
    whole = problem(Setting(), TINY, 0)
    mixed = replace(whole, tests=dict(zip(whole.tests, [*whole.tests.values()][::-1], strict=True)))
    one, other = (fitted(["recommended"], p, TINY, 0)["recommended"] for p in (whole, mixed))
    assert one.equations() == other.equations()
    states = whole.training.states
    np.testing.assert_array_equal(one.predict(states), other.predict(states))


@pytest.mark.slow
def test_a_job_has_every_metric_of_every_method():
    methods = ("stlsq", "projection")
    rows = score(Run(setting=Setting(), methods=methods, scale=TINY, seed=3))
    assert {row["method"] for row in rows} == set(methods)
    assert {(row["setting"], row["seed"]) for row in rows} == {("pendulum/medium", 3)}
    by_method = [{row["metric"] for row in rows if row["method"] == m} for m in methods]
    assert by_method[0] == by_method[1]
    wanted = {metric for metric in SCORES if "." in metric}
    assert wanted <= by_method[0]
    counts = {row["metric"]: row["value"] for row in rows if row["method"] == "stlsq"}
    assert all(counts[f"rollouts.{split}"] == TINY.test_runs for split in ("id", "ext", "t2", "t3"))


def test_unknown_experiments_and_seeds_are_refused(tmp_path, capsys):
    with pytest.raises(InputError, match="no experiment 'table_pendolum'.*table_pendulum"):
        reproduce(["table_pendolum"], tmp_path)
    with pytest.raises(InputError, match="seeds must be at least 1"):
        reproduce(["timing"], tmp_path, seeds=0)
    assert _command.run(["tables", "--out", str(tmp_path)]) == 2
    assert "no experiment 'tables'" in capsys.readouterr().err


def test_without_jax_the_extra_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("orthoreg._common.errors.find_spec", lambda name: None)
    assert _command.run(["timing", "--out", str(tmp_path / "out")]) == 2
    assert "needs jax, which is not installed. Install it with: pip" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_everything_is_run_and_written(tmp_path):
    result = reproduce((), tmp_path, seeds=1, scale=TINY, workers=2)
    files = write(result, tmp_path)
    assert result.is_complete and len(result.verdicts) == 15
    names = {path.relative_to(tmp_path).as_posix() for path in files}
    for name in PAPERS:
        if name != "figures":
            assert {f"tables/{name}.{end}" for end in ("md", "csv", "tex")} <= names
    for figure in ("ablations", "noise", "sample_size", "portraits"):
        assert {f"figures/{figure}.png", f"figures/{figure}.svg"} <= names
    report = (tmp_path / "report.html").read_text()
    assert len(report) < 6e6 and report.count("data:image/png") == 4
    assert all(f"<h2>{table.title}</h2>" in report for table in result.tables.values())
    page = (tmp_path / "reproduction.md").read_text()
    assert "reduced sizes" in page
    assert all(f"Claim {number}\n" in page for number in range(1, 16))
    for table in result.tables.values():
        for row in table.rows:
            for cell in row.cells:
                assert cell.seeds + cell.undefined == 1, (table.name, row.metric, cell.method)

    again = read(tmp_path)
    assert (again.records, again.portraits) == (result.records, result.portraits)

    # experiments share results
    jobs = {path: path.stat().st_mtime_ns for path in (tmp_path / "jobs").iterdir()}
    part = reproduce(["table_stlsq", "figures"], tmp_path, seeds=1, scale=TINY, workers=2)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "jobs").iterdir()} == jobs
    assert part.tables["table_stlsq"] == result.tables["table_stlsq"]


@pytest.mark.slow
def test_one_table_as_json_is_metric_method_values(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(_command, "QUICK", TINY)
    code = _command.run(["table_pendulum", "--quick", "--json", "--out", str(tmp_path)])
    printed = capsys.readouterr()
    assert code == 0
    assert "not the paper's" in printed.err
    values = json.loads(printed.out)
    assert set(values["f1@0.001"]["orthoreg"]) >= {"mean", "std", "paper"}
    assert values["f1@0.001"]["orthoreg"]["paper"] == 0.93
    assert values["derivative.id"]["l2"]["mean"] > 0


DRIVER = """
import sys
from paper import Scale, reproduce, write
scale = Scale(train_runs=6, test_runs=3, adapt_runs=2, rows=40, epochs=2)
if __name__ == "__main__":
    result = reproduce(["table_pendulum"], sys.argv[1], seeds=4, scale=scale, workers=2)
    write(result, sys.argv[1])
"""


def written_at(folder: Path) -> dict[Path, int]:
    """Return the time at which the file of each finished job was written."""
    return {path: path.stat().st_mtime_ns for path in folder.glob("jobs/*.json")}


@pytest.mark.slow
def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(tmp_path):
    driver = tmp_path / "driver.py"
    driver.write_text(DRIVER)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    subprocess.run([sys.executable, str(driver), str(whole)], check=True, env=ENVIRONMENT)
    process = subprocess.Popen([sys.executable, str(driver), str(broken)], env=ENVIRONMENT)
    while not written_at(broken):
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    kept = written_at(broken)
    assert len(kept) < len(written_at(whole)), "nothing was left to do"
    subprocess.run([sys.executable, str(driver), str(broken)], check=True, env=ENVIRONMENT)
    assert kept.items() < written_at(broken).items(), "a finished job was run again"
    for path in whole.rglob("*.*"):
        if path.is_file():
            assert path.read_bytes() == (broken / path.relative_to(whole)).read_bytes(), path
