"""Data that support no equations, and numbers at the limits of double precision."""

from pathlib import Path

import numpy as np

from torture._attack import Broken, attack


@attack("honesty", trials=100, seconds=60.0)
def white_noise(rng: np.random.Generator, folder: Path) -> None:
    """White noise is never called explained."""
    import orthoreg as og

    data = og.Dataset.from_arrays(rng.standard_normal((300, 2)), np.arange(300.0))
    model = og.OrthoReg().fit(data)
    verdict = model.summary(data).verdict.code
    if verdict == "explained":
        raise Broken(f"noise is {verdict}: {model.equations()}")


@attack("honesty", trials=300, seconds=20.0)
def extreme_sizes(rng: np.random.Generator, folder: Path) -> None:
    """States of any size, from denormal to 1e300, are refused or give the same digits."""
    import orthoreg as og

    times = np.linspace(0, 10, 201)
    states = np.exp(-0.1 * times)[:, None] * np.c_[np.cos(times), -np.sin(times)]
    exponent = int(rng.integers(-1070, 1000))
    data = og.Dataset.from_arrays(np.ldexp(states, exponent), times)
    model = og.OrthoReg("poly(1)", og.Zero()).fit(data)
    expected = [[-0.1, 1.0], [-1.0, -0.1]]
    if not np.allclose(model.coefficients_[:, 1:], expected, rtol=1e-4, atol=1e-5):
        raise Broken(f"2**{exponent}: {model.equations()}")
