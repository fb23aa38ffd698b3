"""Tables: text with random changes, damaged files, and files that unpack to a large size."""

import bz2
import functools
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from torture._attack import attack
from torture._mutation import damaged, mutated

ROWS = 30
_CELLS = (
    "nan", "inf", "-inf", "1e999", "1e-400", "1_0", "", " ", "NA", "1,5", "1.5", "0x10", "٣", "1e5",
    "2024-01-01", "2024-02-31", "0000-00-00", "9999-12-31T23:59:60", "12:61:99", "99999999:00:00",
    "P99999999999W", "PT1e9S", "1" * 30, "-", "=1+1", "<b>", "\x00", "\u2212" + "1", "1" * 5000,
    "9223372036854775807", "170000000000000000000", "2024-01-01T00:00:00+99:99", "01/02/2024",
)  # fmt: skip
_ENCODINGS = (
    "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "cp1252",
    "shift-jis", "utf-7",
)  # fmt: skip
_READ_AS = (
    None, None, None, "utf-8", "utf-16", "utf-16-le", "utf-32", "latin-1", "ascii", "idna", "zlib",
    "rot13", "base64", "hex", "undefined", "utf-7", "unicode_escape", "punycode", "mbcs", "nope",
)  # fmt: skip


def times(rng: np.random.Generator) -> list[str]:
    """Return times as numbers, dates, clock times, durations or counts."""
    steps = np.arange(ROWS)
    match rng.integers(10):
        case 0:
            return [f"{0.1 * step:.3f}" for step in steps]
        case 7:  # times that start again
            return [f"{step % rng.integers(1, 9)}" for step in steps]
        case 8:  # gaps
            return [f"{step + 1000 * (step // rng.integers(1, 9))}" for step in steps]
        case 9:
            return [f"{value:.6g}" for value in rng.choice([0.0, 1.0, 1e300, 1e-300], ROWS)]
        case 1:
            return [f"2024-03-01T12:{step:02}:00" for step in steps]
        case 2:
            return [f"23:59:{step:02}.5" for step in steps]
        case 3:
            return [f"PT{step}H{step}M1.5S" for step in steps]
        case 4:
            return [f"{1_700_000_000_000_000_000 + 10**9 * step}" for step in steps]
        case 5:
            return [f"{step + 1}.03.2024 10:00" for step in steps]
        case _:
            return [f"{1_700_000_000 + step}" for step in steps]


