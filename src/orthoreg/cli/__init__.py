"""The `orthoreg` command."""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from .._common.errors import InputError, MissingExtraError, TrainingError
from .._common.typed import printable
from ._process import ReaderGone, Stopped, safe_streams, stop_message, stoppable

_MODULES = {
    "demo": "_paper", "fit": "_fit", "evaluate": "_simulate", "generate": "_paper",
    "simulate": "_simulate", "show": "_present", "report": "_present", "adapt": "_update",
    "refine": "_update", "update": "_update", "design": "_design", "explain": "_explain",
    "export": "_present", "reproduce": "_paper",
}  # fmt: skip
"""Module of each command, in the order of the help. Only the requested module is imported."""

_READER_GONE = 141  # exit code of a Unix tool that SIGPIPE terminates: 128 + 13


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit: 0 on success, 2 on a user error, 1 on a bug in orthoreg."""
    sys.exit(run(sys.argv[1:] if arguments is None else list(arguments)))


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code. Errors are printed on standard error."""

    def command() -> Any:
        import_commands(next(iter(arguments), ""))
        from ._app import ARGUMENTS, app

        ARGUMENTS.set(tuple(arguments))
        return app(args=list(arguments) or ["--help"], prog_name="orthoreg", standalone_mode=False)

    def reword(message: str) -> str:
        from ._app import options_of
        from ._output import in_options

        return in_options(message, options_of(next(iter(arguments), "")))

    return exit_code(command, "orthoreg", reword)


def exit_code(command: Callable[[], Any], program: str, reword: Callable[[str], str] = str) -> int:
    """Run a command and return its exit code.

    Errors are printed as one sentence on standard error; `reword` is applied to messages of this
    package. If a signal stops the command, the exit code is 128 plus the signal number, as in a
    shell. If the reader of standard output has exited, nothing is printed and the exit code is that
    of SIGPIPE.
    """
    with safe_streams(), stoppable() as received:
        try:
            result = command()
            sys.stdout.flush()
            code = result if isinstance(result, int) else 0
        except ReaderGone:
            return _READER_GONE
        except (Stopped, KeyboardInterrupt, Exception) as error:
            if not received:
                return _code_of(error, program, reword)
            code = 1
        # a parser or an import may have replaced `Stopped` by another exception
        return _refuse(stop_message(received[0]), 128 + received[0]) if received else code


def _code_of(error: BaseException, program: str, reword: Callable[[str], str]) -> int:
    """Print an error and return the exit code."""
    if isinstance(error, KeyboardInterrupt):  # raised by the signal handler of a caller
        return _refuse(stop_message(signal.SIGINT), 128 + signal.SIGINT)
    if isinstance(error, InputError | MissingExtraError | TrainingError):
        return _refuse(reword(str(error)))
    if isinstance(error, MemoryError) or "failed to map segment" in str(error):  # of a library
        cause = f": {error}" if str(error) else ""
        return _refuse(
            f"There is not enough memory{cause}. Use fewer rows, terms or random features."
        )
    if isinstance(error, OSError):
        return _refuse(
            f"{error.strerror or error}: '{error.filename}'." if error.filename else f"{error}"
        )
    if hasattr(error, "format_message"):  # a usage error found by the parser
        sentence = str(getattr(error, "format_message")()).rstrip(".")  # noqa: B009
        command = getattr(getattr(error, "ctx", None), "command_path", program)
        return _refuse(f"{sentence}. See '{command} --help'.")
    if type(error).__name__ in ("Abort", "Exit"):
        return int(getattr(error, "exit_code", 1))
    if os.environ.get("ORTHOREG_DEBUG"):
        raise error
    return _refuse(
        f"orthoreg failed: {type(error).__name__}: {error} This is a bug in orthoreg; "
        f"set ORTHOREG_DEBUG=1 for the traceback and report it.",
        1,
    )


def import_commands(name: str) -> None:
    """Import the module of the command `name`, or all modules if the command is unknown."""
    modules = [_MODULES[name]] if name in _MODULES else dict.fromkeys(_MODULES.values())
    for module in modules:
        import_module(f".{module}", __name__)
    from ._app import app

    order = list(_MODULES)
    app.registered_commands.sort(
        key=lambda command: order.index(getattr(command.callback, "__name__", ""))
    )


def _refuse(sentence: str, code: int = 2) -> int:
    sys.stderr.write(f"error: {printable(' '.join(sentence.split()))}\n")
    return code
