"""Sweeps give the same numbers after interruptions, damaged files and changes of the order."""

import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import sweep_jobs
from sweep_jobs import ENVIRONMENT, Inner, Spec, score

from orthoreg._common.errors import InputError
from paper.sweeps import Job, SweepError, load_records, run
from paper.sweeps._pool import execute


def jobs(count: int = 4, function=score) -> list[Job]:
    return [Job(function=function, spec=Spec(seed=seed)) for seed in range(count)]


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.glob("*.json")}


def runs_of(folder: Path) -> list[int]:
    """Return the seed of every call, in the order of the calls."""
    traces = [file.name.split("-") for file in (folder / "traces").iterdir()]
    return [int(seed) for seed, _, _ in sorted(traces, key=lambda trace: int(trace[2]))]


def seeds_kept(wanted: list[Job], folder: Path) -> set[int]:
    """Return the seeds of the jobs with results."""
    kept = contents(folder / "results")
    return {job.spec.seed for job in wanted if f"{job.digest}.json" in kept}


def processes_of(folder: Path) -> set[int]:
    return {int(file.name.split("-")[1]) for file in (folder / "traces").iterdir()}


def is_alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_for(condition, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


# -- results -------------------------------------------------------------------------------


def test_rows_come_in_the_order_of_the_jobs_and_are_plain(tmp_path):
    found = run(reversed(jobs()), tmp_path, workers=0)
    assert [{row["seed"] for row in rows} for rows in found] == [{3}, {2}, {1}, {0}]
    for rows, job in zip(found, reversed(jobs()), strict=True):
        expected = score(job.spec)
        assert [list(row) for row in rows] == [list(row) for row in expected]
        assert repr(rows) == repr([{k: _plain(v) for k, v in row.items()} for row in expected])
    assert repr(load_records(tmp_path, jobs())) == repr(found[::-1])


def _plain(value):
    return value.item() if hasattr(value, "item") else value


@pytest.mark.slow
def test_workers_change_no_byte_and_nothing_of_this_process(tmp_path):
    before = dict(os.environ), signal.pthread_sigmask(signal.SIG_BLOCK, [])
    one = run(jobs(), tmp_path / "one", workers=1)
    two = run(jobs(), tmp_path / "two", workers=2)
    assert repr(one) == repr(two)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert before == (dict(os.environ), signal.pthread_sigmask(signal.SIG_BLOCK, []))


@pytest.mark.slow
def test_each_worker_has_one_thread_and_leaves_interrupts_to_its_parent(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.delenv("PJRT_NPROC", raising=False)
    found = run(
        [Job(function=sweep_jobs.surroundings, spec=Inner(width=k)) for k in range(2)],
        tmp_path,
        workers=2,
    )
    rows = [row for (row,) in found]
    assert all(row["OMP_NUM_THREADS"] == row["PJRT_NPROC"] == "1" for row in rows)
    assert all(row["held"] for row in rows)
    assert rows[0]["sum"] == rows[1]["sum"]
    assert len({row["pid"] for row in rows} | {os.getpid()}) == 3
    assert os.environ["OMP_NUM_THREADS"] == "2" and "PJRT_NPROC" not in os.environ


def test_a_file_explains_itself_and_is_valid_json(tmp_path):
    run(jobs(1), tmp_path, workers=0)
    (file,) = tmp_path.iterdir()
    assert file.stem == jobs(1)[0].digest
    content = json.loads(file.read_text(), parse_constant=pytest.fail)
    assert content["function"] == "sweep_jobs.score"
    assert content["spec"]["system"] == "pendulum"
    assert content["records"][-1]["value"] == {"$float": "nan"}


def test_finished_jobs_are_read_and_equal_ones_run_once(tmp_path):
    wanted = sweep_jobs.traced(3, tmp_path, 0.0)
    first = run(wanted[:2], tmp_path / "results", workers=0)
    again = run([*wanted, wanted[0]], tmp_path / "results", workers=0)
    assert sorted(runs_of(tmp_path)) == [0, 1, 2]
    assert repr(again[:2]) == repr(first) and repr(again[3]) == repr(first[0])


def test_costly_jobs_start_first(tmp_path):
    costs = [1.0, 5.0, 0.0, 3.0]
    wanted = [
        Job(function=job.function, spec=job.spec, cost=cost)
        for job, cost in zip(sweep_jobs.traced(4, tmp_path, 0.0), costs, strict=True)
    ]
    found = run(wanted, tmp_path / "results", workers=1)
    assert runs_of(tmp_path) == [1, 3, 0, 2]
    assert [rows[0]["seed"] for rows in found] == [0, 1, 2, 3]


def test_a_folder_is_meant_from_where_this_process_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(jobs(1), "results", workers=1)
    assert len(contents(tmp_path / "results")) == 1


def test_no_jobs_no_records(tmp_path):
    assert run([], tmp_path) == []


# -- damage --------------------------------------------------------------------------------


def _cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _other_value(content: bytes) -> bytes:
    return content.replace(b'"seed": 1,\n   "k": 0', b'"seed": 2,\n   "k": 0')


def _bare_nan(content: bytes) -> bytes:
    return content.replace(b'"records": [', b'"records": [NaN, ')


@pytest.mark.parametrize(
    "damage",
    [
        _cut, _other_value, _bare_nan, lambda content: b"", lambda content: b"[]",
        lambda content: b"\xff\xfe" + content, lambda content: b"[" * 100_000,
        lambda content: b"{}", lambda content: b'"text"',
    ],
)  # fmt: skip
def test_damaged_files_are_made_again(tmp_path, damage):
    expected = run(jobs(2), tmp_path, workers=0)
    whole = contents(tmp_path)
    file = tmp_path / f"{jobs(2)[1].digest}.json"
    file.write_bytes(damage(whole[file.name]))
    assert file.read_bytes() != whole[file.name]
    with pytest.raises(InputError, match=r"lacks the results of 1 of 2 jobs.*score\(seed=1"):
        load_records(tmp_path, jobs(2))
    assert repr(run(jobs(2), tmp_path, workers=0)) == repr(expected)
    assert contents(tmp_path) == whole


def test_the_file_of_another_job_is_no_result(tmp_path):
    expected = run(jobs(2), tmp_path, workers=0)
    one, other = (tmp_path / f"{job.digest}.json" for job in jobs(2))
    other.write_bytes(one.read_bytes())
    assert repr(run(jobs(2), tmp_path, workers=0)) == repr(expected)


def test_leftovers_are_harmless(tmp_path):
    (tmp_path / f".{jobs()[0].digest}.json.0a1b2c3d.part").write_bytes(b"{")
    (tmp_path / f"{jobs()[0].digest}.json.tmp").write_bytes(b"{")
    (tmp_path / "notes.txt").write_text("mine")
    assert len(run(jobs(), tmp_path, workers=0)) == 4
    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.slow
@pytest.mark.parametrize("workers, kills", [(0, 3), (2, 1)])
def test_a_killed_sweep_continues_and_gives_the_same_bytes(tmp_path, workers, kills):
    rng = random.Random(workers)
    count, seconds = 24, 0.15
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    command = [sys.executable, sweep_jobs.__file__, str(count), str(broken), str(seconds)]
    # the specs contain the folder, so the whole sweep uses the same one
    same = sweep_jobs.traced(count, broken, seconds)
    for _ in range(kills):
        before, begun = seeds_kept(same, broken), runs_of(broken)
        sweep = subprocess.Popen([*command, str(workers)], stdout=subprocess.PIPE, env=ENVIRONMENT)
        assert sweep.stdout.readline() == b"ready\n"
        wait_for(lambda: seeds_kept(same, broken) > before)  # noqa: B023
        time.sleep(rng.uniform(0.0, 0.4))
        sweep.kill()
        sweep.wait()  # do not wait for the pipe, which a surviving process would keep open
        sweep.stdout.close()
        wait_for(lambda: not any(map(is_alive, processes_of(broken))))
        assert before.isdisjoint(runs_of(broken)[len(begun) :]), "a finished job was run again"
    kept, begun = seeds_kept(same, broken), runs_of(broken)
    assert len(kept) < count, "nothing was left to do"
    resumed = run(same, broken / "results", workers=min(workers, 1))
    assert sorted(runs_of(broken)[len(begun) :]) == sorted(set(range(count)) - kept)
    assert repr(resumed) == repr(run(same, whole, workers=min(workers, 1)))
    assert contents(broken / "results") == contents(whole)


# -- failure -------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [0, 2])
def test_a_failure_does_not_lose_the_others_and_is_named(tmp_path, workers):
    wanted = jobs(4, sweep_jobs.fail_on_odd)
    with pytest.raises(SweepError) as caught:
        run(wanted, tmp_path, workers=workers)
    text = str(caught.value)
    assert text.startswith(f"2 of 4 jobs failed; the results of the others are kept in '{tmp_path}")
    for job in wanted[1::2]:
        assert f"{job.name} ({job.digest[:12]}): Unpicklable: {job.spec.seed} is odd" in text
    assert [failure.job for failure in caught.value.failures] == wanted[1::2]
    assert 'raise Unpicklable(spec.seed, "is odd")' in "".join(caught.value.__notes__)
    assert len(contents(tmp_path)) == 2
    assert load_records(tmp_path, wanted[::2]) != []


@pytest.mark.slow
def test_a_process_that_dies_takes_only_its_own_job_along(tmp_path):
    wanted = jobs(5, sweep_jobs.die_on_one)
    with pytest.raises(SweepError, match=r"1 of 5 jobs failed.*\n.*seed=1.*ended without an answ"):
        run(wanted, tmp_path, workers=2)
    assert len(load_records(tmp_path, wanted[:1] + wanted[2:])) == 4


@pytest.mark.parametrize(
    "function, sentence",
    [
        (sweep_jobs.leave, "SystemExit: enough"),
        (sweep_jobs.one_row, "one_row must return a list of rows, each of them a dictionary"),
        (sweep_jobs.array_in_row, "Column 'seed' of row 0 must be text, .* got ndarray"),
        (sweep_jobs.number_as_column, "columns of a row must have text names; got 3"),
    ],
)
def test_what_is_no_result_is_a_failure(tmp_path, function, sentence):
    with pytest.raises(SweepError, match=sentence):
        run(jobs(1, function), tmp_path, workers=0)
    assert contents(tmp_path) == {}


def test_what_a_quiet_job_prints_is_shown_when_it_fails(tmp_path, capsys):
    odd, even = jobs(2, sweep_jobs.fail_on_odd)[::-1]
    assert execute(odd, tmp_path, quiet=True).details.startswith("a word before the end\nTraceback")
    assert execute(even, tmp_path, quiet=True) is None
    assert capsys.readouterr().err == ""
    assert execute(even, tmp_path, quiet=False) is None
    assert capsys.readouterr().err == "a word before the end\n"


def test_many_failures_are_counted(tmp_path):
    with pytest.raises(SweepError, match="5 of 5 jobs failed.*(\n.*){3}\n  and 2 more"):
        run(jobs(5, sweep_jobs.leave), tmp_path, workers=0)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_an_interrupt_ends_everything_and_keeps_what_is_finished(tmp_path, workers):
    command = [sys.executable, sweep_jobs.__file__, "40", str(tmp_path), "0.2", str(workers)]
    sweep = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=ENVIRONMENT,
    )
    wait_for(lambda: len(contents(tmp_path / "results")) >= 2)
    os.killpg(sweep.pid, signal.SIGINT)  # as a terminal does, also to child processes
    _, errors = sweep.communicate(timeout=30)
    assert sweep.returncode == -signal.SIGINT
    assert errors.count("Traceback") == 1 and errors.rstrip().endswith("KeyboardInterrupt")
    assert not any(map(is_alive, processes_of(tmp_path)))
    kept = contents(tmp_path / "results")
    assert 2 <= len(kept) < 40
    finished = [job for job in sweep_jobs.traced(40, tmp_path, 0.2) if f"{job.digest}.json" in kept]
    assert len(load_records(tmp_path / "results", finished)) == len(kept)


# -- display -------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_terminal_shows_what_runs_and_what_is_left(tmp_path):
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    command = [sys.executable, sweep_jobs.__file__, "3", str(tmp_path), "0.3", "1"]
    sweep = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=ENVIRONMENT | {"COLUMNS": "120", "TERM": "xterm"},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the error on Linux if the other side is closed
            break
        shown += part
        if not part:
            break
    printed, _ = sweep.communicate()
    os.close(ours)
    assert sweep.returncode == 0 and printed == b"ready\n"
    text = shown.decode()
    assert "0 of 3 jobs done, 1 running, 2 waiting" in text
    assert "  trace(seed=0, folder=" in text
    assert "2 of 3 jobs done, 1 running, 0 waiting" in text


def test_nothing_is_shown_elsewhere(tmp_path, capfd):
    run(jobs(2), tmp_path, workers=1)
    assert capfd.readouterr() == ("", "")


# -- mistakes ------------------------------------------------------------------------------


def test_mistakes_are_named(tmp_path):
    with pytest.raises(InputError, match=r"workers=...\) must be at least 0; got -1"):
        run(jobs(), tmp_path, workers=-1)
    file = tmp_path / "file"
    file.touch()
    for path in (file, file / "within"):
        with pytest.raises(InputError, match="is a file or inside a file; give a folder"):
            run(jobs(), path)
    with pytest.raises(InputError, match="lacks the results of 4 of 4 jobs"):
        load_records(tmp_path / "nowhere", jobs())


def test_infinities_and_nan_survive(tmp_path):
    wanted = [Job(function=sweep_jobs.odd_numbers, spec=Inner(width=1))]
    for _ in range(2):
        ((row,),) = run(wanted, tmp_path, workers=0)
        assert row["more"] == math.inf and row["less"] == -math.inf and math.isnan(row["none"])
        assert math.copysign(1, row["zero"]) == -1.0 and row["tiny"] == 5e-324
        assert type(row["whole"]) is int and type(row["float"]) is float and row["no"] is False
        assert row["text"] == "inf" and row["brace"] == '{"$float": "inf"}'


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_jobs_on_a_cluster_leave_the_same_files(tmp_path):
    pytest.importorskip("distributed")
    import orthoreg as og

    wanted = jobs(3)
    run(wanted, tmp_path / "here", workers=1)
    with og.cluster(2):
        run(wanted, tmp_path / "there")
        with pytest.raises(SweepError, match="1 of 2 jobs failed"):
            run(jobs(2, sweep_jobs.fail_on_odd), tmp_path / "failed")
    assert contents(tmp_path / "here") == contents(tmp_path / "there")
