"""Damaged tables, tables that unpack to a large size, and extreme numbers and times are refused
before they take much memory."""

import bz2
import gzip
import io
import lzma
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pyarrow
import pytest
from pyarrow import feather, parquet
from small_table import CSV, written

from orthoreg import DataError, read_table

ROWS = "".join(f"{k},{k % 7},{k % 5}\n" for k in range(2000))
TEXT = f"t,x,v\n{ROWS}".encode()


def zstd(content):
    return pyarrow.compress(content, "zstd", asbytes=True)


def zipped(content):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("runs.csv", content)
    return stream.getvalue()


PACKERS = {
    "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd, "zip": zipped,
}  # fmt: skip


def with_noise(content):
    middle = len(content) // 2
    return content[:middle] + bytes(255 - byte for byte in content[middle : middle + 60]) + (
        content[middle + 60 :]
    )  # fmt: skip


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("damage", [lambda c: c[: len(c) // 2], with_noise, lambda c: c[:12]])
def test_damaged_compressed_tables_are_refused(tmp_path, kind, damage):
    path = written(tmp_path, damage(PACKERS[kind](TEXT)), f"runs.csv.{kind}")
    with pytest.raises(DataError, match=r"runs.csv.* is a damaged|is empty|has no rows|field"):
        read_table(path, "t", ["x", "v"])


def columnar(kind):
    table = pyarrow.table({"t": np.arange(300.0), "x": np.arange(300) % 7.0})
    stream = io.BytesIO()
    if kind == "parquet":
        parquet.write_table(table, stream, compression="zstd")
    elif kind == "feather":
        feather.write_feather(table, stream)
    elif kind == "arrow":
        with pyarrow.ipc.new_stream(stream, table.schema) as writer:
            writer.write_table(table)
    else:
        table.to_pandas().to_excel(stream, index=False)
    return stream.getvalue()


@pytest.mark.parametrize("kind", ["parquet", "feather", "arrow", "xlsx"])
@pytest.mark.parametrize("damage", [lambda c: c[: len(c) // 2], lambda c: with_noise(c)[:-30]])
@pytest.mark.parametrize("chunks", [None, 100])
def test_damaged_binary_tables_are_refused(tmp_path, kind, damage, chunks):
    path = written(tmp_path, damage(columnar(kind)), f"runs.{kind}")
    with pytest.raises(DataError, match=f"runs.{kind}"):
        read_table(path, "t", ["x"], chunks=chunks)


@pytest.mark.parametrize(
    "entry",
    [
        b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><x>&b;</x>',
        b"<worksheet><sheetData><row><c><v>", b"", b"<worksheet/>",
    ],
)  # fmt: skip
def test_workbooks_with_invalid_sheets_are_refused(tmp_path, entry):
    path = tmp_path / "runs.xlsx"
    with (
        zipfile.ZipFile(io.BytesIO(columnar("xlsx"))) as source,
        zipfile.ZipFile(path, "w") as target,
    ):
        for name in source.namelist():
            target.writestr(name, entry if "sheet1" in name else source.read(name))
    with pytest.raises(DataError, match="runs.xlsx"):
        read_table(path, "t", ["x"])


MIB = 1 << 20


def bomb(kind, text):
    """A file that unpacks to 100 MiB of a repeated text."""
    block = text * (MIB // len(text))
    if kind == "zip":
        return zipped(b"t,x,v\n" + block * 100)
    if kind == "xlsx":
        stream = io.BytesIO()
        with (
            zipfile.ZipFile(io.BytesIO(columnar("xlsx"))) as source,
            zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as target,
        ):
            for name in source.namelist():
                padding = block * 100 if "sheet1" in name else b""
                target.writestr(name, source.read(name) + padding)
        return stream.getvalue()
    return PACKERS[kind](b"t,x,v\n") + PACKERS[kind](block) * 100


READ = """
import resource, sys
from orthoreg import DataError, read_table

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

read_table(sys.argv[1], "t", ["x"])
before = peak()
try:
    read_table(sys.argv[2], "t", ["x", "v"])
    print("none", 0)
except DataError as error:
    assert "runs" in str(error), error
    print(type(error).__name__, peak() - before)
"""


@pytest.mark.parametrize("kind", [*PACKERS, "xlsx"])
@pytest.mark.parametrize("text", [b"\0", b"\n", b" "])
def test_tables_that_unpack_to_a_large_size_are_refused(tmp_path, kind, text):
    path = written(tmp_path, bomb(kind, text), f"runs.{'csv.' * (kind != 'xlsx')}{kind}")
    small = written(tmp_path, CSV, "small.csv")
    # in a separate process, because the peak of memory is that of the process
    result = subprocess.run(
        [sys.executable, "-c", READ, str(small), str(path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    name, growth = result.stdout.split()
    assert name == "DataError" and int(growth) < 200 * MIB


def test_constant_columns_of_very_many_rows_are_refused(tmp_path):
    n_rows = 4_000_000  # in 4 kB; as numbers 64 MB, in three columns 96 MB
    column = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array(np.zeros(n_rows, dtype=np.int8)), pyarrow.array([1.0])
    )
    path = tmp_path / "runs.parquet"
    parquet.write_table(pyarrow.table({"t": column, "x": column, "v": column}), path)
    with pytest.raises(DataError, match="unpacks to more than 64 MiB"):
        read_table(path, "t", ["x", "v"])


@pytest.mark.parametrize("encoding", ["zlib", "rot13", "base64", "hex", "utf-9"])
def test_codecs_that_are_no_encodings_are_refused(tmp_path, encoding):
    with pytest.raises(DataError, match="encoding must be known to Python"):
        read_table(written(tmp_path, CSV), "t", ["x"], encoding=encoding)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "undefined"])
def test_text_without_a_byte_order_mark_is_refused(tmp_path, encoding):
    path = written(tmp_path, CSV.encode("utf-16-le"))
    with pytest.raises(DataError, match=f"is not text in {encoding}"):
        read_table(path, "t", ["x"], encoding=encoding)


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("P99999999999W", "a duration of more than 292 years"),
        ("99999999999:00:00", "a duration of more than 292 years"),
        ("9" * 25, "t"),
    ],
)
def test_times_beyond_64_bits_are_refused(tmp_path, cell, words):
    text = f"t,x\n{cell},1\n{cell},2\n{cell},3\n"
    with pytest.raises(DataError, match=words):
        read_table(written(tmp_path, text), "t", ["x"])


def test_a_column_that_is_too_long_names_its_line(tmp_path):
    text = "t,x\n0,1\n1," + "1" * 200_000 + "\n"
    with pytest.raises(DataError, match="runs.csv, line 3 is not a row .*field larger"):
        read_table(written(tmp_path, text), "t", ["x"])
    text = "t,x\n0,1\n" + "1" * (2 << 20) + "\n"
    with pytest.raises(DataError, match="line 3 has more than 1048576 characters"):
        read_table(written(tmp_path, text), "t", ["x"])


def test_a_header_below_very_many_comments_is_not_called_empty(tmp_path):
    text = "# note\n" * 100_000 + "t,x\n0,1\n1,2\n"
    with pytest.raises(DataError, match="no header in its first 200 lines, which are blank or com"):
        read_table(written(tmp_path, text), "t", ["x"])
    with pytest.raises(DataError, match="is empty"):
        read_table(written(tmp_path, "# note\n\n"), "t", ["x"])


@pytest.mark.parametrize("text", ["\n", "# note\n"])
def test_very_many_lines_without_a_row_are_refused(tmp_path, text):
    content = "t,x\n0,1\n" + text * 300_000
    with pytest.raises(DataError, match="more than 200000 blank lines and comments above it"):
        read_table(written(tmp_path, content), "t", ["x"])


def test_comments_that_look_like_rows_are_left_out_of_large_files_too(tmp_path):
    """Arrow, which reads large files, must not read such a comment as a row."""
    rows = "".join(f"{label}{k},{k},{k % 9}\n" for k in range(150_000) for label in ("a", "%b"))
    path = written(tmp_path, "run,t,x\n" + rows)
    data = read_table(path, "t", ["x"], comment="%")
    assert data.n_samples == 150_000


def test_unplausible_long_names_are_cut_in_messages(tmp_path):
    text = ",".join(["t", "x" * 100_000]) + "\n0,1\n1,2\n"
    with pytest.raises(DataError, match="has no column 'v'") as caught:
        read_table(written(tmp_path, text), "t", ["v"])
    assert len(str(caught.value)) < 300


def test_a_workbook_without_values_in_most_cells_is_read(tmp_path):
    frame = pd.DataFrame({"t": np.arange(40.0), "x": np.arange(40) % 3.0})
    path = tmp_path / "runs.xlsx"
    frame.to_excel(path, index=False)
    assert read_table(path, "t", ["x"]).n_samples == 40


@pytest.mark.parametrize("options", [{}, {"discrete": True}, {"fill": True}])
def test_repairs_that_leave_no_piece_are_refused(options):
    table = {"t": np.array([0.0, 1.0] * 4), "x": np.arange(8.0)}
    with pytest.raises(DataError, match="every piece has fewer than 3 rows"):
        read_table(table, "t", ["x"], repair=True, **options)


def test_a_row_of_units_may_end_before_the_column_of_runs(tmp_path):
    text = "t,x,run\ns,m\n0,1,a\n1,2,a\n2,4,a\n"
    assert read_table(written(tmp_path, text), "t", ["x"], group="run").units["x"] == "m"
