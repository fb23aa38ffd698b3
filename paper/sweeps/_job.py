"""Definition, identification and failure of jobs."""

import hashlib
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, final

from orthoreg import InputError

from ._encoding import canonical, check_frozen, encode


@final
@dataclass(frozen=True, kw_only=True)
class Job:
    """A call `function(spec)` that returns rows and depends only on the spec.

    The function and the class of the spec are defined at the top level of a module. The spec is a
    frozen, keyword-only dataclass. A new `version` discards results of an older function. Jobs with
    higher `cost`, in any unit, start earlier; `cost` is not part of the digest.
    """

    function: Callable[[Any], Any]
    spec: Any
    version: int = 1
    cost: float = 0.0

    def __post_init__(self) -> None:
        import_path(self.function, "Job(function=...)")
        check_frozen(type(self.spec), "Job(spec=...)")
        import_path(type(self.spec), "The class of Job(spec=...)")
        if not math.isfinite(self.cost):
            raise InputError(f"Job(cost=...) must be a finite number; got {self.cost}.")
        encode(self.spec, "Job(spec=...)")

    @property
    def description(self) -> dict[str, Any]:
        """Function, version and spec as JSON, which together determine the result."""
        function = import_path(self.function, "Job(function=...)")
        return {"function": function, "version": self.version, "spec": encode(self.spec)}

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON of the description."""
        return hashlib.sha256(canonical(self.description)).hexdigest()

    @property
    def name(self) -> str:
        """Readable name, such as 'score(system=pendulum, seed=0)'."""
        values = ", ".join(
            f"{one.name}={getattr(self.spec, one.name)}" for one in fields(self.spec)
        )
        return f"{self.function.__name__}({values})"


@final
@dataclass(frozen=True, kw_only=True)
class Failure:
    """A job that returned no rows, with the cause in one line and the traceback."""

    job: Job
    cause: str
    details: str = ""


def import_path(item: Any, what: str) -> str:
    """Return 'package.module.name' of a function or class that other processes can import."""
    module, name = getattr(item, "__module__", None), getattr(item, "__qualname__", None)
    if not (isinstance(module, str) and isinstance(name, str)):
        raise InputError(
            f"{what} must be a top-level function of a module, so that other processes can "
            f"import it; got {item!r}."
        )
    if module == "__main__":
        raise InputError(
            f"{what} is '{name}' of the script that is running, which is ambiguous between "
            f"scripts. Move it to a module and import it from there."
        )
    try:
        found = attrgetter(name)(sys.modules[module])
    except (KeyError, AttributeError):
        found = None
    if found is not item:
        raise InputError(
            f"{what} is '{name}', which cannot be imported from '{module}'. Define it at the top "
            f"level of that module."
        )
    return f"{module}.{name}"
