"""Signals at random moments, and standard streams and folders that fail."""

import functools
import os
import resource
import signal
import subprocess
import sys
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
    """If a file cannot grow, as on a full disk, an existing model file does not change."""
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
