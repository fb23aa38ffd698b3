"""Reading CSV files of up to 1e7 rows."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.measurements._line import Line

_READ = """
import json, re, sys, time
from pathlib import Path
import orthoreg as og
og.read_table(sys.argv[2], "t", ["theta", "omega"], group="run")
start = time.process_time()
data = og.read_table(sys.argv[1], "t", ["theta", "omega"], group="run")
seconds = time.process_time() - start
status = Path("/proc/self/status").read_text()  # getrusage counts the parent's memory too
peak = 1024 * int(re.search("VmHWM:\\s+([0-9]+) kB", status)[1])
print(json.dumps([seconds, peak, data.n_samples, data.n_runs]))
"""


def reading() -> list[Line]:
    """CSV files with the columns run, t, theta and omega and runs of 1,000 rows are read, each in
    a separate process after a small file. Times are CPU seconds of all threads."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        small = _table(Path(folder) / "small.csv", 10_000)
        for rows in (1_000_000, 10_000_000):
            file = _table(Path(folder) / "runs.csv", rows)
            done = subprocess.run(
                [sys.executable, "-c", _READ, str(file), str(small)],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            seconds, peak, samples, runs = json.loads(done.stdout)
            if (samples, runs) != (rows, rows // 1000):
                sys.exit(f"error: only {samples} of {rows} rows were read, in {runs} runs.")
            what = f"{rows:.0e} rows, {file.stat().st_size / 1e6:.0f} MB"
            lines.append(Line(f"{what}: time per row", [1e6 * seconds / rows], "us"))
            lines.append(
                Line(f"{what}: peak memory of the process (the numbers take {24e-6 * rows:.0f} MB)",
                     [peak / 1e6], "MB")
            )  # fmt: skip
    return lines


def _table(file: Path, rows: int) -> Path:
    """Write a table in parts."""
    import pyarrow as pa
    from pyarrow import csv

    with file.open("wb") as out:
        out.write(b"run,t,theta,omega\n")
        for first in range(0, rows, 1_000_000):
            index = np.arange(first, min(first + 1_000_000, rows))
            run, t = index // 1000, index % 1000 * 0.01
            phase = t + 0.1 * run
            part = pa.table(
                {"run": run, "t": t, "theta": np.round(np.sin(phase), 9),
                 "omega": np.round(np.cos(phase), 9)}
            )  # fmt: skip
            csv.write_csv(part, out, csv.WriteOptions(include_header=False))
    return file