def table_text(rng: np.random.Generator) -> str:
    """Return a table with times, two states and a run, in a random dialect."""
    delimiter = str(rng.choice([",", ";", "\t", "|", " "]))
    values = rng.normal(size=(ROWS, 2))
    decimal = "," if delimiter == ";" and rng.random() < 0.5 else "."
    rows = [
        [time, *(f"{value:.4f}".replace(".", decimal) for value in row), "ab"[step >= ROWS // 2]]
        for step, (time, row) in enumerate(zip(times(rng), values, strict=True))
    ]
    for _ in range(rng.integers(0, 4) if rng.random() < 0.5 else 0):
        rows[rng.integers(ROWS)][rng.integers(4)] = str(rng.choice(_CELLS))
    header = [["t", "x", "v", "run"], ["t [s]", "x (m)", "v / m", "run"]][rng.integers(2)]
    lines = [delimiter.join(cells) for cells in [header, *rows]]
    if rng.random() < 0.2:
        lines.insert(int(rng.integers(len(lines))), str(rng.choice(["# note", "", "% x", '"'])))
    return str(rng.choice(["\n", "\r\n", "\r"])).join(lines) + "\n"


def options(rng: np.random.Generator) -> dict[str, Any]:
    """Return random options of `read_table`."""
    choices: dict[str, tuple[Any, ...]] = {
        "group": (None, "run"),
        "encoding": _READ_AS,
        "repair": (False, True),
        "fill": (False, True),
        "decimal": (None, ".", ","),
        "delimiter": (None, ",", ";", "\t", "x", "\u00e9"),
        "comment": (None, "#", "1"),
        "missing": ((), "NA", ["-999", "1"]),
        "date_format": (None, None, "%Y", "%d.%m.%Y %H:%M", "%", "%Q", "%z"),
        "time_unit": (None, "h", "ns"),
        "gap": (10.0, 1.5),
        "discrete": (False, True),
        "chunks": (None, 100, True),
        "long": (None, ("x", "v"), ("run", "x")),
    }
    chosen = rng.choice(list(choices), rng.integers(0, 4), replace=False)
    return {name: choices[name][rng.integers(len(choices[name]))] for name in chosen.tolist()}


def read(file: Path, rng: np.random.Generator, **more: Any) -> None:
    """Read a file with random roles for its columns, and with the fast reader in half of
    the cases."""
    import orthoreg
    from orthoreg.data.tables import _text

    large = _text.LARGE
    _text.LARGE = 0 if rng.random() < 0.5 else large
    try:
        if rng.random() < 0.2:
            orthoreg.read_table(file, "t", positions=["x"], **more)
        else:
            orthoreg.read_table(file, "t", ["x", "v"][: rng.integers(1, 3)], **more)
    finally:
        _text.LARGE = large


@attack("fuzz", trials=25_000)
def csv_text(rng: np.random.Generator, folder: Path) -> None:
    """A text table with random cells, changes, encoding and options is read or refused."""
    text = mutated(table_text(rng), rng)
    encoding = str(rng.choice(_ENCODINGS)) if rng.random() < 0.3 else "utf-8"
    file = folder / "runs.csv"
    file.write_bytes(text.encode(encoding, "surrogatepass" if "utf" in encoding else "replace"))
    read(file, rng, **(options(rng) if rng.random() < 0.7 else {}))


@attack("fuzz", trials=8_000)
def csv_bytes(rng: np.random.Generator, folder: Path) -> None:
    """A text table with random bytes, compressed or not, is read or refused."""
    kind = str(rng.choice(list(PACKED)))
    content = table_text(rng).encode()
    content = damaged(content, rng) if rng.random() < 0.5 else content
    file = folder / f"runs.csv{kind}"
    packed = PACKED[kind](content)
    file.write_bytes(damaged(packed, rng) if rng.random() < 0.8 else packed)
    read(file, rng)


def _zipped(content: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("runs.csv", content)
    return stream.getvalue()


def _zstd(content: bytes) -> bytes:
    import pyarrow

    return bytes(pyarrow.compress(content, "zstd", asbytes=True))


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": _zstd,
    ".zip": _zipped,
}  # fmt: skip


@functools.cache
def binary_tables() -> dict[str, bytes]:
    """Return the same table in each binary format."""
    import pandas
    import pyarrow
    from pyarrow import feather, parquet

    frame = pandas.DataFrame(
        {"t": 0.1 * np.arange(ROWS), "x": np.arange(ROWS) % 7.0, "v": 1.0, "run": "a"}
    )
    table = pyarrow.Table.from_pandas(frame)
    streams = {name: io.BytesIO() for name in ("parquet", "feather", "arrow", "xlsx")}
    parquet.write_table(table, streams["parquet"], compression="zstd")
    feather.write_feather(table, streams["feather"])
    with pyarrow.ipc.new_stream(streams["arrow"], table.schema) as writer:
        writer.write_table(table)
    frame.to_excel(streams["xlsx"], index=False)
    return {name: stream.getvalue() for name, stream in streams.items()}


@attack("fuzz", trials=8_000, prepare=binary_tables)
def binary_files(rng: np.random.Generator, folder: Path) -> None:
    """A Parquet, Feather, Arrow or Excel file with random bytes is read or refused."""
    suffix, content = list(binary_tables().items())[rng.integers(4)]
    if suffix == "xlsx" and rng.random() < 0.7:
        content = _with_damaged_entry(content, rng)
    else:
        content = damaged(content, rng)
    file = folder / f"runs.{suffix}"
    file.write_bytes(content)
    chunks = {"chunks": 100} if rng.random() < 0.2 else {}
    read(file, rng, **chunks)


def _with_damaged_entry(content: bytes, rng: np.random.Generator) -> bytes:
    """Return a workbook with changes in one of its files."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(stream, "w") as target:
        names = source.namelist()
        chosen = names[rng.integers(len(names))]
        for name in names:
            entry = source.read(name)
            if name == chosen:
                entry = mutated(entry.decode(errors="replace"), rng).encode(errors="replace")
                if rng.random() < 0.1:
                    declared = b'<!DOCTYPE x [<!ENTITY a "b">]>'
                    entry = entry.replace(b"?>", b"?>" + declared, 1)
            target.writestr(name, entry)
    return stream.getvalue()


_TEXTS = (b"\x00", b"\n", b"1,2,3\n", b" ", b"#\n", b'"', b",", b"1,2,3,4\n", b"\r")
_BLOCK = 1 << 20  # bytes of text, repeated
_COUNT = 100  # blocks


@functools.cache
def bombs() -> dict[str, bytes]:
    """Return small files that unpack to hundreds of megabytes, by name."""
    files = {}
    for i, text in enumerate(_TEXTS):
        block = text * (_BLOCK // len(text))
        for name, pack in PACKED.items():
            if name not in ("", ".zip"):  # compressed parts may be concatenated
                files[f"{i}.csv{name}"] = pack(b"t,x,v\n") + pack(block) * _COUNT
        files[f"{i}.csv.zip"] = _zip_of({"runs.csv": (b"t,x,v\n", block, b"")})
    with zipfile.ZipFile(io.BytesIO(binary_tables()["xlsx"])) as source:
        entries = {name: source.read(name) for name in source.namelist()}
    for name in ("xl/worksheets/sheet1.xml", "xl/styles.xml", "[Content_Types].xml"):
        content = entries[name]
        head, mark, tail = content.partition(b"</sheetData>")
        blocks = {key: (value, b"", b"") for key, value in entries.items()}
        files[f"{name.replace('/', '-')}.xlsx"] = _zip_of(
            blocks | {name: (head, b" " * _BLOCK, mark + tail)}
        )
    corner = dict(entries)
    for old, new in ((b'r="A31"', b'r="XFD1048576"'), (b'r="31"', b'r="1048576"')):
        corner = {name: content.replace(old, new) for name, content in corner.items()}
    files["corner.xlsx"] = _zip_of({name: (part, b"", b"") for name, part in corner.items()})
    files["runs.parquet"] = _constant_columns()
    return files


def _zip_of(parts: dict[str, tuple[bytes, bytes, bytes]]) -> bytes:
    """Return an archive of files that consist of a head, many blocks, and a tail."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, (head, block, tail) in parts.items():
            with archive.open(name, "w", force_zip64=True) as entry:
                entry.write(head)
                for _ in range(_COUNT if block else 0):
                    entry.write(block)
                entry.write(tail)
    return stream.getvalue()


def _constant_columns() -> bytes:
    import pyarrow
    from pyarrow import parquet

    stream = io.BytesIO()
    column = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array(np.zeros(50_000_000, dtype=np.int8)), pyarrow.array([1.0])
    )
    table = pyarrow.table({"t": column, "x": column, "v": column})
    parquet.write_table(table, stream, compression="zstd")
    return stream.getvalue()


@attack("hostile", trials=150, prepare=bombs)
def table_bombs(rng: np.random.Generator, folder: Path) -> None:
    """A small file that unpacks to a large size is refused before it takes memory or time."""
    names = list(bombs())
    name = names[rng.integers(len(names))]
    (folder / name).write_bytes(bombs()[name])
    read(folder / name, rng)
