"""Files that appear whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from .errors import InputError, ModelFileError


def existing_model(path: str | os.PathLike[str]) -> Path:
    """The model file, which must be there."""
    file = Path(path)
    if file.is_dir():
        inside = sorted(one.name for one in file.glob("*.orthoreg"))
        has = f"The models in it: {', '.join(inside)}" if inside else "There is no model in it"
        raise ModelFileError(f"'{path}' is a folder, not a model file. {has}.")
    if not file.is_file():
        raise ModelFileError(f"There is no model file '{path}'. Check the path.")
    return file


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A stream to a temporary neighbour of the file, which takes its place at the end.

    When anything fails in between, the old file stays and no trace is left.
    """
    target = Path(path).resolve()  # a link stays a link
    if not target.parent.is_dir():
        raise InputError(f"There is no folder '{target.parent}' to write '{target.name}' into.")
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with open(temporary, "xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
