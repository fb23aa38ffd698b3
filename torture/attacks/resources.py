"""Too little memory or disk space, folders without write access, narrow terminals, and environments
without variables."""

import os
import pty
import re
import resource
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from torture._attack import Broken, attack
from torture._works import random_work, work

_GIGABYTES = (1, 2)  # address spaces of new processes
_MORE_MEMORY = 300 << 20  # bytes that a forked process may reserve, at most
_PAGE = 4096  # size in bytes
_NOBODY = 65534  # user and group without rights
_WIDTHS = (1, 10, 20, 40, 80)  # columns of terminals
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_VARIABLES: dict[str, tuple[str | None, ...]] = {
    "HOME": (None, "/nonexistent", "/proc", ""),
    "TMPDIR": (None, "/nonexistent"),
    "LC_ALL": (None, "C", "POSIX", "de_DE.UTF-8", "xx_YY"),
    "PYTHONUTF8": (None, "0"),
    "PYTHONCOERCECLOCALE": ("0", None),
    "PYTHONHASHSEED": (None, "1", "2"),
    "PYTHONOPTIMIZE": (None, "2"),
    "PYTHONWARNINGS": (None, "error", "always"),
    "OMP_NUM_THREADS": (None, "2"),
    "COLUMNS": (None, "20", "x"),
    "TERM": (None, "dumb", "xterm"),
    "TZ": (None, "Pacific/Apia", "nowhere"),
    "MPLBACKEND": (None, "nothing"),
    "FORCE_COLOR": (None, "1"),
}


@attack("faults", trials=200, seconds=60.0)
def limited_memory(rng: np.random.Generator, folder: Path) -> None:
    """With an address space of 1 or 2 GB, a command gives the usual result. With less, it may
    report in one sentence that the memory is not sufficient. Each file is then either the old or
    the new one."""
    task, is_new = random_work(rng), bool(rng.random() < 0.2)
    task.prepare(folder)
    if is_new:
        limit = int(rng.choice(_GIGABYTES)) << 30
    else:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + int(_MORE_MEMORY * rng.random() ** 4)
    ended = task.start(
        folder, lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)), is_new=is_new
    ).end()
    task.check_refusal(folder, ended)
    if ended.code and (is_new or "memory" not in ended.err):
        raise Broken(f"{task.name}: {limit >> 20} MiB of addresses: {ended.err[-300:]}")


