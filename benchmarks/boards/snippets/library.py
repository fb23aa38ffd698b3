"""orthoreg, with a fixed library."""

import orthoreg as og


def learn(runs, t):
    model = og.OrthoReg("poly(3) + fourier(1)").fit(og.Dataset.from_arrays(runs, t))
    return lambda x: model.predict(x[None])[0]
