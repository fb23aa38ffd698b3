"""Execution of attacks in child processes, and collection of their outcomes."""

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, final

from torture._attack import Attack
from torture._limits import SHOWN_FAILURES, SIGNIFICANCE, START_SECONDS, WALL_FACTOR

ROOT = Path(__file__).parents[1]


@final
class Tally:
    """Counts the outcomes of an attack, and keeps the first failure for each place and error."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.failures: dict[tuple[str, str], dict[str, Any]] = {}
        self.cases: defaultdict[str, list[tuple[bool, float]]] = defaultdict(list)

    def add(self, outcome: dict[str, Any]) -> None:
        self.outcomes[outcome["outcome"]] += 1
        for statement, case in outcome.get("cases", {}).items():
            self.cases[statement].append(tuple(case))
        if outcome["outcome"] != "broken":
            return
        key = (outcome["where"], outcome["error"].partition(":")[0])
        first = self.failures.setdefault(key, {**outcome, "count": 0})
        first["count"] += 1

    def entry(self, attack: Attack, seconds: float) -> dict[str, Any]:
        """Return the record of the attack."""
        kept = ("error", "where", "trial", "count")
        statements = [_statement(text, cases) for text, cases in self.cases.items()]
        rejected = [_rejection(statement) for statement in statements if statement["rejected"]]
        failures = [*self.failures.values(), *rejected][:SHOWN_FAILURES]
        return {
            "kind": attack.kind,
            "name": attack.name,
            "promise": attack.promise,
            "trials": sum(self.outcomes.values()),
            "refused": self.outcomes["refused"],
            "broken": self.outcomes["broken"] + len(rejected),
            "seconds": round(seconds, 1),
            "failures": [{key: failure[key] for key in kept} for failure in failures],
            "statements": statements,
        }


def _statement(text: str, cases: Sequence[tuple[bool, float]]) -> dict[str, Any]:
    """Return how often a statement was true, and whether this is significantly too rare."""
    from scipy.stats import binomtest

    true, promised = sum(case[0] for case in cases), sum(case[1] for case in cases) / len(cases)
    test = binomtest(true, len(cases), promised, alternative="less")
    return {
        "statement": text, "cases": len(cases), "true": true, "promised": promised,
        "rejected": bool(test.pvalue < SIGNIFICANCE),
    }  # fmt: skip


def _rejection(statement: dict[str, Any]) -> dict[str, Any]:
    often = f"{statement['true']} of {statement['cases']} cases"
    error = f"{statement['statement']}: {often} instead of {100 * statement['promised']:.1f}%"
    return {"error": error, "where": "", "trial": 0, "count": 1}


def run_attacks(
    attacks: Sequence[Attack],
    *,
    minutes: float | None = None,
    trials: int | None = None,
    first: int = 0,
    seed: int = 0,
    workers: int = 1,
    verbose: bool = False,
) -> list[dict[str, Any]]:
    """Return a record entry for each attack.

    With `minutes`, attacks share this wall time, and each stops early when its share is used up.
    Attacks with long trials run first, because each runs at least one trial. `trials` is the
    maximum number of trials of each attack.
    """
    deadline = None if minutes is None else time.time() + 60 * minutes
    pending = sum(attack.share for attack in attacks)

    def run(attack: Attack) -> dict[str, Any]:
        nonlocal pending
        now = time.time()
        end = now + 1e9
        if deadline is not None:  # unused time is shared by later attacks
            end = now + max(0.0, deadline - now) * min(1.0, workers * attack.share / pending)
        pending -= attack.share
        count = attack.trials if trials is None else min(trials, attack.trials)
        tally = _run(attack, seed, first, first + count, end, verbose)
        entry = tally.entry(attack, time.time() - now)
        note = f"{entry['trials']} trials, {entry['broken']} failures, {entry['seconds']} s"
        print(f"{attack.kind} {attack.name}: {note}", file=sys.stderr, flush=True)
        return entry

    order = sorted(attacks, key=lambda attack: -attack.seconds)
    with ThreadPoolExecutor(workers) as pool:
        entries = {entry["name"]: entry for entry in pool.map(run, order)}
    return [entries[attack.name] for attack in attacks]


def _run(attack: Attack, seed: int, first: int, last: int, end: float, verbose: bool) -> Tally:
    """Run trials; a process that hangs or dies is replaced and continues with the next trial."""
    tally = Tally()
    while first < last and (time.time() < end or not tally.outcomes):
        with tempfile.TemporaryFile("w+") as errors:
            process = _started(attack, seed, first, last, end, errors)
            for outcome in _outcomes(process, attack, errors):
                tally.add(outcome)
                first = outcome["trial"] + 1
                if verbose and outcome["outcome"] == "broken":
                    print(f"{attack.name} {outcome['trial']}\n{outcome['trace']}", file=sys.stderr)
            if process.returncode == 0:
                break
    return tally


def _started(
    attack: Attack, seed: int, first: int, last: int, end: float, errors: IO[str]
) -> "subprocess.Popen[bytes]":
    paths = [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    arguments = [attack.run.__module__, attack.name, *map(str, (seed, first, last)), repr(end)]
    return subprocess.Popen(
        [sys.executable, "-m", "torture._trials", *arguments],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, env=environment, cwd=ROOT,
    )  # fmt: skip


def _outcomes(process: "subprocess.Popen[bytes]", attack: Attack, errors: IO[str]):
    """Yield outcomes. The last trial of a process that hangs or dies counts as broken."""
    assert process.stdout is not None
    running, patience = None, START_SECONDS
    with process.stdout as stream:
        while line := _line(stream, patience):
            patience = WALL_FACTOR * attack.seconds
            message = json.loads(line)
            if isinstance(message, int):
                running = message
            else:
                running = None
                yield message
        stalled = process.poll() is None and not select.select([stream], [], [], 0)[0]
    if stalled:
        process.kill()
    status = process.wait()
    if running is None and status == 0:
        return
    errors.seek(0)
    trace = errors.read()[-3000:]
    if running is None and not stalled:
        raise RuntimeError(f"The process of attack '{attack.name}' failed.\n{trace}")
    error = f"no progress for {patience:g} s" if stalled else f"the process ended with {status}"
    yield {
        "trial": running or 0, "outcome": "broken", "error": error, "where": "", "trace": trace,
    }  # fmt: skip


def _line(stream: IO[bytes], seconds: float) -> bytes:
    """Return the next line, or nothing if the stream ends or no line arrives in time."""
    ready, _, _ = select.select([stream], [], [], seconds)
    return stream.readline() if ready else b""
