"""A model in which every name tries to run code."""

import numpy as np

import orthoreg as og

NAMES = ("<script>window.hacked=1</script>", '</script><img src=x onerror="window.hacked=1">')
INPUT = "%{x} <a href='javascript:window.hacked=1'>u</a> $\\alpha$"
LABEL = '"><svg onload=window.hacked=1>'
UNIT = "<b onclick=window.hacked=1>m</b>"


def hostile() -> tuple[og.OrthoReg, og.Dataset]:
    """Return a driven oscillator with these names, and its runs."""
    rng = np.random.default_rng(0)
    t = np.linspace(0, 8, 160)
    runs, inputs = [], []
    for amplitude in (0.8, 1.2, 1.6, 2.0):
        phase = rng.uniform(0, 6)
        runs.append(
            np.column_stack([amplitude * np.cos(t + phase), -amplitude * np.sin(t + phase)])
        )
        inputs.append(np.sin(0.7 * t)[:, None])
    data = og.Dataset.from_arrays(
        runs, t, inputs, names=NAMES, input_names=[INPUT], units={NAMES[0]: UNIT}
    )
    from dataclasses import replace

    data = replace(data, labels=(LABEL, "2", "3", "4"), source="<i>table</i>.csv")
    return og.OrthoReg(og.Polynomial(1), og.Zero()).fit(data), data
