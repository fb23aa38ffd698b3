"""A progress bar that appears only when work takes longer than two seconds."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

Item = TypeVar("Item")
_PATIENCE = 2.0  # seconds, before a bar is drawn
_sign: ContextVar[Any] = ContextVar("the moving sign that a bar replaces", default=None)


@contextmanager
def working(what: str) -> Iterator[None]:
    """A moving sign on standard error while something runs, where that is a terminal.

    A progress bar that is drawn meanwhile takes its place.
    """
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{what} ...") as sign:
        token = _sign.set(sign)
        try:
            yield
        finally:
            _sign.reset(token)


@contextmanager
def step(what: str) -> Iterator[None]:
    """Names the step that runs inside on the moving sign of `working`, if there is one.

    Also a decorator: `@step("Choosing terms")`.
    """
    sign = _sign.get()
    if sign is None:
        yield
        return
    before = sign.status
    sign.update(f"{what} ...")
    try:
        yield
    finally:
        sign.update(before)


@contextmanager
def progress(description: str, total: float | None) -> Iterator[Callable[[float, str], None]]:
    """A function that is told how much is done, and a word on how it goes.

    It draws a bar on standard error once two seconds have passed, and nothing where that is
    not a terminal.
    """
    started = time.monotonic()
    shown: list[tuple[Any, Any]] = []

    def show(done: float, word: str = "") -> None:
        if not shown and sys.stderr.isatty() and time.monotonic() - started > _PATIENCE:
            from rich.console import Console
            from rich.progress import Progress

            if (sign := _sign.get()) is not None:
                sign.stop()
            bar = Progress(console=Console(stderr=True), transient=True)
            bar.start()
            shown.append((bar, bar.add_task(description, total=total)))
        for bar, task in shown:
            bar.update(task, completed=done, description=f"{description} {word}".rstrip())

    try:
        yield show
    finally:
        for bar, _ in shown:
            bar.stop()
            if (sign := _sign.get()) is not None:
                sign.start()


def track(items: Iterable[Item], description: str) -> Iterator[Item]:
    """The items, one by one, with a progress bar."""
    total = len(items) if isinstance(items, Sized) else None
    with progress(description, total) as show:
        for done, item in enumerate(items):
            show(done, "")
            yield item
