"""Jobs for tests of sweeps, in a module because other processes import them."""

import enum
import math
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paper.sweeps import Job, run

ROOT = Path(__file__).parents[2]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
"""The path for scripts, because `paper` is not installed."""


class Colour(enum.StrEnum):
    red = "red"


@dataclass(frozen=True, kw_only=True)
class Inner:
    width: int
    rate: float = math.inf


@dataclass(frozen=True, kw_only=True)
class Spec:
    seed: int
    system: str = "pendulum"
    strengths: tuple[float, ...] = (0.1, math.inf)
    inner: Inner = Inner(width=3)
    note: str | None = None
    exact: bool = True


@dataclass(frozen=True, kw_only=True)
class Place:
    """A folder in which a job writes files that the test reads."""

    seed: int
    folder: str
    seconds: float = 0.0


@dataclass(frozen=True)
class ByPosition:
    seed: int


@dataclass(kw_only=True)
class Thawed:
    seed: int


def score(spec: Spec) -> list[dict[str, Any]]:
    """Numbers whose last digits depend on the order of their sum."""
    A = np.random.default_rng(spec.seed).standard_normal((200, 30))
    values = np.linalg.svd(A.T @ A / 3)[1]
    rows = [{"seed": spec.seed, "k": k, "value": value} for k, value in enumerate(values[:4])]
    return [*rows, {"seed": spec.seed, "k": None, "value": math.nan, "name": "nan", "fine": True}]


def trace(spec: Place) -> list[dict[str, Any]]:
    """Write a file whose name contains the seed, the process and the time."""
    (Path(spec.folder) / f"{spec.seed}-{os.getpid()}-{time.monotonic_ns()}").touch()
    time.sleep(spec.seconds)
    return score(Spec(seed=spec.seed))


def surroundings(spec: Inner) -> list[dict[str, Any]]:
    """Return what a process sees: its environment, signals and XLA."""
    import jax.numpy as jnp

    A = np.random.default_rng(0).standard_normal((4000, 400)).astype(np.float32)
    held = signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    threads = {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "PJRT_NPROC")}
    return [threads | {"held": held, "sum": float(jnp.sum(jnp.tanh(A).T @ A)), "pid": os.getpid()}]


def odd_numbers(spec: Inner) -> list[dict[str, Any]]:
    return [
        {
            "more": math.inf, "less": np.float32(-math.inf), "none": math.nan, "zero": -0.0,
            "tiny": 5e-324, "whole": np.int64(2), "float": 2.0, "no": np.bool_(False),
            "text": "inf", "brace": '{"$float": "inf"}',
        }
    ]  # fmt: skip


def fail_on_odd(spec: Spec) -> list[dict[str, Any]]:
    print("a word before the end", file=sys.stderr)
    if spec.seed % 2:
        raise Unpicklable(spec.seed, "is odd")
    return score(spec)


def die_on_one(spec: Spec) -> list[dict[str, Any]]:
    if spec.seed == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return score(spec)


def leave(spec: Spec) -> list[dict[str, Any]]:
    raise SystemExit("enough")


def one_row(spec: Spec) -> dict[str, Any]:
    return {"seed": spec.seed}


def array_in_row(spec: Spec) -> list[dict[str, Any]]:
    return [{"seed": np.arange(3)}]


def number_as_column(spec: Spec) -> list[dict[Any, Any]]:
    return [{3: "three"}]


class Unpicklable(Exception):
    def __init__(self, seed: int, text: str) -> None:
        super().__init__(f"{seed} {text}")


def traced(count: int, folder: Path, seconds: float) -> list[Job]:
    traces = folder / "traces"
    traces.mkdir(parents=True, exist_ok=True)
    return [
        Job(function=trace, spec=Place(seed=seed, folder=str(traces), seconds=seconds))
        for seed in range(count)
    ]


if __name__ == "__main__":
    # count, folder, seconds, workers of the sweep that a test kills
    import sweep_jobs  # its functions belong to a module instead of this script

    _count, _folder, _seconds, _workers = sys.argv[1:]
    _jobs = sweep_jobs.traced(int(_count), Path(_folder), float(_seconds))
    print("ready", flush=True)
    run(_jobs, Path(_folder) / "results", workers=int(_workers))
