"""Cases from a file to moments."""

import tempfile
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import orthoreg as og
from orthoreg.data import Rows
from orthoreg.solving import gather, no_basis
from orthoreg.terms import FeatureMap, bind

from ..flows import dataset, pendulum, runs, write_table
from ._case import Case, Peer, Work

_LIBRARY = og.Polynomial(2) + og.Fourier(1)
_WIDTH = 400
_kept: list[Any] = []  # temporary folders, until the process ends


@lru_cache
def table(count: int, rows: int) -> Path:
    folder = tempfile.TemporaryDirectory()
    _kept.append(folder)
    file = Path(folder.name) / "runs.csv"
    write_table(file, count, rows)
    return file


def _loading(peers: bool) -> Work:
    file = table(1000, 100)
    others = {}
    if peers:
        import pandas

        others = {"pandas.read_csv": Peer(lambda: pandas.read_csv(file))}
    return Work(
        lambda: og.read_table(file, time="t", states=["theta", "omega"], group="run"),
        {"copy": 2.0 * file.stat().st_size},
        others,
    )


def _differentiation(peers: bool) -> Work:
    data = dataset(1000, 100)
    rule = og.SmoothedFiniteDifference()
    others = {}
    if peers:
        import pysindy

        smoother = pysindy.SmoothedFiniteDifference(
            smoother_kws={"window_length": 5, "polyorder": 3}
        )
        few = [run.states for run in data[:100]]
        step = float(data.times[1] - data.times[0])
        others = {"PySINDy": Peer(lambda: [smoother._differentiate(x, step) for x in few], 10.0)}
    return Work(lambda: rule.slopes(data), {"copy": 2.0 * data.states.nbytes}, others)


def _weak_rows(peers: bool) -> Work:
    data = dataset(100, 1000)
    loss = og.Weak(widths=0.5)
    return Work(lambda: loss.observe(data), {"copy": 2.0 * data.states.nbytes})


def _features() -> FeatureMap:
    return bind(_LIBRARY, ("x0", "x1"), ("x0", "x1"))


def _library(peers: bool) -> Work:
    x = np.random.default_rng(0).uniform(-2, 2, (100_000, 2))
    features = _features()
    blocks = np.split(x, range(4096, len(x), 4096))
    others = {}
    if peers:
        import pysindy

        library = pysindy.PolynomialLibrary(degree=2) + pysindy.FourierLibrary(n_frequencies=1)
        library.fit([x])
        others = {"PySINDy": Peer(lambda: library.transform([x]))}
    return Work(lambda: [features(block) for block in blocks], {"sine": 4.0 * len(x)}, others)


def _rows(count: int) -> Rows:
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-2, 2, (count, 2)), rng.normal(size=(count, 2))
    return Rows(x, y, np.zeros(count, dtype=int), np.zeros(2), ("x0", "x1"), ("x0", "x1"))


def _moments_of_terms(peers: bool) -> Work:
    rows, features = _rows(1_000_000), _features()
    width = len(features.terms) + 2
    work = {"sine": 4.0 * len(rows), "gemm": 1.0 * width**2 * len(rows), "copy": 32.0 * len(rows)}
    others = {}
    if peers:

        def whole() -> Any:
            phi = features(rows.points)
            return phi.T @ phi, phi.T @ rows.targets

        others = {"NumPy, the whole matrix at once": Peer(whole)}
    return Work(lambda: gather(features, no_basis, rows), work, others)


def _moments_of_network(peers: bool) -> Work:
    rows, features = _rows(100_000), _features()
    basis = og.RandomFeatures(_WIDTH).init(np.zeros(2), np.ones(2), rng=np.random.default_rng(0))
    width = len(features.terms) + _WIDTH + 3
    # a symmetric product takes half of the operations; tanh costs about as much as a sine
    work = {"sine": (4.0 + _WIDTH) * len(rows), "gemm": 1.0 * width**2 * len(rows)}
    return Work(lambda: gather(features, basis, rows), work)


def _stlsq(peers: bool, count: int) -> Work:
    data = dataset(count, 100)
    model = og.STLSQ(loss=og.VectorField(og.SmoothedFiniteDifference()))
    n = data.n_samples
    work = {"sine": 4.0 * n, "gemm": 144.0 * n, "copy": 96.0 * n}
    others: dict[str, Peer] = {}
    checked: Callable[[], dict[str, float]] | None = None
    if peers:
        import pysindy

        states, times = runs(count, 100, pendulum)
        library = pysindy.PolynomialLibrary(degree=2) + pysindy.FourierLibrary(n_frequencies=1)
        theirs = pysindy.SINDy(
            optimizer=pysindy.STLSQ(threshold=0.045),
            feature_library=library,
            differentiation_method=pysindy.SmoothedFiniteDifference(
                smoother_kws={"window_length": 5, "polyorder": 3}, save_smooth=False
            ),
        )
        others = {"PySINDy": Peer(lambda: theirs.fit(states, t=times[1] - times[0]))}

        def agreement() -> dict[str, float]:
            a, b = np.sort(model.coefficients_, axis=1), np.sort(theirs.coefficients(), axis=1)
            return {
                "different number of terms": float(abs((a != 0).sum() - (b != 0).sum())),
                "largest difference of coefficients": float(np.abs(a - b).max()),
            }

        checked = agreement
    return Work(lambda: model.fit(data), work, others, checked)


CASES = (
    Case("data", "loading a CSV file of 100,000 rows", _loading, 1e5, "row"),
    Case("data", "differentiation, 1,000 runs of 100 rows", _differentiation, 1e5, "row"),
    Case("data", "weak rows, 100 runs of 1,000 rows", _weak_rows, 1e5, "row"),
    Case("data", "library, 10 terms of 100,000 rows", _library, 1e5, "row"),
    Case("data", "moments of 10 terms, 1,000,000 rows", _moments_of_terms, 1e6, "row"),
    Case("data", "moments of 400 random features, 100,000 rows", _moments_of_network, 1e5, "row"),
    Case("whole fits", "STLSQ, smoothed differences, 1,000 runs of 100 rows",
         partial(_stlsq, count=1000), 1e5, "row"),
    Case("whole fits", "STLSQ, smoothed differences, 10,000 runs of 100 rows",
         partial(_stlsq, count=10_000), 1e6, "row", guarded=False),
)  # fmt: skip
