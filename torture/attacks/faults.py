"""Signals at random moments, and standard streams and folders that fail."""

import functools
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from torture._attack import Broken, attack

_SHOW = [sys.executable, "-m", "orthoreg", "show"]
_CODES = {0, 2, 128 + signal.SIGPIPE}


@functools.cache
def _model() -> bytes:
    """A model file with a name that is not ASCII."""
    import tempfile

    import orthoreg as og

    times = np.linspace(0, 10, 101)
    data = og.Dataset.from_arrays(np.exp(-0.3 * times)[:, None], times, names=["θ"])
    model = og.OrthoReg(library=og.Polynomial(1), augmentation=og.Zero()).fit(data)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "m.orthoreg")
        return (Path(folder) / "m.orthoreg").read_bytes()


def _table(rng: np.random.Generator, folder: Path) -> Path:
    from orthoreg.data import write_table

    times = np.arange(400) * 0.05
    noise = 0.02 * rng.standard_normal((2, 400))
    path = folder / "a.csv"
    write_table(path, {"t": times, "x": np.cos(times) + noise[0], "v": -np.sin(times) + noise[1]})
    return path


def _hear_interrupts() -> None:
    """Let the program handle SIGINT, which a shell's background jobs ignore."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@attack("faults", trials=200, seconds=20.0, prepare=_model)
def killed_fits(rng: np.random.Generator, folder: Path) -> None:
    """After SIGKILL, SIGTERM or SIGINT at a random moment of a fit, all files are complete, no
    traceback is printed, and the next fit leaves no temporary file."""
    import orthoreg as og

    table, out = _table(rng, folder), folder / "out"
    command = [
        sys.executable,
        "-m",
        "orthoreg",
        "fit",
        str(table),
        "--time",
        "t",
        "--states",
        "x,v",
    ]
    command += ["--residual", "0", "--out", str(out)]
    number = int(rng.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=_hear_interrupts,
    )  # fmt: skip
    time.sleep(rng.uniform(0.2, 4.0))
    process.send_signal(number)
    _, errors = process.communicate(timeout=120)
    if process.returncode not in (0, -number, 128 + number):
        raise Broken(f"signal {number} gave the exit code {process.returncode}: {errors[-200:]}")
    if "Traceback" in errors and "orthoreg" in errors:
        raise Broken(f"a traceback after signal {number}: {errors[-200:]}")
    if number != signal.SIGKILL and list(folder.rglob(".*.part")):
        raise Broken("a temporary file is left after a signal that can be handled")
    for path in out.glob("*.orthoreg"):
        og.load(path)
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode or list(folder.rglob(".*.part")):
        raise Broken(f"the next fit ended with {done.returncode}: {done.stderr[-200:]}")
    og.load(out / "a.orthoreg")


@attack("faults", trials=100, prepare=_model)
def standard_streams(rng: np.random.Generator, folder: Path) -> None:
    """With closed, full or broken streams, any encoding and any width, a command ends with a
    documented exit code and without a traceback."""
    model = folder / "θ.orthoreg"
    model.write_bytes(_model())
    encoding = str(rng.choice(["ascii", "latin-1", "cp1252", "utf-8", "utf-16"]))
    redirect = str(rng.choice(["", ">&-", "2>&-", ">/dev/full", "| true", "| head -c 10"]))
    options = " --json" if rng.random() < 0.3 else ""
    command = f"{sys.executable} -m orthoreg show '{model}'{options} {redirect}"
    done = subprocess.run(
        ["bash", "-c", f"{command}; exit ${{PIPESTATUS[0]}}"],
        capture_output=True, timeout=100,
        env=os.environ | {"PYTHONIOENCODING": encoding, "COLUMNS": str(rng.choice([20, 80]))},
    )  # fmt: skip
    if done.returncode not in _CODES or b"Traceback" in done.stderr:
        raise Broken(f"{redirect} {encoding}: {done.returncode} {done.stderr[-200:]!r}")
    if not redirect and done.returncode:
        raise Broken(f"{encoding}: {done.stderr[-200:]!r}")


@attack("faults", trials=200, prepare=_model)
def limited_files(rng: np.random.Generator, folder: Path) -> None:
    """If a file cannot grow, as on a full disk, an existing model stays as it was."""
    import orthoreg as og

    path = folder / "m.orthoreg"
    path.write_bytes(_model())
    model = og.load(path)
    limit = int(rng.integers(0, len(_model())))
    previous = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, previous[1]))
    try:
        model.save(path)
    except OSError:
        pass
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, previous)
    if path.read_bytes() != _model():
        raise Broken(f"the model changed under a limit of {limit} bytes")
    if list(folder.glob(".*.part")):
        raise Broken("a temporary file is left")


@attack("faults", trials=50, seconds=20.0, prepare=_model)
def two_writers(rng: np.random.Generator, folder: Path) -> None:
    """Of two processes that write one file, one wins, and the file is complete."""
    import orthoreg as og

    path, source = folder / "m.orthoreg", folder / "source.orthoreg"
    source.write_bytes(_model())
    program = (
        "import sys, orthoreg as og\nm = og.load(sys.argv[1])\n"
        "for _ in range(20): m.save(sys.argv[2])"
    )
    writers = [subprocess.Popen([sys.executable, "-c", program, source, path]) for _ in range(2)]
    codes = [writer.wait(timeout=100) for writer in writers]
    og.load(path)
    if any(codes) or list(folder.glob(".*.part")):
        raise Broken(f"the writers ended with {codes}")
