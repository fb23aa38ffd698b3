"""One row of derivatives: ours, residual included, against PySINDy's, on the same library."""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import pysindy

import orthoreg as og
from orthoreg.systems import Pendulum, Split, generate


def measure(repeats: int = 15, calls: int = 400) -> dict[str, Any]:
    """Medians over repeats that alternate between the two, and their ratio."""
    data = generate(Pendulum(), Split.train, runs=100)
    ours = og.OrthoReg().fit(data)
    library = pysindy.PolynomialLibrary(degree=2) + pysindy.FourierLibrary(n_frequencies=1)
    theirs = pysindy.SINDy(optimizer=pysindy.STLSQ(threshold=0.045), feature_library=library)
    runs = [run.states for run in data]
    theirs.fit(runs, t=data.times[1] - data.times[0])
    row = data.states[:1].copy()
    pairs = [
        (
            _microseconds(lambda: ours.predict(row), calls),
            _microseconds(lambda: theirs.predict(row), max(calls // 10, 10)),
        )
        for _ in range(repeats)
    ]
    return {
        "orthoreg_us": median(a for a, _ in pairs),
        "pysindy_us": median(b for _, b in pairs),
        "ratio": median(b / a for a, b in pairs),
        "pysindy": pysindy.__version__,
        "rows": int(np.shape(row)[0]),
    }


def _microseconds(call: Callable[[], Any], calls: int) -> float:
    call()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls * 1e6


def render(record: dict[str, Any]) -> str:
    return (
        "## Prediction of one row\n\n"
        "| | microseconds |\n|---|---|\n"
        f"| orthoreg, 10 terms and 400 random features | {record['orthoreg_us']:.0f} |\n"
        f"| PySINDy {record['pysindy']}, 10 terms | {record['pysindy_us']:.0f} |\n"
        f"| ratio | {record['ratio']:.1f} |\n"
    )
