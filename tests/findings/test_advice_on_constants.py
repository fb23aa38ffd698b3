"""Advice on models with constants inside terms."""

import numpy as np
from scipy.integrate import solve_ivp

import orthoreg as og


def test_a_library_with_constants_inside_its_terms_gets_advice():
    """Larger libraries are tried with the constants of the model."""
    rng, times = np.random.default_rng(0), np.linspace(0, 12, 200)

    def slope(_: float, x: np.ndarray) -> list[float]:
        eaten = x[0] * x[1] / (0.5 + x[0])
        return [x[0] - 0.05 * x[0] ** 4 - 0.8 * eaten, 0.3 * eaten - 0.15 * x[1]]

    runs = [
        solve_ivp(slope, (0, 12), rng.uniform(0.5, 2, 2), t_eval=times, rtol=1e-9, atol=1e-9).y.T
        for _ in range(4)
    ]
    data = og.Dataset.from_arrays(runs, times, names=["x", "y"])
    model = og.OrthoReg("poly(2) + x*y/(K + x)", og.Zero()).fit(data)
    found = model.summary(data)
    assert found.advice and found.verdict
    assert any(item.code == "larger-library" for item in found.advice)
