"""A progress bar that appears only when work takes longer than two seconds."""

import sys
import time
from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

Item = TypeVar("Item")


def track(items: Iterable[Item], description: str, *, after: float = 2.0) -> Iterator[Item]:
    """The items, one by one; a bar on standard error once `after` seconds have passed.

    Nothing is drawn where standard error is not a terminal.
    """
    total = len(items) if isinstance(items, Sized) else None
    started, bar, task = time.monotonic(), None, None
    try:
        for done, item in enumerate(items):
            if bar is None and sys.stderr.isatty() and time.monotonic() - started > after:
                from rich.console import Console
                from rich.progress import Progress

                bar = Progress(console=Console(stderr=True), transient=True)
                bar.start()
                task = bar.add_task(description, total=total)
            if bar is not None and task is not None:
                bar.update(task, completed=done)
            yield item
    finally:
        if bar is not None:
            bar.stop()
