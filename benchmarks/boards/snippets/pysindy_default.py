"""PySINDy with its default settings."""

import pysindy as ps


def learn(runs, t):
    model = ps.SINDy().fit(runs, t=t)
    return lambda x: model.predict(x[None])[0]
