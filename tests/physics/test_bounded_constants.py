"""A bound on a constant holds wherever the constant occurs: alone, in products, in denominators."""

import numpy as np
import pytest

import orthoreg as og

A, B, C = 0.7, 2.2, 0.4  # x' = -A x, y' = A B x - C y


@pytest.fixture(scope="module")
def decay():
    t = np.linspace(0, 8, 161)
    states = []
    for x0, y0 in ((1.0, 0.0), (2.0, 1.0), (0.5, 3.0)):
        x = x0 * np.exp(-A * t)
        made = A * B * x0 / (C - A) * (np.exp(-A * t) - np.exp(-C * t))
        states.append(np.column_stack([x, y0 * np.exp(-C * t) + made]))
    noise = 1e-3 * np.random.default_rng(0).standard_normal((3, len(t), 2))
    return og.Dataset.from_arrays(np.array(states) + noise, t, names=["x", "y"])


def fitted(data, equations, bounds):
    physics = og.Physics(equations=equations, bounds=bounds)
    return og.OrthoReg("poly(1)", og.Zero(), physics=physics).fit(data)


PRODUCT = {"x": "-a*x", "y": "a*b*x - c*y"}
QUOTIENT = {"x": "-a*x", "y": "a/Y*x - c*y"}  # Y = 1 / B = 0.4545
INVERSE = {"x": "-0.7*x", "y": "0.7*x/Y - c*y"}


@pytest.mark.parametrize(
    ("equations", "name", "ends", "expected"),
    [
        (PRODUCT, "b", (1.0, 2.0), 2.0),
        (PRODUCT, "b", (None, 2.0), 2.0),
        (PRODUCT, "b", (2.5, None), 2.5),
        (PRODUCT, "b", (2.0, 3.0), B),
        (QUOTIENT, "Y", (0.3, 0.4), 0.4),
        (QUOTIENT, "Y", (0.5, None), 0.5),
        (QUOTIENT, "Y", (None, 0.4), 0.4),
        (QUOTIENT, "Y", (0.1, 1.0), 1 / B),
        (INVERSE, "Y", (0.3, 0.4), 0.4),
        (INVERSE, "Y", (None, 0.4), 0.4),
        (INVERSE, "Y", (None, 1.0), 1 / B),
        ({"y": "0.7*b**2*x - c*y"}, "b", (-1.2, 1.2), 1.2),
    ],
)
def test_a_bound_holds(decay, equations, name, ends, expected):
    model = fitted(decay, equations, {name: ends})
    value = model.parameters_[name]
    assert abs(value) == pytest.approx(expected, rel=0.02)
    low, high = (-np.inf if ends[0] is None else ends[0]), (np.inf if ends[1] is None else ends[1])
    assert low <= value <= high


@pytest.mark.slow
@pytest.mark.parametrize(
    ("equations", "bounds"),
    [(PRODUCT, {"b": (2.5, None)}), (QUOTIENT, {"Y": (0.3, 0.4)}), (INVERSE, {"Y": (None, 0.4)})],
)
def test_a_bound_holds_after_a_refinement(decay, equations, bounds):
    ((name, (low, high)),) = bounds.items()
    value = fitted(decay, equations, bounds).refine(decay).parameters_[name]
    assert (-np.inf if low is None else low) <= value <= (np.inf if high is None else high)


def test_constants_that_only_their_product_determines_bound_it(decay):
    model = fitted(decay, {"y": "0.7*p*q*x - c*y"}, {"p": (0.5, 1.0), "q": (0.5, 1.5)})
    assert model.parameters_["p*q"] == pytest.approx(1.5)


def test_a_bound_that_does_not_bind_changes_nothing(decay):
    quotient = {"x": "-a*x", "y": "a/gain*x - c*y"}
    free, wide = (fitted(decay, quotient, bounds) for bounds in ({}, {"gain": (0.01, 100.0)}))
    for name in ("a", "c", "gain"):
        assert wide.parameters_[name] == pytest.approx(free.parameters_[name], rel=2e-3)
