"""Signals at random moments, and processes that are killed."""

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np

from torture._attack import Broken, attack
from torture._children import Child, Ended
from torture._works import OLD, Work, random_work, work

_SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
_NEW_PROCESSES = 0.1  # share of trials with a new process and its imports
_START_SECONDS = 2.0  # CPU seconds of a new process
_WRITER_SECONDS = 5.0  # CPU seconds that a writer may take


@attack("faults", trials=200, seconds=60.0, share=3.0)
def killed_commands(rng: np.random.Generator, folder: Path) -> None:
    """After SIGKILL, SIGTERM or SIGINT at a random moment of a command, each file is either the
    complete old or the complete new one, and at most one sentence is printed. If the command is
    repeated, it gives the same bytes as without the signal."""
    task, number = random_work(rng), int(rng.choice(_SIGNALS))
    task.prepare(folder)
    ended = _killed(task, folder, number, rng)
    if ended.code not in (0, -number, 128 + number):
        raise Broken(f"{task.name}: {number} gave {ended.code}: {ended.err[-200:]}")
    task.check(folder, ended)
    if ended.code == 128 + number and ended.err.count("Stopped by") != 1:
        raise Broken(f"{task.name}: {number} printed {ended.err[-300:]!r}")
    again = task.start(folder).end()
    task.check(folder, again)
    if again.code:
        raise Broken(f"{task.name}: the next command ended with {again.code}: {again.err[-200:]}")


def _killed(task: Work, folder: Path, number: int, rng: np.random.Generator) -> Ended:
    """Kill a command after some CPU seconds, or after it has changed some file names."""
    is_new, out, changes = rng.random() < _NEW_PROCESSES, folder / "out", 0
    seconds = rng.uniform(0, 1.2 * task.seconds + _START_SECONDS * is_new)
    last = int(rng.integers(1, 3 * len(task.files))) if rng.random() < 0.5 else None
    names, child = _names(out), task.start(folder, is_new=is_new)

    def is_reached() -> bool:
        nonlocal changes, names
        if last is None:
            return child.cpu() >= seconds
        now = _names(out)
        changes, names = changes + (now != names), now
        return changes >= last

    child.run_until(is_reached)
    child.kill(number)
    return child.end()


def _names(folder: Path) -> set[tuple[str, int]]:
    with os.scandir(folder) as entries:
        return {(entry.name, entry.inode()) for entry in entries}


@attack("faults", trials=100, seconds=60.0)
def two_writers(rng: np.random.Generator, folder: Path) -> None:
    """If two processes write the same files, each file is written completely by one of them, and no
    temporary file remains. A third process that reads the files at the same time sees complete
    files."""
    task = random_work(rng)
    task.prepare(folder)
    writers = [task.start(folder, streams=folder / name) for name in ("first", "second")]

    def check() -> bool:
        for name, content in task.files.items():
            if (folder / "out" / name).read_bytes() not in (OLD, content):
                raise Broken(f"{task.name}: a reader sees a part of '{name}'")
        return False

    for writer in writers:
        writer.run_until(check)
    for ended in [writer.end() for writer in writers]:
        task.check(folder, ended)
        if ended.code:
            raise Broken(f"{task.name}: {ended.code}: {ended.err[-300:]}")


@attack("faults", trials=100)
def two_models(rng: np.random.Generator, folder: Path) -> None:
    """If two processes repeatedly save different models to one file, and one of them may be killed,
    the file is always one of the two models."""
    import orthoreg as og

    task = work("refine")
    task.prepare(folder)
    first, second = task.inputs, task.files["refined.orthoreg"]
    (folder / "refined.orthoreg").write_bytes(second)
    models = [og.load(folder / "out" / "m.orthoreg"), og.load(folder / "refined.orthoreg")]
    file = folder / "common.orthoreg"
    file.write_bytes(first)

    def writer(model: Any) -> Child:
        def action() -> int:
            for _ in range(10):
                model.save(file)
            return 0

        place = folder / f"writer{len(list(folder.glob('writer*')))}"
        place.mkdir()
        return Child(action, place, _WRITER_SECONDS)

    writers = [writer(model) for model in models]
    killed = rng.random() < 0.5
    limit = rng.uniform(0, _WRITER_SECONDS / 20)

    def check() -> bool:
        if file.read_bytes() not in (first, second):
            raise Broken("the file is neither of the two models")
        return bool(killed) and writers[0].cpu() > limit

    writers[0].run_until(check)
    if killed:
        writers[0].kill(signal.SIGKILL)
    codes = [child.end().code for child in writers]
    check()
    if codes[1] or codes[0] not in (0, -signal.SIGKILL):
        raise Broken(f"the writers ended with {codes}")
    models[0].save(file)
    if file.read_bytes() != first or list(folder.glob(".*.part")):
        raise Broken("the next writer left a temporary file, or another model")