@attack("faults", trials=200, seconds=60.0)
def full_disks(rng: np.random.Generator, folder: Path) -> None:
    """If the disk is full or files cannot grow, a command reports this in one sentence that names
    the file. Each file is either the old or the new one."""
    task = random_work(rng)
    sizes = [len(content) for content in task.files.values()]
    if rng.random() < 0.5 or os.geteuid() != 0:
        limit = int(rng.integers(max(sizes)))
        task.prepare(folder)
        ended = task.start(
            folder, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        ).end()
        task.check_refusal(folder, ended)
    else:
        used = sum(-(-size // _PAGE) for size in [len(task.inputs), *([1] * len(sizes))])
        limit = _PAGE * (used + 1) + int(rng.integers(2 * sum(sizes)))
        with _disk(folder / "out", limit):
            task.prepare(folder)
            ended = task.start(folder).end()
            task.check_refusal(folder, ended)
    if ended.code and f"{folder / 'out'}/" not in ended.err:
        raise Broken(f"{task.name}: the file is not named: {ended.err[-300:]}")


@contextmanager
def _disk(folder: Path, size: int) -> Iterator[None]:
    """Provide a disk of this size, mounted on a new folder."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "torture", str(folder)]
    is_mounted = subprocess.run(command, capture_output=True).returncode == 0
    try:
        yield
    finally:
        if is_mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


@attack("faults", trials=200, seconds=60.0)
def read_only_folders(rng: np.random.Generator, folder: Path) -> None:
    """If a folder is write-protected, or a folder has the name of the file, a command reports this
    in one sentence that names the path. Each file is either the old or the new one."""
    task, out = random_work(rng), folder / "out"
    task.prepare(folder)
    place = out
    if rng.random() < 0.3:
        place = out / str(rng.choice(sorted(set(task.files) - {"m.orthoreg"})))
        content = place.read_bytes()
        place.unlink()
        place.mkdir()
        ended = task.start(folder).end()
        place.rmdir()
        place.write_bytes(content)
    else:
        folder.chmod(0o755)
        out.chmod(0o555)
        ended = task.start(folder, _without_rights).end()
        out.chmod(0o755)
    task.check_refusal(folder, ended)
    if ended.code != 2 or place.name not in ended.err:
        raise Broken(f"{task.name}: {ended.code}, the place is not named: {ended.err[-300:]}")


def _without_rights() -> None:
    """Change to a user without rights, unless this process belongs to one."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(_NOBODY)
        os.setuid(_NOBODY)


@attack("faults", trials=150, seconds=60.0)
def bare_environments(rng: np.random.Generator, folder: Path) -> None:
    """Without a home folder, and with any locale, terminal, time zone or Python setting, a command
    gives the same bytes."""
    task = random_work(rng)
    task.prepare(folder)
    chosen = {name: values[rng.integers(len(values))] for name, values in _VARIABLES.items()}
    environment = {name: value for name, value in chosen.items() if value is not None}
    # BLAS kernels differ in the last digits
    kept = [name for name in os.environ if name in ("PATH", "PYTHONPATH") or "BLAS" in name]
    environment |= {name: os.environ[name] for name in kept}
    ended = task.start(folder, is_new=True, environment=environment).end()
    task.check_refusal(folder, ended)
    if ended.code:
        raise Broken(f"{task.name}: {chosen}: {ended.err[-300:]}")


@attack("faults", trials=200, seconds=60.0)
def narrow_terminals(rng: np.random.Generator, folder: Path) -> None:
    """In a terminal of any width, a command writes the same bytes to files, and a fit prints
    complete equations."""
    task = work("fit") if rng.random() < 0.3 else random_work(rng)
    task.prepare(folder)
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, int(rng.choice(_WIDTHS))))
    printed: list[bytes] = []

    def enter() -> None:
        os.setsid()
        os.dup2(slave, 1)
        os.dup2(slave, 2)

    child = task.start(folder, enter)
    os.close(slave)
    reader = threading.Thread(target=_read, args=(master, printed))
    reader.start()
    ended = child.end()
    reader.join()
    text = _ESCAPE.sub("", b"".join(printed).decode(errors="replace"))
    task.check(folder, ended)
    if ended.code or "Traceback" in text:
        raise Broken(f"{task.name}: {ended.code}: {text[-300:]}")
    equations = task.files.get("equations.txt", b"").decode()
    if "".join(equations.split()) not in "".join(text.split()):
        raise Broken(f"{task.name}: the equations are not complete: {text[:300]}")


def _read(master: int, printed: list[bytes]) -> None:
    """Read all output of a terminal until it is closed."""
    try:
        while block := os.read(master, 1 << 16):
            printed.append(block)
    except OSError:  # the end of a terminal
        pass
    finally:
        os.close(master)


@attack("faults", trials=150, seconds=60.0)
def failing_outputs(rng: np.random.Generator, folder: Path) -> None:
    """With closed or full standard streams, or a reader that has ended, a command ends with a
    documented exit code. Each file is either the old or the new one."""
    task, is_new = random_work(rng), bool(rng.random() < 0.2)
    task.prepare(folder)
    closed = [number for number in (0, 1, 2) if rng.random() < 0.3]
    fault = str(rng.choice(["", "full", "broken"]))

    def enter() -> None:
        if fault == "full":
            os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
        elif fault == "broken":
            reading, writing = os.pipe()
            os.close(reading)
            os.dup2(writing, 1)
        for number in closed:
            os.close(number)
            if not is_new:
                streams = ("stdin", "stdout", "stderr")
                setattr(sys, streams[number], None)  # as in a new process

    ended = task.start(folder, enter, is_new=is_new).end()
    task.check(folder, ended)
    allowed = {"full": {0, 2}, "broken": {0, 141}}.get(fault, {0})
    if ended.code not in (allowed if 1 not in closed else {0}):
        raise Broken(f"{task.name}: {fault} {closed}: {ended.code}: {ended.err[-300:]}")
