"""What a case of the suite is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, final


@final
@dataclass(frozen=True, eq=False)
class Peer:
    """The same work by somebody else. Its seconds count `times` times, where only a part of the
    work is run because all of it would take too long."""

    run: Callable[[], Any]
    times: float = 1.0


@final
@dataclass(frozen=True, eq=False)
class Work:
    """What is timed. `limit` counts the work that cannot be avoided in units of `LIMITS`;
    `checked` says, after a run of both, how far the results agree, as numbers by name."""

    run: Callable[[], Any]
    limit: Mapping[str, float] = field(default_factory=dict)
    peers: Mapping[str, Peer] = field(default_factory=dict)
    checked: Callable[[], Mapping[str, float]] | None = None


@final
@dataclass(frozen=True, eq=False)
class Case:
    """A line of the suite. `prepare(with_peers)` makes what is needed beforehand, which is not
    timed. `count` of `unit` are done in a call.

    The guard compares seconds with those that the work takes at the machine's limit, or, where
    nobody knows the least work, with those of `yardstick`; without either a case is not guarded.
    """

    part: str
    name: str
    prepare: Callable[[bool], Work]
    count: float = 1.0
    unit: str = ""
    yardstick: str | None = None
    guarded: bool = True
    repeats: int = 5
