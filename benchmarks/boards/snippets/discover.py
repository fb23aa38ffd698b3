"""orthoreg, with equations of any form."""

import orthoreg as og


def learn(runs, t):
    model = og.discover(og.Dataset.from_arrays(runs, t)).best
    return lambda x: model.predict(x[None])[0]
