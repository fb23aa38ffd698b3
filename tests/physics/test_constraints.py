"""Known physics as constraints, compared with SciPy, closed forms and the definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import LinearConstraint, minimize

import orthoreg as og
from orthoreg.physics import bind_physics, constant_functions, constant_values
from orthoreg.solving import Bounds, Equalities, QuadraticProblem
from orthoreg.terms import Fourier, Polynomial

seeds = st.integers(0, 10_000)


def bound(library=None, names=("x", "y"), **fields):
    return bind_physics(og.Physics(**fields), library or Polynomial(2), names, names)


# -- the problem itself --------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_constrained_minimum_is_that_of_an_independent_solver(seed):
    rng = np.random.default_rng(seed)
    K = 6
    X = rng.standard_normal((40, K))
    Q, r = X.T @ X / 40, X.T @ rng.standard_normal(40) / 40
    low = np.where(rng.random(K) < 0.5, -0.05, -np.inf)
    high = np.where(rng.random(K) < 0.5, 0.05, np.inf)
    E = rng.standard_normal((2, K))
    e = E @ np.clip(rng.standard_normal(K), -0.05, 0.05)
    problem = QuadraticProblem(Q, r, 0.0, Equalities(E, e), Bounds(low, high))
    w = problem.solve()
    theirs = minimize(
        problem.value, np.zeros(K), jac=lambda w: 2 * (Q @ w - r), method="SLSQP",
        constraints=[{"type": "eq", "fun": lambda w: E @ w - e, "jac": lambda w: E}],
        bounds=list(zip(low, high, strict=True)), options={"ftol": 1e-15, "maxiter": 500},
    )  # fmt: skip
    assert_allclose(E @ w, e, atol=1e-10)
    assert (w >= low).all() and (w <= high).all()
    assert problem.value(w) <= theirs.fun + 1e-10
    assert_allclose(w, theirs.x, atol=1e-5)
    # Karush-Kuhn-Tucker: without active bounds, the gradient is a sum of the rows of the equalities
    held = (w <= low) | (w >= high)
    slope = 2 * (Q @ w - r)
    multipliers = np.linalg.lstsq(E[:, ~held].T, -slope[~held], rcond=None)[0]
    left = slope + E.T @ multipliers
    assert_allclose(left[~held], 0, atol=1e-9)
    assert (left[w <= low] >= -1e-9).all() and (left[w >= high] <= 1e-9).all()
    assert problem.duality_gap(w, 0.0) < 1e-18
    assert problem.active_bounds(w).tolist() == held.tolist()


@given(seeds)
@settings(max_examples=20)
def test_given_coefficients_and_equalities_of_them_are_met(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((20, 4))
    low, high = np.full(4, -np.inf), np.full(4, np.inf)
    low[0] = high[0] = rng.standard_normal()
    E = np.array([[1.0, 1.0, 0.0, 0.0]])
    problem = QuadraticProblem(
        X.T @ X, X.T @ rng.standard_normal(20), 0.0, Equalities(E, np.zeros(1)), Bounds(low, high)
    )
    w = problem.solve()
    assert w[0] == low[0]
    assert_allclose(w[1], -w[0], rtol=1e-12)
    free = QuadraticProblem(problem.Q, problem.r).only(np.array([2, 3]))
    moved = QuadraticProblem(free.Q, free.r - problem.Q[2:, :2] @ w[:2]).solve()
    assert_allclose(w[2:], moved, rtol=1e-9)


# -- what statements become ----------------------------------------------------------------


def test_a_complete_equation_is_given_and_a_part_is_a_required_term():
    found = bound(
        Polynomial(1) + Fourier(1), ("theta", "omega"),
        equations={"theta": "omega", "omega": "-g/L*sin(theta) + ..."}, values={"g": 9.81},
        bounds={("omega", "omega"): (None, 0), "L": (0.1, 2)},
    )  # fmt: skip
    known, names = found.knowledge, found.features.names
    assert known.given_equations == [0]
    assert dict(zip(names, known.low[0], strict=True))["omega"] == 1.0
    sine = names.index("sin(theta)")
    assert_allclose([known.low[1, sine], known.high[1, sine]], [-98.1, -4.905])
    assert known.high[1, names.index("omega")] == 0
    assert known.required[1].tolist() == [name == "sin(theta)" for name in names]
    assert constant_values(known.constants, np.eye(2, len(names), sine - 1) * -12.2625) == {
        "L": pytest.approx(0.8)
    }


@pytest.mark.parametrize(
    ("text", "scales"),
    [("-k/m*x - c/m*y", {"k/m": 4.0, "c/m": 0.2}), ("-k*x - c*y", {"k": 4.0, "c": 0.2})],
)
def test_constants_that_coefficients_do_not_determine_are_named_together(text, scales):
    known = bound(equations={"x": "y", "y": text}).knowledge
    coefficients = np.zeros(known.low.shape)
    coefficients[1, [1, 2]] = -4.0, -0.2
    assert constant_values(known.constants, coefficients) == pytest.approx(scales)


def test_the_interval_of_a_constant_in_a_denominator_is_turned_round():
    known = bound(equations={"x": "y", "y": "-2/L*x"}).knowledge
    coefficients = np.zeros(known.low.shape)
    coefficients[1, 1] = -4.0
    length = constant_functions(known.constants, coefficients, [(1, 1)])["L"]
    assert length(np.array([-5.0])) == pytest.approx(0.4)
    assert length(np.array([-3.2])) == pytest.approx(0.625)
    assert length(np.array([0.1])) == np.inf  # beyond the pole


def test_constants_in_the_wrong_place_are_parameters_inside_terms():
    found = bound(equations={"x": "a*x/(b + x) + a*b*y", "y": "a*y + ..."})
    assert found.features.parameters == ("a", "b") or found.features.parameters == ("b",)
    assert "b" in found.features.parameters


@given(seeds)
@settings(max_examples=20)
def test_atoms_move_along_the_relations_and_reach_all_of_them(seed):
    """Coefficients satisfy the relations if and only if they are a sum of atoms."""
    rng = np.random.default_rng(seed)
    found = bound(
        Polynomial(2), ("S", "I", "R"), conserved=["S + I + R"],
        relations=["coef(S, S*I) = -coef(I, S*I)"],
    )  # fmt: skip
    known, mask = found.knowledge, found.features.mask
    (group,) = known.groups(mask)
    u = rng.standard_normal(group.atoms.shape[2])
    W = group.coefficients(u)
    assert_allclose(np.einsum("qck,ck->q", known.relations, W), known.values, atol=1e-12)
    matrix = known.relations.reshape(len(known.values), -1)
    rank = np.linalg.matrix_rank(matrix)
    assert np.linalg.matrix_rank(group.atoms.reshape(-1, len(u))) == matrix.shape[1] - rank


def test_a_nonlinear_conserved_quantity_holds_for_all_coefficients_that_are_left():
    known = bound(conserved=["x**2 + y**2"])
    (group,) = known.knowledge.groups(known.features.mask)
    rng = np.random.default_rng(0)
    W = group.coefficients(rng.standard_normal(group.atoms.shape[2]))
    points = rng.standard_normal((20, 2))
    rates = known.features(points) @ W.T
    assert_allclose((points * rates).sum(axis=1), 0, atol=1e-12)
    assert known.knowledge.complete == (0, 1)


@pytest.mark.parametrize(
    ("symmetry", "kept"),
    [
        (og.Odd(), (["x", "y", "x**3", "x**2*y", "x*y**2", "y**3", "sin(x)", "sin(y)"],) * 2),
        (
            og.Even("x"),
            (["1", "y", "x**2", "y**2", "x**2*y", "y**3", "cos(x)", "sin(y)", "cos(y)"],) * 2,
        ),
        (
            og.Reflection("x"),
            (
                ["x", "x*y", "x**3", "x*y**2", "sin(x)"],
                ["1", "y", "x**2", "y**2", "x**2*y", "y**3", "cos(x)", "sin(y)", "cos(y)"],
            ),
        ),
        (
            og.Periodic("x"),
            (["1", "y", "y**2", "y**3", "sin(x)", "cos(x)", "sin(y)", "cos(y)"],) * 2,
        ),
    ],
)
def test_terms_of_the_wrong_symmetry_are_no_candidates(symmetry, kept):
    found = bound(Polynomial(3) + Fourier(1), symmetry=symmetry)
    for row, names in zip(found.features.mask, kept, strict=True):
        assert [n for n, may in zip(found.features.names, row, strict=True) if may] == names


def test_forbidden_terms_by_name_and_pattern():
    found = bound(
        Polynomial(2) + Fourier(1), forbidden={"x": ["y*x", "sin(...)"], "y": ["..."]},
        required={"y": ["x*y"]},
    )  # fmt: skip
    names = np.array(found.features.names)
    assert not {"x*y", "sin(x)", "sin(y)"} & set(names[found.features.mask[0]])
    assert {"x", "cos(x)"} <= set(names[found.features.mask[0]])
    assert names[found.features.mask[1]].tolist() == ["x*y"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"equations": {"z": "x"}}, "names 'z', which is not an equation"),
        ({"equations": {"x": "yy + k"}}, "unknown variable 'yy'. Did you mean 'y'"),
        ({"bounds": {"k": (0, 1)}}, "names 'k', which is not a constant"),
        ({"equations": {"x": "k*y"}, "values": {"kk": 2.0}}, "gives 'kk', which occurs in no"),
        ({"forbidden": {"x": ["sin(*)"]}}, "Patterns contain '...', as in 'sin(...)'"),
        ({"bounds": {("x", "x**3"): (0, 1)}}, "which the equation cannot contain"),
        ({"relations": ["coef(x, x*y)**2 = 1"]}, "must be linear"),
        ({"relations": ["x = 1 = 2"]}, "must have the form"),
        ({"conserved": ["3"]}, "contains no state"),
        ({"symmetry": og.Periodic("phi")}, "names 'phi', which is not a column"),
        (
            {"relations": ["coef(x, x) = coef(y, y)"], "bounds": {("x", "x"): (1, 2),
                                                                  ("y", "y"): (None, 0)}},
            "contradicts itself: no coefficients satisfy 'coef(x, x) = coef(y, y)'",
        ),
        (
            {"relations": ["coef(x, x) = 1", "coef(x, x) = 2"]},
            "contradicts itself: no coefficients satisfy 'coef(x, x) = 2'",
        ),
        ({"equations": {"x": "2*y + ..."}, "forbidden": {"x": ["y"]}}, "which is forbidden"),
        ({"equations": {"x": "2*y + ..."}, "bounds": {("x", "y"): (3, 4)}}, "was given before"),
    ],
)  # fmt: skip
def test_contradictions_are_one_sentence(fields, words):
    with pytest.raises(og.InputError, match=r".") as caught:
        bound(**fields)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "fields",
    [
        {"equations": "x' = y"},
        {"values": {"g": "9.81"}},
        {"bounds": {"L": (2, 1)}},
        {"bounds": {"L": 3}},
        {"symmetry": "odd"},
        {"relations": [3]},
    ],
)
def test_what_is_no_physics_is_refused_at_once(fields):
    with pytest.raises(og.InputError, match="Physics"):
        og.Physics(**fields)


def test_linear_constraint_reference_is_the_same_problem():
    """The constrained fit of two coupled equations is the minimum that SciPy finds over vec(W)."""
    rng = np.random.default_rng(3)
    x = rng.uniform(0.5, 2, (300, 2))
    y = np.column_stack([x[:, 0] - 0.5 * x.prod(1), -x[:, 1] + 0.45 * x.prod(1)])
    y += 0.05 * rng.standard_normal(y.shape)
    library = og.Terms(["x0", "x1", "x0*x1"])
    physics = og.Physics(
        relations=["coef(x0, x0*x1) = -coef(x1, x0*x1)"], bounds={("x0", "x1"): (0, None)}
    )
    model = og.OrthoReg(library, og.Zero(), sparsity=0.0, solver=og.Exact(), physics=physics)
    found = model.fit(x, y).coefficients_
    phi = np.column_stack([x, x.prod(1)])

    def value(w):
        return np.mean((y - phi @ w.reshape(2, 3).T) ** 2, axis=0).sum()

    tied = LinearConstraint(np.array([[0, 0, 1, 0, 0, 1.0]]), 0, 0)
    theirs = minimize(
        value, np.zeros(6), method="trust-constr", constraints=[tied],
        bounds=[(None, None), (0, None), *[(None, None)] * 4],
        options={"gtol": 1e-12, "xtol": 1e-14, "maxiter": 3000},
    )  # fmt: skip
    assert value(found.ravel()) <= theirs.fun + 1e-12
    assert_allclose(found.ravel(), theirs.x, atol=2e-4)
    assert found[0, 2] == -found[1, 2]
