"""Decompress files under limits of size, detect encodings, and convert errors of file readers."""

import bz2
import copy
import gzip
import io
import lzma
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, final

from .errors import DataError, OrthoregError, missing_extra, quoted

FREE_SIZE = 1 << 26
"""Unpacked size in bytes that is always allowed. Reading it takes seconds, and a few times this
much memory."""
MAX_EXPANSION = 50
"""Maximum ratio of unpacked to packed size of larger files. It is about 10 for numbers, and 1000
for a file made to exhaust memory."""

_COMPRESSIONS = {
    b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
}  # fmt: skip
_BLOCK = 1 << 20  # bytes


def max_unpacked(packed_size: int) -> int:
    """Return the number of bytes to which a file or entry of this size may unpack."""
    return max(FREE_SIZE, MAX_EXPANSION * packed_size)


@contextmanager
def reading(source: str, kind: str) -> Iterator[None]:
    """Convert errors of another package that reads a `kind` of file to `DataError`.

    Readers raise errors of many types for damaged files. The block should contain only their calls.
    """
    try:
        yield
    except OrthoregError:
        raise
    except MemoryError:
        raise DataError(
            f"{source} needs more memory than is available, or is a damaged {kind} file."
        ) from None
    except Exception as error:
        text = " ".join(str(error).split()).rstrip(".")
        if isinstance(error, OSError) and error.errno is not None and error.strerror:
            raise DataError(f"{source} could not be read: {error.strerror}.") from None
        raise DataError(
            f"{source} is a damaged {kind} file, or a file of another type "
            f"({text or type(error).__name__})."
        ) from None


def packing(file: Path) -> str | None:
    """Return the compression of a file, detected from its first bytes, or None."""
    with open(file, "rb") as stream:
        opening = stream.read(6)
    return next((name for mark, name in _COMPRESSIONS.items() if opening.startswith(mark)), None)


@contextmanager
def unpacked(file: Path) -> Iterator[IO[bytes]]:
    """Open a file as a stream of bytes, which is decompressed while it is read, up to the allowed
    size.
    """
    with ExitStack() as stack:
        stream: Any = stack.enter_context(open(file, "rb"))
        kind = packing(file)
        if kind is not None:
            with reading(file.name, kind):
                decompressed = _decompressed(stream, kind, file.name, stack)
            limit = max_unpacked(file.stat().st_size)
            stream = io.BufferedReader(_Bounded(decompressed, file.name, kind, limit), 1 << 16)
        yield stream


def _decompressed(stream: IO[bytes], kind: str, source: str, stack: ExitStack) -> Any:
    if kind == "gzip":
        return gzip.GzipFile(fileobj=stream)
    if kind == "bzip2":
        return bz2.BZ2File(stream)
    if kind == "xz":
        return lzma.LZMAFile(stream)
    if kind == "zstd":
        return stack.enter_context(_zstd(stream))
    archive = stack.enter_context(zipfile.ZipFile(stream))
    return stack.enter_context(archive.open(_only_member(archive, source)))


def _only_member(archive: zipfile.ZipFile, source: str) -> zipfile.ZipInfo:
    members = [
        member for member in archive.infolist()
        if not member.is_dir() and not member.filename.startswith(("__MACOSX", "."))
    ]  # fmt: skip
    if len(members) != 1:
        raise DataError(
            f"{source} has {len(members)} files ({quoted(file.filename for file in members)}). "
            f"A table must be one file: unpack the archive and pass one of them, or 'folder/*.csv'."
        )
    return members[0]


def _zstd(stream: IO[bytes]) -> Any:
    try:
        from pyarrow import CompressedInputStream, PythonFile
    except ImportError:
        raise missing_extra("pyarrow", "tables", "Reading zstd") from None
    return CompressedInputStream(PythonFile(stream, mode="r"), "zstd")


def too_large(source: str, limit: int) -> DataError:
    """Return the error for a file that unpacks to more than `limit` bytes."""
    return DataError(
        f"{source} unpacks to more than {limit >> 20} MiB, which is not plausible for a table of "
        f"its size. If it is a table, unpack it first."
    )


@final
class _Bounded(io.RawIOBase):
    """A stream that raises an error if it is damaged, or unpacks to more than `limit` bytes."""

    def __init__(self, stream: Any, name: str, kind: str, limit: int):
        self._stream, self._name, self._kind = stream, name, kind
        self._limit, self._size = limit, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with reading(self._name, self._kind):
            block = self._stream.read(len(buffer))
        self._size += len(block)
        if self._size > self._limit:
            raise too_large(self._name, self._limit)
        buffer[: len(block)] = block
        return len(block)


def check_archive(file: Path, kind: str) -> None:
    """Raise an error for an archive that has damaged entries or unpacks to more than the allowed
    size.

    The sizes that the archive declares are not trusted.
    """
    limit, size = max_unpacked(file.stat().st_size), 0
    with reading(file.name, kind), zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            unlimited = copy.copy(entry)
            unlimited.file_size = limit + 1
            with archive.open(unlimited) as stream:
                while block := stream.read(_BLOCK):
                    size += len(block)
                    if size > limit:
                        raise too_large(file.name, limit)


def detect_encoding(opening: bytes, source: str) -> str:
    """Return the encoding of a text, detected from its first bytes."""
    first_text = opening.removeprefix(b"\xef\xbb\xbf").lstrip()[:14].lower()
    if first_text.startswith((b"<!doctype html", b"<html")):
        raise DataError(
            f"{source} is a web page, not a table; perhaps a page was saved instead of the file. "
            f"Download the table itself."
        )
    if first_text.startswith((b'{"', b"[{", b"[[", b'{ "')):
        raise DataError(
            f"{source} is JSON, not a table of lines. Save it as CSV; in Python, read it and pass "
            f"a dict of columns."
        )
    if opening.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if opening.startswith(b"\xef\xbb\xbf") or b"\0" not in opening:
        return "utf-8-sig"
    even, odd = opening[::2].count(0), opening[1::2].count(0)
    if max(even, odd) > 0.4 * len(opening) / 2 > 10 * min(even, odd):
        return "utf-16-le" if odd > even else "utf-16-be"
    raise DataError(
        f"{source} is not a text table: it contains binary data. Save it as CSV; if it "
        f"is text, pass encoding=..., such as 'utf-16'."
    )
