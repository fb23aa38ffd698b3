"""Cases that use a fitted model and the command line."""

import math
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import orthoreg as og

from ..flows import dataset, incomplete
from ._case import Case, Peer, Work
from ._data import _kept, table

_TIMES = np.linspace(0, 10, 101)
_RTOL = 1e-8


@lru_cache
def _model() -> og.OrthoReg:
    """Return the model of the complete pendulum, with three terms and no residual."""
    return og.OrthoReg().fit(dataset(20, 200))


@lru_cache
def _hybrid() -> og.OrthoReg:
    return og.OrthoReg().fit(dataset(20, 200, incomplete))


@lru_cache
def _pysindy() -> Any:
    import pysindy

    data = dataset(20, 200)
    library = pysindy.PolynomialLibrary(degree=2) + pysindy.FourierLibrary(n_frequencies=1)
    model = pysindy.SINDy(optimizer=pysindy.STLSQ(threshold=0.045), feature_library=library)
    return model.fit([run.states for run in data], t=float(data.times[1] - data.times[0]))


def _predict(peers: bool, rows: int, hybrid: bool = False) -> Work:
    model = _hybrid() if hybrid else _model()
    x = np.random.default_rng(0).uniform(-1, 1, (rows, 2))
    work = {"call": 4.0} if rows == 1 else {"sine": 1.0 * rows, "copy": 32.0 * rows}
    if hybrid and rows > 1:
        work = {"sine": 401.0 * rows, "gemm": 2.0 * 800 * rows}
    others = {}
    if peers:
        theirs = _pysindy()
        others = {"PySINDy": Peer(lambda: theirs.predict(x))}
    return Work(lambda: model.predict(x), work, others)


def _simulate(peers: bool, starts: int) -> Work:
    model = _model()
    x0 = np.random.default_rng(1).uniform(-1.5, 1.5, (starts, 2))
    few = x0[:20]
    others = {}
    if peers:
        from scipy.integrate import solve_ivp

        b, c = _force(model)

        def slope(t: float, x: Any) -> Any:
            return (x[1], b * x[1] + c * math.sin(x[0]))

        def loop() -> Any:
            return [
                solve_ivp(slope, (0, 10), x, t_eval=_TIMES, rtol=_RTOL, atol=_RTOL) for x in few
            ]

        others = {"a loop of SciPy's solve_ivp": Peer(loop, starts / len(few))}
    given = x0[0] if starts == 1 else x0
    return Work(lambda: model.simulate(given, _TIMES), {}, others)


def _force(model: og.OrthoReg) -> tuple[float, float]:
    """Return the coefficients of the velocity and of the sine in its equation."""
    found = dict(zip(model.feature_names_, model.coefficients_[1], strict=True))
    return float(found["x1"]), float(found["sin(x0)"])


def _save_and_load(peers: bool) -> Work:
    model = _hybrid()
    folder = tempfile.TemporaryDirectory()
    _kept.append(folder)
    file = Path(folder.name) / "model.orthoreg"

    def both() -> Any:
        model.save(file)
        return og.load(file)

    return Work(both)


def _command(peers: bool, arguments: Sequence[str]) -> Work:
    command = [sys.executable, *arguments]
    return Work(lambda: subprocess.run(command, check=True, capture_output=True))


def _fit_command(peers: bool, count: int, rows: int) -> Work:
    file = table(count, rows)
    out = str(file.parent / "out")
    columns = ["--time", "t", "--states", "theta,omega", "--group", "run"]
    return _command(peers, ["-m", "orthoreg", "fit", str(file), *columns, "--out", out])


CASES = (
    Case("using", "predict, 1 row", partial(_predict, rows=1)),
    Case("using", "predict, 1 row, 400 random features", partial(_predict, rows=1, hybrid=True)),
    Case("using", "predict, 1,000,000 rows", partial(_predict, rows=1_000_000), 1e6, "row"),
    Case("using", "predict, 100,000 rows, 400 random features",
         partial(_predict, rows=100_000, hybrid=True), 1e5, "row"),
    Case("using", "simulate, 1 start", partial(_simulate, starts=1), yardstick="call"),
    Case("using", "simulate, 10,000 starts", partial(_simulate, starts=10_000), 1e4, "start",
         "sine"),
    Case("using", "save and load a model", _save_and_load, yardstick="call"),
    Case("commands", "import orthoreg", partial(_command, arguments=["-c", "import orthoreg"]),
         yardstick="start"),
    Case("commands", "orthoreg --help", partial(_command, arguments=["-m", "orthoreg", "--help"]),
         yardstick="start"),
    Case("commands", "orthoreg fit, 3 runs of 200 rows",
         partial(_fit_command, count=3, rows=200), yardstick="start", repeats=3),
    Case("commands", "orthoreg fit, 1,000 runs of 100 rows",
         partial(_fit_command, count=1000, rows=100), yardstick="start", repeats=2,
         guarded=False),
)  # fmt: skip
