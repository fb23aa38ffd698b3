"""Opens a file as a stream of bytes, unpacked, and finds out how its text is encoded."""

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, final

from ..._common.errors import DataError, missing_extra, quoted
from .._schema import Note

_PACKED = {
    b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
}  # fmt: skip
_LARGEST_RATIO = 1000  # unpacked to packed: text of numbers reaches 10, a bomb 1000 and more
_ALWAYS_FINE = 1 << 28  # unpacked bytes that no one is afraid of


def packing(file: Path) -> str | None:
    """The compression that a file begins as, whatever its name says."""
    with open(file, "rb") as stream:
        opening = stream.read(6)
    return next((name for mark, name in _PACKED.items() if opening.startswith(mark)), None)


@contextmanager
def unpacked(file: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked as they are read: never more in memory than is asked for."""
    with ExitStack() as stack:
        stream: Any = stack.enter_context(open(file, "rb"))
        kind = packing(file)
        if kind == "gzip":
            stream = gzip.GzipFile(fileobj=stream)
        elif kind == "bzip2":
            stream = bz2.BZ2File(stream)
        elif kind == "xz":
            stream = lzma.LZMAFile(stream)
        elif kind == "zstd":
            stream = stack.enter_context(_zstd(stream))
        elif kind == "zip":
            archive = stack.enter_context(zipfile.ZipFile(stream))
            stream = stack.enter_context(archive.open(_only_member(archive, file.name)))
        if kind is not None:
            stream = io.BufferedReader(_Bounded(stream, file), 1 << 16)  # type: ignore[arg-type]
        try:
            yield stream
        except (EOFError, zipfile.BadZipFile, lzma.LZMAError, gzip.BadGzipFile) as error:
            raise DataError(f"{file.name} is a damaged {kind} file ({error}).") from None


def encoding_of(opening: bytes, source: str) -> tuple[str, Note | None]:
    """The encoding of a text by how it begins, and a word on it where it is not UTF-8."""
    begin = opening.removeprefix(b"\xef\xbb\xbf").lstrip()[:14].lower()
    if begin.startswith((b"<!doctype html", b"<html")):
        raise DataError(
            f"{source} is a web page, not a table: perhaps what a browser showed was saved in its "
            f"place. Download the table itself."
        )
    if begin.startswith((b'{"', b"[{", b"[[", b'{ "')):
        raise DataError(
            f"{source} is JSON, not a table of lines. Save it as CSV; in Python, read it and pass "
            f"a dict of columns."
        )
    if opening.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16", Note("encoding", "The text is in UTF-16.")
    if opening.startswith(b"\xef\xbb\xbf") or b"\0" not in opening:
        return "utf-8-sig", None
    even, odd = opening[::2].count(0), opening[1::2].count(0)
    if max(even, odd) > 0.4 * len(opening) / 2 > 10 * min(even, odd):
        name = "utf-16-le" if odd > even else "utf-16-be"
        return name, Note("encoding", f"The text is in {name.upper()}.")
    raise DataError(
        f"{source} is not a text table: it holds bytes that no text has. Save it as CSV; if it "
        f"is text, pass encoding=..., such as 'utf-16'."
    )


def _only_member(archive: zipfile.ZipFile, source: str) -> zipfile.ZipInfo:
    members = [
        one for one in archive.infolist()
        if not one.is_dir() and not one.filename.startswith(("__MACOSX", "."))
    ]  # fmt: skip
    if len(members) != 1:
        raise DataError(
            f"{source} holds {len(members)} files ({quoted(one.filename for one in members)}); a "
            f"table is one. Unpack it and name one, or all of them as 'folder/*.csv'."
        )
    return members[0]


def _zstd(stream: IO[bytes]) -> Any:
    try:
        from pyarrow import CompressedInputStream, PythonFile
    except ImportError:
        raise missing_extra("pyarrow", "tables", "Reading zstd") from None
    return CompressedInputStream(PythonFile(stream, mode="r"), "zstd")


@final
class _Bounded(io.RawIOBase):
    """A stream that refuses to unpack a small file into an endless one."""

    def __init__(self, stream: Any, file: Path):
        self._stream, self._name = stream, file.name
        self._most = max(_ALWAYS_FINE, _LARGEST_RATIO * file.stat().st_size)
        self._read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self._stream.read(len(buffer))
        self._read += len(block)
        if self._read > self._most:
            raise DataError(
                f"{self._name} unpacks to more than {_LARGEST_RATIO} times its size, as no table "
                f"does. Unpack it yourself if it is one."
            )
        buffer[: len(block)] = block
        return len(block)
