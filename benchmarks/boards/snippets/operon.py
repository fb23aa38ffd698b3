"""Operon, with derivatives chosen on a held-out run."""

import numpy as np
from pyoperon.sklearn import SymbolicRegressor  # pyright: ignore[reportMissingImports]
from scipy.integrate import cumulative_trapezoid
from scipy.signal import savgol_filter


def slopes(run, t, window):
    """Return smoothed states and their derivatives; a window of zero does not smooth."""
    if not window:
        return run, np.gradient(run, t, axis=0, edge_order=2)
    options = {"window_length": window, "polyorder": 3, "axis": 0}
    return savgol_filter(run, **options), savgol_filter(run, **options, deriv=1, delta=t[1] - t[0])


def fitted(runs, t, window):
    blocks = [slopes(run, t, window) for run in runs]
    X, y = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    models = [
        SymbolicRegressor(
            allowed_symbols="add,sub,mul,div,sin,cos,exp,log,constant,variable",
            max_evaluations=100_000,
            max_length=30,
            n_threads=1,
            random_state=0,
        ).fit(X, column)
        for column in y.T
    ]
    return lambda x: np.column_stack([np.ravel(model.predict(x)) for model in models])


def learn(runs, t):
    *train, held = runs

    def error(window):
        field = fitted(train, t, window)
        path = cumulative_trapezoid(field(slopes(held, t, window)[0]), t, axis=0, initial=0)
        return np.mean(np.var(held - path, axis=0) / np.var(held, axis=0))

    field = fitted(runs, t, min((0, 11), key=error))
    return lambda x: field(x[None])[0]
