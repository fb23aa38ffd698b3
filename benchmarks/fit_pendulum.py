"""The default fit on 1000 x 100 pendulum samples: time alone and as a command, accuracy."""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import orthoreg as og
from orthoreg.diagnostics import relative_error
from orthoreg.systems import Pendulum, Split, generate, true_derivatives


def measure() -> dict[str, Any]:
    """Wall time of the whole command with start-up, its peak memory, error on fresh runs."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "pendulum.csv"
        command = [sys.executable, "-m", "orthoreg"]
        subprocess.run(
            [*command, "generate", "pendulum", "--split", "train", "--out", str(table)],
            check=True, capture_output=True,
        )  # fmt: skip
        start = time.perf_counter()
        done = subprocess.run(
            [*command, "fit", str(table), "--time", "t", "--states", "theta,omega",
             "--group", "run", "--out", folder, "--json"],
            check=True, capture_output=True,
        )  # fmt: skip
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
        values = json.loads(done.stdout)
        model = og.load(values["model"])
        runs = generate(Pendulum(), Split.train)
        start = time.perf_counter()
        og.OrthoReg().fit(runs)
        alone = time.perf_counter() - start
        fresh = generate(Pendulum(), Split.id)
        error = relative_error(model.predict(fresh), true_derivatives(Pendulum(), Split.id, fresh))
    return {
        "samples": values["samples"],
        "seconds": seconds,
        "fit_seconds": alone,
        "peak_gib": peak,
        "error_on_fresh_runs": error,
        "equations": values["equations"],
        "overlap": max(one["overlap"] for one in values["certificate"]["equations"]),
    }


def render(record: dict[str, Any]) -> str:
    equations = "\n".join(f"    {equation}" for equation in record["equations"])
    return (
        "## `orthoreg fit` on the pendulum\n\n"
        f"{record['samples']} samples, exact solver, 400 random features. The fit estimates "
        "derivatives, chooses terms and rho, and solves; the command reads a CSV file, fits, draws "
        "the runs again, forecasts all 1000 of them and plots, start-up included.\n\n"
        "| | |\n|---|---|\n"
        f"| wall time of `OrthoReg().fit` | {record['fit_seconds']:.1f} s |\n"
        f"| wall time of `orthoreg fit` | {record['seconds']:.1f} s |\n"
        f"| peak memory | {record['peak_gib']:.2f} GiB |\n"
        f"| relative derivative error on 200 fresh runs | {record['error_on_fresh_runs']:.1e} |\n"
        f"| largest overlap of residual and terms | {record['overlap']:.1e} |\n\n"
        f"{equations}\n"
    )
