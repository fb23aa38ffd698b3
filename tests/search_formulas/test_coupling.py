"""Equations of motion with several accelerations, from positions alone."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg.losses import Auto
from orthoreg.physics import Bound, bind_physics
from orthoreg.search.formulas import Measurements, measurements
from orthoreg.search.formulas._candidates import polish
from orthoreg.search.formulas._coupling import (
    CoupledSystem,
    couple,
    coupled_systems,
    mass_matrix,
    written,
)
from orthoreg.search.formulas._equation import DictionaryProblem
from orthoreg.search.formulas._parametric_term import ParametricTerm
from orthoreg.search.formulas._proposals import EquationResult
from orthoreg.terms import AbstractLibrary, Number, parse, to_text

Force = Callable[[float, int], float]


def cart_pole(q: np.ndarray, v: np.ndarray, force: float) -> np.ndarray:
    """x'' (1.3) + 0.15 cos(a) a'' = F - 0.2 x' + 0.15 sin(a) a'^2; 0.5 a'' + cos(a) x'' = ..."""
    sine, cosine = np.sin(q[1]), np.cos(q[1])
    mass = np.array([[1.3, 0.15 * cosine], [cosine, 0.5]])
    right = [force - 0.2 * v[0] + 0.15 * sine * v[1] ** 2, 9.81 * sine - 0.05 * v[1]]
    return np.linalg.solve(mass, right)


def two_links(q: np.ndarray, v: np.ndarray, force: float) -> np.ndarray:
    """An arm whose second angle is measured from the first link. The inertia of the first link
    changes, and both equations contain both accelerations."""
    sine, cosine = np.sin(q[1]), np.cos(q[1])
    mass = np.array([[1.5 + 0.8 * cosine, 0.5 + 0.4 * cosine], [0.5 + 0.4 * cosine, 0.5]])
    far = 4 * np.sin(q[0] + q[1])
    right = [
        0.4 * sine * (2 * v[0] * v[1] + v[1] ** 2) - 9 * np.sin(q[0]) - far - 0.1 * v[0],
        -0.4 * sine * v[0] ** 2 - far - 0.1 * v[1],
    ]
    return np.linalg.solve(mass, right)


def springs(q: np.ndarray, v: np.ndarray, force: float) -> np.ndarray:
    """Each mass has its own equation."""
    return np.array([-3 * q[0] + q[1] - 0.1 * v[0], q[0] - 2 * q[1] - 0.5 * q[1] ** 3 - 0.1 * v[1]])


def runs(
    acceleration: Callable[[np.ndarray, np.ndarray, float], np.ndarray],
    starts: np.ndarray,
    force: Force | None = None,
    noise: float = 0.0,
) -> og.Dataset:
    times = np.linspace(0, 4, 400)
    rng, positions, inputs = np.random.default_rng(0), [], []
    for k, start in enumerate(starts):

        def slope(t: float, x: np.ndarray, k: int = k) -> np.ndarray:
            drive = 0.0 if force is None else force(t, k)
            return np.concatenate([x[2:], acceleration(x[:2], x[2:], drive)])

        q = solve_ivp(slope, (0, 4), start, t_eval=times, rtol=1e-10, atol=1e-11).y.T[:, :2]
        positions.append(q + noise * q.std(axis=0) * rng.standard_normal(q.shape))
        if force is not None:
            inputs.append(np.array([[force(t, k)] for t in times]))
    return og.Dataset.from_positions(
        positions, [times] * len(starts), u=inputs or None, names=["x", "a"],
        input_names=["F"] if inputs else None,
    )  # fmt: skip


def push(t: float, k: int) -> float:
    return 3 * np.sin(2 * t + k) + 2 * np.sin(5.1 * t + 2 * k)


SWINGS = np.array([[0, 3.9, 0, 0], [0, 1.6, 0, 1], [0, 2.0, 0, -1], [0.5, 3.4, 0, 0]])
BENT = np.random.default_rng(1).uniform(-2, 2, (5, 4))


def gaps_of_nothing(rows: Measurements) -> list[EquationResult]:
    """Return gaps with a single candidate, a constant."""
    found = []
    for c in rows.learned:
        equation = DictionaryProblem(rows, [ParametricTerm(Number(1.0), "poly", known=True)], c)
        base = polish(equation, [0])
        assert base is not None
        found.append(EquationResult(equation, base, (base,)))
    return found


def systems_of(data: og.Dataset) -> tuple[Measurements, list[CoupledSystem]]:
    rows = measurements(Auto(), data)
    return rows, coupled_systems(rows, gaps_of_nothing(rows), lambda: True)


@pytest.fixture(scope="module")
def cart() -> tuple[Measurements, list[CoupledSystem]]:
    return systems_of(runs(cart_pole, SWINGS, push))


def terms_of(system: CoupledSystem) -> list[dict[str, float]]:
    return [
        {to_text(term): w for term, w in zip(one.expressions, one.fit.coefficients, strict=True)}
        for one in system.candidates
    ]


def test_a_driven_cart_with_its_pole_as_on_paper(cart: tuple[Measurements, list[CoupledSystem]]):
    _, systems = cart
    slide, pole = terms_of(systems[0])
    assert slide == pytest.approx(
        {
            "`a_dot'`*cos(a)": -0.15 / 1.3, "F": 1 / 1.3, "x_dot": -0.2 / 1.3,
            "a_dot**2*sin(a)": 0.15 / 1.3,
        },
        rel=1e-3,
    )  # fmt: skip
    assert pole == pytest.approx(
        {"`x_dot'`*cos(a)": -2.0, "sin(a)": 19.62, "a_dot": -0.1}, rel=5e-3
    )


@pytest.mark.slow
def test_two_equations_that_turn_out_to_be_one_are_not_a_system():
    """The second equation is the shortest one for either acceleration. The first one is found among
    equations that lack one of its forces."""
    rows, systems = systems_of(runs(two_links, BENT))
    mass = mass_matrix(systems[0], rows.extent.sample)
    assert np.linalg.det(mass).min() > 0.1
    _, second = terms_of(systems[0])
    assert second == pytest.approx(
        {
            "`x_dot'`": -1.0, "`x_dot'`*cos(a)": -0.8, "x_dot**2*sin(a)": -0.8,
            "sin(x + a)": -8.0, "a_dot": -0.2,
        },
        rel=5e-3,
    )  # fmt: skip
    # any sum of multiples of both equations is also true
    x = rows.extent.sample
    truth = np.array([two_links(row[:2], row[2:], 0.0) for row in x])
    at_rest = np.hstack([x, np.zeros_like(x)])
    right = np.column_stack([one.values(at_rest) for one in systems[0].candidates])
    assert_allclose(np.linalg.solve(mass, right[:, :, None])[:, :, 0], truth, atol=0.01)


@pytest.mark.slow
def test_equations_of_their_own_are_not_coupled():
    rows = measurements(Auto(), runs(springs, BENT))
    found = og.discover(runs(springs, BENT), "poly(3)", tried=2)
    assert all(one.model.physics is None for one in found.models)
    assert coupled_systems(rows, [], lambda: True) == []


def test_an_equation_with_one_acceleration_beside_one_with_two():
    """A heavy cart moves independently of its pole."""

    def heavy(q: np.ndarray, v: np.ndarray, force: float) -> np.ndarray:
        own = -4 * q[0] - 0.1 * v[0]
        return np.array([own, 19.62 * np.sin(q[1]) - 0.1 * v[1] - 2 * np.cos(q[1]) * own])

    data = runs(heavy, SWINGS + [1.0, 0, 0, 0])
    rows = measurements(Auto(), data)
    wide = replace(
        rows,
        points=np.hstack([rows.points, rows.slopes]),  # type: ignore[list-item]
        centres=np.hstack([rows.centres, rows.targets]),
        names=(*rows.names, "x_dot'", "a_dot'", "x_ddot'", "a_ddot'"),
        sides=None,
    )
    texts = (("x", "x_dot"), ("sin(a)", "a_dot", "cos(a)*`x_ddot'`"))
    found = []
    for c, terms in zip(rows.learned, texts, strict=True):
        shapes = [ParametricTerm(parse(text, wide.names), "poly") for text in terms]
        found.append(polish(DictionaryProblem(wide, shapes, c), range(len(shapes))))
    system = CoupledSystem(tuple(found), len(rows.names))

    def bind(library: AbstractLibrary, physics: og.Physics) -> Bound:
        return bind_physics(
            physics, library, data.variable_names, data.state_names, dict(data.given_rates)
        )

    field = couple(system, bind, rows).field
    x = rows.extent.sample[:50]
    truth = np.array([heavy(row[:2], row[2:], 0.0) for row in x])
    assert_allclose(field.values(x)[:, 2:], truth, atol=0.05)


def test_constants_are_no_columns(cart: tuple[Measurements, list[CoupledSystem]]):
    rows, systems = cart
    named = replace(rows, names=("k1_1", *rows.names[1:]))
    texts, values = written(systems[0], named)
    assert all(name.startswith("kk") for name in values)
    assert all(name in "".join(texts) for name in values)


@pytest.mark.slow
def test_what_is_written_is_read_back(cart: tuple[Measurements, list[CoupledSystem]]):
    rows, systems = cart
    texts, values = written(systems[0], rows)
    data = runs(cart_pole, SWINGS, push)
    model = og.OrthoReg(physics=og.Physics(equations=texts)).fit(data)
    assert model.parameters_ == pytest.approx(values, rel=0.01)


def test_the_mass_matrix_is_that_of_the_accelerations(
    cart: tuple[Measurements, list[CoupledSystem]],
):
    rows, systems = cart
    points = rows.extent.sample
    found = mass_matrix(systems[0], points)
    assert_allclose(found[:, 0, 1], 0.15 / 1.3 * np.cos(points[:, 1]), atol=1e-3)
    assert_allclose(found[:, 1, 0], 2 * np.cos(points[:, 1]), atol=1e-2)
    assert_allclose(found[:, 0, 0], 1.0)


@pytest.mark.slow
def test_discover_ranks_coupled_equations_first():
    data = runs(cart_pole, SWINGS, push, noise=0.005)
    found = og.discover(data)
    best = found.models[0]
    assert not best.is_base and len(best.model.knowledge().systems) == 1
    x, drive = data.states[:50], data.inputs[:50]  # type: ignore[index]
    truth = [cart_pole(row[:2], row[2:], float(f[0])) for row, f in zip(x, drive, strict=True)]
    assert_allclose(best.model.predict(x, drive)[:, 2:], truth, atol=0.5)
    assert any(one.is_base for one in found.models)
    assert "''" in best.equations()[0]
