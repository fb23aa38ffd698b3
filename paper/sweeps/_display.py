"""Progress display of a sweep."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

Show: TypeAlias = Callable[[int, Mapping[str, str]], None]
"""Receives the number of finished jobs, and the names of running jobs by their digests."""


@contextmanager
def display(total: int) -> Iterator[Show]:
    """Yield a function that shows finished, running and waiting jobs, with times, on standard
    error.

    If standard error is not a terminal, nothing is shown.
    """
    if not sys.stderr.isatty():
        yield lambda done, running: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
    from rich.table import Column

    words = TextColumn(
        "{task.description}",
        markup=False,  # names may contain square brackets
        table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1),
    )
    bars = Progress(
        words,
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        console=Console(file=sys.stderr),
        transient=True,
        redirect_stdout=False,
        expand=True,
    )
    everything = bars.add_task("", total=total)
    drawn: dict[str, TaskID] = {}

    def show(done: int, running: Mapping[str, str]) -> None:
        left = total - done - len(running)
        text = f"{done} of {total} jobs done, {len(running)} running, {left} waiting"
        bars.update(everything, completed=done, description=text)
        for digest in set(drawn) - set(running):
            bars.remove_task(drawn.pop(digest))
        for digest, name in running.items():
            if digest not in drawn:
                drawn[digest] = bars.add_task(f"  {name}", total=None)

    with bars:
        yield show
