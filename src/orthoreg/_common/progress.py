"""Progress on standard error: a spinner, and a bar for work that takes more than two seconds.

Nothing is shown if standard error is not a terminal.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from .imports import import_cleanly

Item = TypeVar("Item")
_BAR_DELAY = 2.0  # seconds before a bar is drawn
_spinner: ContextVar[Any] = ContextVar("the spinner that a bar replaces", default=None)


@contextmanager
def working(description: str) -> Iterator[None]:
    """Show a spinner while the block runs. A progress bar inside the block replaces it."""
    if not sys.stderr.isatty():
        yield
        return
    import_cleanly("rich.console")
    from rich.console import Console

    with Console(stderr=True).status(f"{description} ...") as spinner:
        token = _spinner.set(spinner)
        try:
            yield
        finally:
            _spinner.reset(token)


@contextmanager
def step(description: str) -> Iterator[None]:
    """Show the name of a step next to the spinner of `working`, if there is a spinner.

    It can also be used as a decorator: `@step("Choosing terms")`.
    """
    spinner = _spinner.get()
    if spinner is None:
        yield
        return
    previous = spinner.status
    spinner.update(f"{description} ...")
    try:
        yield
    finally:
        spinner.update(previous)


@contextmanager
def progress(description: str, total: float | None) -> Iterator[Callable[[float, str], None]]:
    """Yield a function that draws a bar. It takes the amount of work done and a remark."""
    started = time.monotonic()
    shown: list[tuple[Any, Any]] = []

    def show(done: float, remark: str = "") -> None:
        if not shown and sys.stderr.isatty() and time.monotonic() - started > _BAR_DELAY:
            import_cleanly("rich.progress")
            from rich.console import Console
            from rich.progress import Progress

            if (spinner := _spinner.get()) is not None:
                spinner.stop()
            bar = Progress(console=Console(stderr=True), transient=True)
            bar.start()
            shown.append((bar, bar.add_task(description, total=total)))
        for bar, task in shown:
            bar.update(task, completed=done, description=f"{description} {remark}".rstrip())

    try:
        yield show
    finally:
        for bar, _ in shown:
            bar.stop()
            if (spinner := _spinner.get()) is not None:
                spinner.start()


def track(items: Iterable[Item], description: str) -> Iterator[Item]:
    """Yield the items, with a progress bar."""
    total = len(items) if isinstance(items, Sized) else None
    with progress(description, total) as show:
        for done, item in enumerate(items):
            show(done, "")
            yield item
