"""Standard streams that accept every character, and signal handlers, for the process of a command.

Streams and signal handlers are restored when the command ends.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, final

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")  # requests to stop; SIGKILL cannot be caught


@final
class ReaderGone(BaseException):
    """The program that read standard output has exited, as in `orthoreg show m.orthoreg | head -1`.

    Not an OSError, so that libraries do not report it as their own failure.
    """


@final
class Stopped(BaseException):
    """A signal has requested that the command stop.

    Not a KeyboardInterrupt: if that is raised while certain extension modules are imported, Python
    ends with SIGINT, whatever the exit code.
    """


@contextmanager
def safe_streams() -> Iterator[None]:
    """Replace standard output and standard error by streams that accept every character.

    Characters that a stream cannot encode are written as escapes, such as \\u03b8. Text to closed
    streams is discarded. Raises `ReaderGone` if the reader of standard output has exited.
    """
    originals = sys.stdout, sys.stderr
    hook = sys.excepthook  # Typer replaces it
    output, errors = _Stream(originals[0], "standard output"), _Stream(originals[1], None)
    sys.stdout, sys.stderr = output, errors  # type: ignore[assignment]
    try:
        yield
    finally:
        sys.stdout, sys.stderr = originals
        sys.excepthook = hook
        output.release()
        errors.release()


@contextmanager
def stoppable() -> Iterator[list[int]]:
    """Raise `Stopped` at the first request to stop, so that temporary files are removed.

    Yield the list of received signals. A second request ends the process immediately. Signals that
    are ignored, as under `nohup`, or handled by the caller keep their handlers.
    """
    received: list[int] = []

    def stop(number: int, _frame: Any) -> None:
        signal.signal(number, signal.SIG_DFL)
        received.append(number)
        raise Stopped

    previous: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in (getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)):
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                previous[number] = signal.signal(number, stop)
    try:
        yield received
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def stop_message(number: int) -> str:
    """Return the sentence that a command prints when a signal stops it."""
    name = signal.Signals(number).name
    return f"Stopped by {name}. Every output file is complete: either new or unchanged."


@final
class _Stream:
    """A text stream that accepts every character. Without a name, write failures are ignored."""

    def __init__(self, stream: Any, name: str | None):
        self._owned = stream is None or stream.closed  # closed by the shell, as in `>&-`
        self._stream: Any = open(os.devnull, "w", encoding="utf-8") if self._owned else stream
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._stream, attribute)

    def write(self, text: str) -> int:
        """Write text; characters that the stream cannot encode become escapes."""
        encoding = self._stream.encoding or "utf-8"
        self._attempt(
            self._stream.write, text.encode(encoding, "backslashreplace").decode(encoding)
        )
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Pass all text on to the operating system."""
        self._attempt(self._stream.flush)

    def release(self) -> None:
        """Close the stream if it was opened here."""
        if self._owned:
            self._stream.close()

    def _attempt(self, action: Any, *arguments: str) -> None:
        try:
            action(*arguments)
        except OSError as error:
            self._discard()
            if self._name is None:
                return
            if isinstance(error, BrokenPipeError):
                raise ReaderGone from None
            raise OSError(error.errno, error.strerror, self._name) from None

    def _discard(self) -> None:
        """Discard all later text, including text that Python has buffered to write on exit."""
        try:
            number = self._stream.fileno()
        except OSError:
            return
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), number)
