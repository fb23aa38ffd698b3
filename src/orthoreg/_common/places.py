"""Where tables are: files of this machine, or of a store that fsspec knows, such as s3://."""

import glob
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from .errors import DataError, missing_extra

File = Path | str
"""A file of this machine, or the address of one elsewhere."""


def is_address(path: Any) -> bool:
    """Whether it is the address of a file elsewhere, such as 's3://bucket/runs.parquet'."""
    return isinstance(path, str) and "://" in path


def files_of(path: Any) -> list[File]:
    """The files that a path, an address or a pattern of either names."""
    text = os.fspath(path)
    if is_address(text):
        return _addresses(text)
    if glob.has_magic(text) and not Path(text).exists():
        found = sorted(name for name in glob.glob(text, recursive=True) if Path(name).is_file())
        if not found:
            raise DataError(f"No file is called as '{text}' says. Check the path.")
        return [Path(name) for name in found]
    return [existing(path)]


def check_existing(path: Any) -> None:
    """Refuses paths and patterns without a file; addresses are not looked up."""
    for one in path if isinstance(path, list) else [path]:
        if not is_address(one):
            files_of(one)


def arrow_files(dataset: Any) -> list[File]:
    """The files of a `pyarrow.dataset.Dataset`; none of anything else."""
    if not hasattr(dataset, "get_fragments") or not hasattr(dataset, "files"):
        return []
    kind = getattr(dataset.filesystem, "type_name", "local")
    protocol = {"local": "", "s3": "s3://", "gcs": "gs://", "hdfs": "hdfs://"}.get(kind)
    if protocol is None:
        raise DataError(
            f"An Arrow dataset must be of local files or of a store such as s3; this one is on "
            f"'{kind}'. Give the paths of its files."
        )
    return [existing(f"{protocol}{path}") for path in dataset.files]


def existing(path: Any) -> File:
    """The file, which must be there."""
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
    """The last part of its path."""
    return file.name if isinstance(file, Path) else PurePosixPath(file).name


def folder_of(file: File) -> str:
    """The name of the folder that it is in."""
    return file.parent.name if isinstance(file, Path) else PurePosixPath(file).parent.name


def size_of(file: File) -> int:
    """Its bytes."""
    if isinstance(file, Path):
        return file.stat().st_size
    store, path = _store(file)
    return int(store.size(path) or 0)


@contextmanager
def opened(file: File) -> Iterator[IO[bytes]]:
    """The file as a stream of bytes that can be sought in."""
    if isinstance(file, Path):
        with open(file, "rb") as stream:
            yield stream
        return
    store, path = _store(file)
    with store.open(path, "rb") as stream:
        yield stream


@contextmanager
def local(file: File) -> Iterator[Path]:
    """The file itself, or for as long as it is needed a copy on this machine."""
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
        found = sorted(store.glob(path)) if glob.has_magic(path) else [path]
        if not found or not all(store.isfile(one) for one in found[:1]):
            raise DataError(f"No file is called as '{text}' says. Check the address.")
    except OSError as error:
        raise DataError(f"'{text}' cannot be reached: {error}") from None
    return [store.unstrip_protocol(one) for one in found]


def _store(address: str) -> tuple[Any, str]:
    """The store of an address, and the path in it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise missing_extra("fsspec", "dask", f"Reading '{address}'") from None
    try:
        return url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise DataError(f"'{address}' cannot be reached: {error}") from None
