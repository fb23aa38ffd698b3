"""The structure of one equation is tried in the others, with exchanged variables."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg.losses import Auto
from orthoreg.search.formulas import measurements
from orthoreg.search.formulas._candidates import polish
from orthoreg.search.formulas._equation import DictionaryProblem
from orthoreg.search.formulas._parametric_term import ParametricTerm
from orthoreg.search.formulas._variants import _orders, in_other_roles, renamings
from orthoreg.terms import Variable, parse


def cells() -> og.Dataset:
    """Two cells inhibit each other by the same steep function."""

    def slope(_: float, x: np.ndarray) -> list[float]:
        inhibited = [1 / (1 + np.exp(4.9 * other - 1.4)) for other in (x[1], x[0])]
        return [-x[0] + inhibited[0], -x[1] + inhibited[1]]

    times = np.linspace(0, 10, 400)
    found = solve_ivp(slope, (0, 10), [0.002, 0.25], t_eval=times, rtol=1e-10, atol=1e-12)
    return og.Dataset.from_arrays(found.y.T, times, names=["a", "b"])


def test_what_one_cell_does_is_tried_for_the_other():
    """Return the structure with estimated constants."""
    rows = measurements(Auto(), cells())
    parameters = {"p": (3.0, 0.1, 30.0), "c": (1.0, -30.0, 30.0)}
    start, low, high = zip(*parameters.values(), strict=True)
    inhibited = ParametricTerm(
        parse("1/(1 + exp(p*a - c))", rows.names, parameters, free=True), "exp", tuple(parameters),
        np.array([start]), low, high,
    )  # fmt: skip
    decay = [ParametricTerm(Variable(c, rows.names[c]), "poly", known=True) for c in (0, 1)]
    source = DictionaryProblem(rows, [*decay, inhibited], 1)
    law = polish(source, [1, 2])
    assert law is not None
    goal = DictionaryProblem(rows, decay, 0)
    (found,) = in_other_roles(goal, [[law]], lambda: True)
    assert found.expressions[0] == decay[0].expression and found.fit.terms[0].known
    assert found.fit.values[1] == pytest.approx((4.9, 1.4), rel=0.01)
    assert found.fit.coefficients == pytest.approx([-1.0, 1.0], rel=0.01)
    assert found.prices[1] < law.prices[1]
    assert in_other_roles(goal, [[law]], lambda: False) == []


def test_a_function_that_the_other_variable_leaves_undefined_is_not_tried():
    rows = measurements(Auto(), cells())  # a starts at 0.002, b at 0.25
    root = ParametricTerm(parse("sqrt(b - 0.1)", rows.names), "power")
    law = polish(DictionaryProblem(rows, [root], 0), [0])
    decay = ParametricTerm(Variable(1, rows.names[1]), "poly", known=True)
    goal = DictionaryProblem(rows, [decay], 1)
    assert law is not None and in_other_roles(goal, [[law]], lambda: True) == []


@given(st.integers(1, 6))
def test_orders_exchange_units_and_repeat_none(count: int):
    orders = _orders(count)
    assert len(set(orders)) == len(orders)
    assert all(sorted(order) == list(range(count)) for order in orders)
    goals = {(i, order[i]) for order in orders for i in range(count)}
    assert {(i, j) for i in range(count) for j in range(count) if i != j} <= goals


def test_a_velocity_takes_its_position_along():
    times = np.linspace(0, 6, 200)
    positions = np.column_stack([np.sin(times), np.cos(1.3 * times)])
    rows = measurements(Auto(), og.Dataset.from_positions(positions, times, names=["p", "q"]))
    (only,) = renamings(rows, 2, 3)
    assert only == {2: 3, 3: 2, 0: 1, 1: 0}
