"""Files: atomic writes, patterns of paths, and stores that fsspec can read, such as s3://."""

import glob
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from .errors import DataError, InputError, ModelFileError, missing_extra

File = Path | str
"""The path of a local file, or the address of a remote one."""


def existing_model(path: str | os.PathLike[str]) -> Path:
    """Return the path of a model file; raise an error if the file does not exist."""
    file = Path(path)
    if file.is_dir():
        models = sorted(model.name for model in file.glob("*.orthoreg"))
        content = f"The models in it: {', '.join(models)}" if models else "There is no model in it"
        raise ModelFileError(f"'{path}' is a folder, not a model file. {content}.")
    if not file.is_file():
        raise ModelFileError(f"There is no model file '{path}'. Check the path.")
    return file


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a temporary file next to `path`, and move it to `path` at the end.

    If an error occurs, an existing file is unchanged and the temporary file is deleted.
    """
    target = Path(path).resolve()  # a link remains a link
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


# -- tables, local or remote -------------------------------------------------------------------


def is_address(path: Any) -> bool:
    """Return whether `path` is the address of a remote file, such as 's3://bucket/runs.parquet'."""
    return isinstance(path, str) and "://" in path


def files_of(path: Any) -> list[File]:
    """Return the files that match a path, an address or a pattern."""
    text = os.fspath(path)
    if is_address(text):
        return _addresses(text)
    if glob.has_magic(text) and not Path(text).exists():
        matches = sorted(name for name in glob.glob(text, recursive=True) if Path(name).is_file())
        if not matches:
            raise DataError(f"No file matches '{text}'. Check the path.")
        return [Path(name) for name in matches]
    return [existing(path)]


def check_existing(path: Any) -> None:
    """Raise an error if a local path or pattern matches no file. Addresses are not checked."""
    for part in path if isinstance(path, list) else [path]:
        if not is_address(part):
            files_of(part)


def arrow_files(dataset: Any) -> list[File]:
    """Return the files of a `pyarrow.dataset.Dataset`; an empty list for any other object."""
    if not hasattr(dataset, "get_fragments") or not hasattr(dataset, "files"):
        return []
    kind = getattr(dataset.filesystem, "type_name", "local")
    protocol = {"local": "", "s3": "s3://", "gcs": "gs://", "hdfs": "hdfs://"}.get(kind)
    if protocol is None:
        raise DataError(
            f"An Arrow dataset must consist of local files or of files in a store such as s3; this "
            f"one is on '{kind}'. Pass the paths of its files."
        )
    return [existing(f"{protocol}{path}") for path in dataset.files]


def existing(path: Any) -> File:
    """Return the path of a file; raise an error if the file does not exist."""
    if is_address(path):
        return _addresses(path)[0]
    file = Path(path)
    if not file.is_file():
        raise DataError(
            f"'{path}' is a folder; name a table in it, or all as '{file / '*.csv'}'."
            if file.is_dir()
            else f"There is no file '{path}'. Check the path."
        )
    return file


def name_of(file: File) -> str:
    """Return the name of a file without its folder."""
    return file.name if isinstance(file, Path) else PurePosixPath(file).name


def folder_of(file: File) -> str:
    """Return the name of the folder that contains a file."""
    return file.parent.name if isinstance(file, Path) else PurePosixPath(file).parent.name


def size_of(file: File) -> int:
    """Return the size of a file in bytes."""
    if isinstance(file, Path):
        return file.stat().st_size
    store, path = _store(file)
    return int(store.size(path) or 0)


@contextmanager
def opened(file: File) -> Iterator[IO[bytes]]:
    """Open a file as a seekable stream of bytes."""
    if isinstance(file, Path):
        with open(file, "rb") as stream:
            yield stream
        return
    store, path = _store(file)
    with store.open(path, "rb") as stream:
        yield stream


@contextmanager
def local(file: File) -> Iterator[Path]:
    """Provide a local path to a file. A remote file is copied to a temporary folder."""
    if isinstance(file, Path):
        yield file
        return
    with tempfile.TemporaryDirectory() as folder, opened(file) as stream:
        copy = Path(folder) / name_of(file)
        with open(copy, "wb") as target:
            shutil.copyfileobj(stream, target)
        yield copy


def _addresses(text: str) -> list[File]:
    store, path = _store(text)
    try:
        matches = sorted(store.glob(path)) if glob.has_magic(path) else [path]
        if not matches or not store.isfile(matches[0]):
            raise DataError(f"No file matches '{text}'. Check the address.")
    except OSError as error:
        raise DataError(f"'{text}' cannot be reached: {error}") from None
    return [store.unstrip_protocol(match) for match in matches]


def _store(address: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path in it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise missing_extra("fsspec", "dask", f"Reading '{address}'") from None
    try:
        return url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise DataError(f"'{address}' cannot be reached: {error}") from None
