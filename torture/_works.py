"""Commands with known results, for comparison with the results of a command that failed."""

import functools
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import final

import numpy as np

from torture._attack import Broken
from torture._children import Child, Ended

COMMANDS = {
    "fit": "fit a.csv --time t --states x,v --residual 0 --out out",
    "explain": "explain out/m.orthoreg a.csv",
    "report": "report out/m.orthoreg a.csv --out out/report.html",
    "refine": "refine out/m.orthoreg a.csv --out out/refined.orthoreg",
    "simulate": "simulate out/m.orthoreg --start 1,0 --until 9 --step 0.01 --out out/s.csv",
    "export": "export out/m.orthoreg --format c --out out/m.c",
    "generate": "generate lotka-volterra --runs 3 --out out/g.csv",
    "save": "",
}
"""Arguments of commands that write into the folder `out`; `save` is a function call."""

_MODEL = "out/m.orthoreg"
OLD = b"an old file\n"
_STEP = 0.05  # time between rows
_CPU_FACTOR = 20.0  # CPU seconds of an attacked command, relative to those of the command alone
_CPU_LEAST = 5.0  # CPU seconds
_START_SECONDS = 20.0  # CPU seconds that the imports of a new process may take
_TEMPORARY = re.compile(r"\..*\.[0-9a-f]{8}\.part")


@final
@dataclass(frozen=True)
class Work:
    """A command, and the files that it writes, by name in the folder `out`."""

    name: str
    files: Mapping[str, bytes]
    seconds: float

    @property
    def inputs(self) -> bytes:
        """The model file in the folder `out`."""
        return _inputs()[1]

    @property
    def arguments(self) -> list[str]:
        """The command line after `orthoreg`."""
        return COMMANDS[self.name].split()

    @property
    def limit(self) -> float:
        """CPU seconds after which the command counts as a hang."""
        return _CPU_LEAST + _CPU_FACTOR * self.seconds

    def prepare(self, folder: Path) -> None:
        """Write the input of the command into a folder, with old files instead of its results."""
        write_inputs(folder)
        for name in self.files:
            if not (folder / "out" / name).exists():
                (folder / "out" / name).write_bytes(OLD)

    def start(
        self,
        folder: Path,
        setup: Callable[[], object] | None = None,
        *,
        is_new: bool = False,
        environment: Mapping[str, str] | None = None,
        streams: Path | None = None,
    ) -> Child:
        """Start the command in the folder.

        Parameters
        ----------
        folder
            folder that `prepare` has filled.
        setup
            function that is called first, in the process of the command.
        is_new
            whether the command starts in a new Python process, with its imports.
        environment
            environment of a new process, by default that of this process.
        streams
            new folder for the standard output and the standard error; by default `folder`.
        """
        if streams is not None:
            streams.mkdir()

        def action() -> int:
            os.chdir(folder)
            if setup is not None:
                setup()
            if not is_new:
                return run(self.name)
            program = "import sys, torture._works as works; sys.exit(works.run(sys.argv[1]))"
            if self.name == "save":
                arguments = ["-c", program, self.name]
            else:
                arguments = ["-m", "orthoreg", *self.arguments]
            os.execve(sys.executable, [sys.executable, *arguments], environment or os.environ)

        return Child(action, streams or folder, self.limit + _START_SECONDS * is_new)

    def check(self, folder: Path, ended: Ended) -> None:
        """Raise `Broken` unless every file is complete, and the exit code and messages
        are correct."""
        files = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
        for name in self.files:
            if files.get(name) not in (OLD, self.files[name]):
                raise Broken(f"{self.name}: '{name}' is neither old nor new ({ended.code})")
        others = {name for name in files.keys() - self.files if not _TEMPORARY.fullmatch(name)}
        if others:
            raise Broken(f"{self.name}: other files: {others}")
        if ended.code == 0 and files != self.files:
            raise Broken(f"{self.name}: exit code 0, but some files are old, or are temporary")
        if ended.code >= 0 and files.keys() - self.files:
            raise Broken(f"{self.name}: a temporary file is left with exit code {ended.code}")
        if "Traceback" in ended.err or "bug in orthoreg" in ended.err:
            raise Broken(f"{self.name}: {ended.code}, {ended.err[-400:]}")

    def check_refusal(self, folder: Path, ended: Ended) -> None:
        """Raise `Broken` unless the command succeeded, or explained its failure and left complete
        files."""
        self.check(folder, ended)
        lines = [line for line in ended.err.splitlines() if line.startswith("error: ")]
        if ended.code not in (0, 2) or (ended.code == 2 and len(lines) != 1):
            raise Broken(f"{self.name}: exit code {ended.code}: {ended.err[-300:]}")


def run(name: str) -> int:
    """Run a command in the current folder and return its exit code."""
    if name == "save":
        return _save()
    from orthoreg.cli import run

    return run(COMMANDS[name].split())


def _save() -> int:
    """Save a model in a separate command, as `orthoreg` does."""
    import orthoreg as og
    from orthoreg.cli import exit_code

    return exit_code(lambda: og.load(_MODEL).save("out/saved.orthoreg"), "program")


@functools.cache
def _inputs() -> tuple[str, bytes]:
    """A noisy table, and a model file."""
    import orthoreg as og

    rng, times = np.random.default_rng(0), np.arange(200) * _STEP
    states = np.c_[np.cos(times), -np.sin(times)] + 0.02 * rng.standard_normal((200, 2))
    lines = [f"{t:.2f},{x:.6f},{v:.6f}\n" for t, (x, v) in zip(times, states, strict=True)]
    data = og.Dataset.from_arrays(states, times, names=["x", "v"])
    model = og.OrthoReg("poly(1)", og.Zero()).fit(data)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "m.orthoreg")
        return "t,x,v\n" + "".join(lines), (Path(folder) / "m.orthoreg").read_bytes()


def write_inputs(folder: Path) -> None:
    """Write a table, and a folder with a model."""
    table, model = _inputs()
    (folder / "a.csv").write_text(table)
    (folder / "out").mkdir(exist_ok=True)
    (folder / _MODEL).write_bytes(model)


@functools.cache
def work(name: str) -> Work:
    """Run a command without faults, once in each process, and return its results."""
    with tempfile.TemporaryDirectory() as place, _inside(Path(place)):
        write_inputs(Path())
        seconds, code, errors = 0.0, 0, StringIO()
        for _ in range(2):  # the modules are loaded in the second call
            started = time.process_time()
            with redirect_stdout(StringIO()), redirect_stderr(errors):
                code = run(name)
            seconds = time.process_time() - started
        if code:
            raise RuntimeError(f"{COMMANDS[name]}: {errors.getvalue()}")
        files = {path.name: path.read_bytes() for path in Path("out").iterdir()}
    return Work(name, files, seconds)


def random_work(rng: np.random.Generator) -> Work:
    """Return the work of a random command."""
    return work(str(rng.choice(list(COMMANDS))))


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
