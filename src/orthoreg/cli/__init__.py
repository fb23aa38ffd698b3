"""The `orthoreg` command."""

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from .._common.errors import InputError, MissingExtraError, TrainingError

_MODULES = {
    "demo": "_paper", "fit": "_fit", "evaluate": "_simulate", "generate": "_paper",
    "simulate": "_simulate", "show": "_present", "report": "_present", "adapt": "_update",
    "refine": "_update", "explain": "_explain", "export": "_present", "reproduce": "_paper",
}  # fmt: skip
"""Module of each command, in the order of the help. Only the requested module is imported."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit: 0 on success, 2 on a user error, 1 on a bug in orthoreg."""
    sys.exit(run(sys.argv[1:] if arguments is None else list(arguments)))


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code. Errors are printed on standard error."""
    import_commands(next(iter(arguments), ""))
    from ._app import ARGUMENTS, app, options_of
    from ._output import in_options

    ARGUMENTS.set(tuple(arguments))
    return exit_code(
        app,
        list(arguments) or ["--help"],
        "orthoreg",
        lambda message: in_options(message, options_of(arguments[0])),
    )


def exit_code(
    app: Any, arguments: Sequence[str], program: str, reword: Callable[[str], str] = str
) -> int:
    """Run a Typer application and return its exit code.

    An error is printed as one sentence on standard error. `reword` is applied to messages of this
    package.
    """
    try:
        result = app(args=list(arguments), prog_name=program, standalone_mode=False)
        return result if isinstance(result, int) else 0
    except (InputError, MissingExtraError, TrainingError) as error:
        return _refuse(reword(str(error)))
    except MemoryError as error:
        return _refuse(
            f"There is not enough memory: {error}. Use fewer rows, terms or random features."
        )
    except OSError as error:
        return _refuse(
            f"{error.strerror or error}: '{error.filename}'." if error.filename else f"{error}"
        )
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if hasattr(error, "format_message"):  # a usage error found by the parser
            sentence = str(getattr(error, "format_message")()).rstrip(".")  # noqa: B009
            command = getattr(getattr(error, "ctx", None), "command_path", program)
            return _refuse(f"{sentence}. See '{command} --help'.")
        if type(error).__name__ in ("Abort", "Exit"):
            return int(getattr(error, "exit_code", 1))
        if os.environ.get("ORTHOREG_DEBUG"):
            raise
        _refuse(
            f"orthoreg failed: {type(error).__name__}: {error} This is a bug in orthoreg; "
            f"set ORTHOREG_DEBUG=1 for the traceback and report it."
        )
        return 1


def import_commands(name: str) -> None:
    """Import the module of a command, or all modules if the command is unknown."""
    modules = [_MODULES[name]] if name in _MODULES else dict.fromkeys(_MODULES.values())
    for module in modules:
        import_module(f".{module}", __name__)
    from ._app import app

    order = list(_MODULES)
    app.registered_commands.sort(
        key=lambda command: order.index(getattr(command.callback, "__name__", ""))
    )


def _refuse(sentence: str) -> int:
    sys.stderr.write(f"error: {' '.join(sentence.split())}\n")
    return 2
