"""The command that runs the paper's experiments, which are not part of the installed package."""

import os
import subprocess
import sys
from pathlib import Path

import typer

from .._common.errors import InputError
from ._app import app

_SETTINGS = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


@app.command(context_settings=_SETTINGS, options_metavar="[NAME ...] [OPTIONS]")
def reproduce(context: typer.Context) -> int:
    """Run the paper's experiments, from a clone of the repository.

    The same as `python -m paper` in the clone, with the same arguments.
    """
    repository = _repository()
    if repository is None and context.args == ["--help"]:
        typer.echo(context.get_help())
        return 0
    if repository is None:
        raise InputError(
            "The reproduction of the paper is part of the repository, not of the installed "
            "package: clone the repository and run 'orthoreg reproduce' in its folder."
        )
    paths = [str(repository / "src"), str(repository), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    # -P: another folder `paper` in the current directory is not imported
    command = [sys.executable, "-P", "-m", "paper", *context.args]
    code = subprocess.call(command, env=environment)
    return code if code >= 0 else 1


def _repository() -> Path | None:
    """The clone that this package runs from, or that the current directory is."""
    for folder in (Path(__file__).parents[3], Path.cwd()):
        if (folder / "paper" / "__main__.py").is_file() and (folder / "src/orthoreg").is_dir():
            return folder
    return None
