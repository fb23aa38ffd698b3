"""Definition of a case of the suite."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, final


@final
@dataclass(frozen=True, eq=False)
class Peer:
    """The same work done by another program. If it takes too long, only a part is run, and its
    seconds are multiplied by `times`."""

    run: Callable[[], Any]
    times: float = 1.0


@final
@dataclass(frozen=True, eq=False)
class Work:
    """The timed work. `limit` is the necessary work in units of `LIMITS`. `checked` compares the
    results of both programs and returns numbers by name."""

    run: Callable[[], Any]
    limit: Mapping[str, float] = field(default_factory=dict)
    peers: Mapping[str, Peer] = field(default_factory=dict)
    checked: Callable[[], Mapping[str, float]] | None = None


@final
@dataclass(frozen=True, eq=False)
class Case:
    """A line of the suite. `prepare(with_peers)` prepares the work and is not timed. A call does
    `count` units of work, and `unit` names the unit.

    The guard compares the seconds with the time of the unavoidable work at the machine's limit. If
    that work is unknown, the guard uses the time of the `yardstick`. A case without either is not
    guarded.
    """

    part: str
    name: str
    prepare: Callable[[bool], Work]
    count: float = 1.0
    unit: str = ""
    yardstick: str | None = None
    guarded: bool = True
    repeats: int = 5
