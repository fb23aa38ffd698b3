"""The registry of attacks.

An attack is a function of a random generator and an empty folder. It runs one trial:

    @attack("fuzz", trials=1000)
    def mutated_csv(rng: np.random.Generator, folder: Path) -> None:
        \"\"\"A table with random changes is read or refused.\"\"\"
        ...

The promise is kept if the function returns, or if it raises an error of orthoreg, which means that
the input was refused. It is broken by any other exception, by `Broken`, and by a trial that takes
more than `seconds` of CPU time or `memory` bytes. The docstring states the promise and appears in
`docs/torture.md`.

An attack on a statistical promise returns, for each statement that it examined, whether the
statement was true and the probability with which it is promised to be true. The promise is broken
if a binomial test over all trials rejects this probability. A trial returns at most one case of a
statement, because the test assumes that cases are independent.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import final

import numpy as np

from torture._limits import CPU_SECONDS, MEMORY

Cases = dict[str, tuple[bool, float]]
Function = Callable[[np.random.Generator, Path], Cases | None]


class Broken(Exception):
    """A promise that a trial has shown to be broken; the message says what happened."""


@final
@dataclass(frozen=True)
class Attack:
    """A function that runs one trial, and the limits of this trial."""

    name: str
    kind: str
    promise: str
    run: Function
    trials: int
    seconds: float = CPU_SECONDS
    memory: int = MEMORY
    share: float = 1.0
    prepare: Callable[[], object] | None = None


ATTACKS: dict[str, Attack] = {}


def attack(
    kind: str,
    *,
    trials: int,
    seconds: float = CPU_SECONDS,
    memory: int = MEMORY,
    share: float = 1.0,
    prepare: Callable[[], object] | None = None,
) -> Callable[[Function], Function]:
    """Register a function as an attack of a kind, such as "fuzz", "hostile" or "faults".

    Parameters
    ----------
    kind
        heading of the attack in the table.
    trials
        number of trials in a full run.
    seconds
        seconds of CPU that a trial may take in its own process, without subprocesses.
    memory
        bytes that may be resident during a trial.
    share
        wall time of the attack in a run of limited time, relative to other attacks.
    prepare
        function that is called once in each process before the first trial, without limits. Use it
        with `functools.cache` for fits and imports that all trials share.
    """

    def register(function: Function) -> Function:
        name = getattr(function, "__name__", "").replace("_", "-")
        promise = " ".join((function.__doc__ or "").split())
        if name in ATTACKS or not promise:
            raise ValueError(f"Attack '{name}' already exists or has no docstring.")
        ATTACKS[name] = Attack(
            name, kind, promise, function, trials, seconds, memory, share, prepare
        )  # fmt: skip
        return function

    return register


def all_attacks() -> dict[str, Attack]:
    """Return all attacks by name, in the order of modules and functions."""
    from torture import attacks

    for module in iter_modules(attacks.__path__):
        import_module(f"{attacks.__name__}.{module.name}")
    return ATTACKS
