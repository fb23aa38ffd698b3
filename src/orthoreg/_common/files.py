"""Files: atomic writes, path patterns, and remote stores through fsspec."""

import glob
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import IO, Any

from .errors import DataError, InputError, ModelFileError, missing_extra

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

File = Path | str
"""The path of a local file, or the address of a remote one."""


def existing_model(path: str | os.PathLike[str]) -> Path:
    """Return the path of a model file. Raise an error if the file does not exist."""
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
    """Open a temporary file next to `path`, and rename it to `path` at the end.

    If an error occurs, an existing file is unchanged and the temporary file is deleted. Temporary
    files for `path` that killed processes left behind are deleted as well.
    """
    target = Path(path).resolve()  # a link remains a link
    if not target.parent.is_dir():
        raise InputError(
            f"The folder '{target.parent}' for the file '{target.name}' does not exist."
        )
    _remove_abandoned(target)
    try:
        with _temporary(target) as (stream, temporary):
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            os.replace(temporary, target)
    except OSError as error:
        if error.errno is not None and error.filename is None:  # an error such as a full disk
            error.filename = str(target)
        raise


@contextmanager
def _temporary(target: Path) -> Iterator[tuple[IO[bytes], Path]]:
    """Yield a new file, locked while it is open, and its path. It is deleted at the end."""
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with open(temporary, "xb") as stream:
            if _locked(stream) and not temporary.exists():
                # another writer deleted it before it was locked
                with _temporary(target) as replacement:
                    yield replacement
            else:
                yield stream, temporary
    finally:
        temporary.unlink(missing_ok=True)


def _locked(stream: IO[bytes]) -> bool:
    """Lock a file until it is closed or its process is killed.

    Return False if locks are not available.
    """
    if fcntl is None:
        return False
    try:
        fcntl.flock(stream, fcntl.LOCK_EX)
    except OSError:  # a file system without locks
        return False
    return True


def _remove_abandoned(target: Path) -> None:
    """Delete the temporary files for `target` that no process has open."""
    name = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{8}}\.part")
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            if name.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError):  # skip a file that is locked or already deleted
                    _remove_unlocked(entry.path)


def _remove_unlocked(path: str) -> None:
    if fcntl is None:
        os.unlink(path)  # Windows refuses to delete an open file
        return
    with open(path, "rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)


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
    """Return the files of a `pyarrow.dataset.Dataset`, or [] for any other object."""
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
    """Return the path of a file. Raise an error if the file does not exist."""
    if is_address(path):
        return _addresses(path)[0]
    file = Path(path)
    if not file.is_file():
        raise DataError(
            f"'{path}' is a folder; pass a table in it, or all tables as '{file / '*.csv'}'."
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
    """Yield a local path to a file. Remote files are copied to a temporary folder."""
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
