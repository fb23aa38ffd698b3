"""Equations with several derivatives are typeset as they were written."""

import numpy as np
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg.findings.charts import equations_of


def coupled_masses() -> og.OrthoReg:
    def slope(_: float, x: np.ndarray) -> np.ndarray:
        rates = np.linalg.solve([[2.0, 0.5 * np.cos(x[0])], [0.5, 1.0]], [-3 * x[0], -x[1]])
        return np.concatenate([x[2:], rates])

    times = np.linspace(0, 6, 300)
    x = solve_ivp(slope, (0, 6), [1, -1, 0, 0.5], t_eval=times, rtol=1e-9, atol=1e-9).y.T
    data = og.Dataset.from_positions(x[:, :2], times, names=["a", "b"])
    physics = og.Physics(equations=["a'' + c*cos(a)*b'' = -k*a", "b'' + d*a'' = -e*b"])
    return og.OrthoReg(physics=physics).fit(data)


def test_a_relation_has_both_accelerations_on_its_left():
    model = coupled_masses()
    first, second = model.to_mathml()
    for element in (first, second):
        left, right = element.split("<mo>=</mo>")
        assert left.count("¨") == 2 and right.count("¨") == 0
        assert element.startswith("<math") and element.endswith("</math>")
    assert "0.25" in first
    assert model.equations()[0].startswith("a''")


def test_a_report_has_its_terms_apart():
    """The parts can wrap on narrow screens."""
    first, second = equations_of(coupled_masses(), coupled_masses().summary())
    assert "cos" in first.left and len(first.terms) == len(second.terms) == 1
    assert "−" in first.terms[0].math
