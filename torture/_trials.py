"""A process that runs trials of an attack, one after the other, under resource limits.

It writes a line of JSON with the number of a trial before the trial starts, and a line with the
outcome afterwards.
"""

import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any
from zlib import crc32

import numpy as np

from torture._attack import ATTACKS, Attack, Broken
from torture._limits import ADDRESS_SPACE


class Hang(BaseException):
    """The CPU time exceeds the limit. This is not an `Exception`, so that no handler catches it."""


def generator(name: str, seed: int, trial: int) -> np.random.Generator:
    """Return the random generator of a trial, which depends only on these arguments."""
    return np.random.default_rng([crc32(name.encode()), seed, trial])


def run_trial(attack: Attack, seed: int, trial: int) -> dict[str, Any]:
    """Run a trial and return its outcome: 'kept', 'refused' or 'broken' with the error."""
    from orthoreg._common.errors import OrthoregError

    _reset_peak()
    try:
        with tempfile.TemporaryDirectory(prefix="torture") as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            signal.setitimer(signal.ITIMER_PROF, attack.seconds)
            try:
                cases = attack.run(generator(attack.name, seed, trial), Path(folder)) or {}
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
        outcome: dict[str, Any] = {"outcome": "kept", "cases": cases}
    except OrthoregError:
        outcome = {"outcome": "refused"}
    except (Exception, Hang) as error:
        outcome = _broken(error)
    peak = _peak()
    if peak > attack.memory and outcome["outcome"] != "broken":
        outcome = {
            "outcome": "broken", "error": f"{peak >> 20} MiB of memory", "where": "", "trace": "",
        }  # fmt: skip
    return {"trial": trial, **outcome}


def _broken(error: BaseException) -> dict[str, Any]:
    frames = traceback.extract_tb(error.__traceback__)
    root = str(Path(__file__).parents[1])
    own = [frame for frame in frames if "orthoreg" in frame.filename] or frames
    place = own[-1]
    kind = "" if isinstance(error, Broken) else f"{type(error).__name__}: "
    return {
        "outcome": "broken",
        "error": f"{kind}{error}"[:500],
        "where": f"{place.filename.removeprefix(root).lstrip('/')}:{place.lineno} {place.name}",
        "trace": "".join(traceback.format_exception(error))[-3000:],
    }


def _reset_peak() -> None:
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:  # the peak is then that of the whole process
        pass


def _peak() -> int:
    """Return the largest resident size since the last reset, in bytes."""
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) << 10
    except (OSError, IndexError, ValueError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _limit_memory() -> None:
    """Limit the memory that the process may reserve to a few gigabytes more than now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + ADDRESS_SPACE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _interrupt(signum: int, frame: FrameType | None) -> None:
    raise Hang("more CPU time than allowed")


def main(module: str, name: str, seed: int, first: int, last: int, deadline: float) -> None:
    """Run the trials `first` to `last - 1` of an attack of a module.

    No trial starts after the wall time `deadline`.
    """
    lines = os.fdopen(os.dup(1), "w")
    with open(os.devnull, "w") as nothing:
        os.dup2(nothing.fileno(), 1)  # output of the attacked code is not part of the protocol
    import_module(module)
    attack = ATTACKS[name]
    if attack.prepare is not None:
        attack.prepare()
    _limit_memory()
    signal.signal(signal.SIGPROF, _interrupt)
    for trial in range(first, last):
        if trial > first and time.time() > deadline:
            break
        print(trial, file=lines, flush=True)
        print(json.dumps(run_trial(attack, seed, trial)), file=lines, flush=True)


if __name__ == "__main__":
    _module, _name, _seed, _first, _last, _deadline = sys.argv[1:]
    main(_module, _name, int(_seed), int(_first), int(_last), float(_deadline))
