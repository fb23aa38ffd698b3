"""Models of other programs, PySINDy and Operon, from the same derivatives."""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from jaxtyping import Float

from orthoreg import Automatic, Dataset, from_pysindy

EVALUATIONS = 100_000
"""Number of expressions that Operon evaluates per equation."""
_DEGREES = (2, 3)
_THRESHOLDS = (0.01, 0.05, 0.2)
_SEED = 0

Slope = Callable[[Float[np.ndarray, " n"]], Float[np.ndarray, " n"]]


def pysindy_models(data: Dataset) -> Iterator[Slope]:
    """Yield nine models: polynomials of degree two and three, and degree two with sines and
    cosines, each with three thresholds. Yield none if PySINDy is not installed."""
    if find_spec("pysindy") is None:
        return
    import pysindy as ps

    states, slopes = data.plan.smoothed, Automatic().slopes(data)
    fourier = ps.FourierLibrary(n_frequencies=1)
    libraries: list[Any] = [ps.PolynomialLibrary(d) for d in _DEGREES]
    libraries.append(ps.ConcatLibrary([ps.PolynomialLibrary(2), fourier]))
    for library in libraries:
        for threshold in _THRESHOLDS:
            model = ps.SINDy(feature_library=library, optimizer=ps.STLSQ(threshold=threshold))
            field = from_pysindy(model.fit(states, t=data.times, x_dot=slopes)).field_
            yield lambda x, field=field: field.values(x[None])[0]


def operon_model(data: Dataset) -> Slope | None:
    """Return one expression per equation, from `EVALUATIONS` evaluations with one thread, or None
    if Operon is not installed."""
    if find_spec("pyoperon") is None:
        return None
    from pyoperon.sklearn import SymbolicRegressor  # pyright: ignore[reportMissingImports]

    states, slopes = data.plan.smoothed, Automatic().slopes(data)
    found: list[Any] = []
    for c in range(states.shape[1]):
        model = SymbolicRegressor(
            allowed_symbols="add,sub,mul,div,sin,cos,exp,log,constant,variable",
            max_evaluations=EVALUATIONS, max_length=30, n_threads=1, random_state=_SEED,
        )  # fmt: skip
        found.append(model.fit(states, slopes[:, c]))
    return lambda x: np.array([float(np.ravel(one.predict(x[None]))[0]) for one in found])
