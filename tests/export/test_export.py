"""Fitted models as text, SymPy and stand-alone Python code, with any names."""

import builtins
import re

import numpy as np
import pytest
import sympy
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import orthoreg as og
from orthoreg._common.errors import InputError
from orthoreg._common.typed import is_printable
from orthoreg.export import significant, sympy_source
from orthoreg.terms._expression import FUNCTIONS

X = np.random.default_rng(0).uniform(0.1, 0.9, (200, 2))
SLOPES = np.column_stack([2 - 3 * X[:, 1] + 0.3 * np.cos(9 * X[:, 0]), -X[:, 0] * X[:, 1]])
WITH_RESIDUAL = og.RandomFeatures(10, ridge=1e-6)


def fitted(names=("x", "y"), slopes=SLOPES, library=None, augmentation=WITH_RESIDUAL, **options):
    data = og.Dataset.from_arrays(X, 1.0, names=names, derivatives=slopes)
    return og.OrthoReg(library or og.Polynomial(2), augmentation, **options).fit(data)


def executed(source):
    """Return the function of the exported module, which may only import NumPy."""

    def import_numpy(name, *rest, **named):
        assert name == "numpy", f"imports {name}"
        return builtins.__import__(name, *rest, **named)

    namespace = {"__builtins__": {**vars(builtins), "__import__": import_numpy}}
    exec(compile(source, "exported", "exec"), namespace)
    return namespace["vector_field"]


# names must not have control characters
NAME = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8).filter(
    lambda name: name.strip() and is_printable(name)
)


@example(["a b", 'it\'s "q"'])
@example(["lambda", "np"])
@example(["new line", "back\\slash"])
@example(['"""', "'''"])
@example(['\\"""\\', 'ends with "'])
@example(["{x}", "%s"])
@example(["columns", "sin"])
@example(["`tick`", "x`"])
@settings(max_examples=20)
@given(st.lists(NAME, min_size=2, max_size=2, unique=True))
def test_python_source_predicts_the_same_under_any_names(names):
    model = fitted(names)
    assert_allclose(executed(model.to_python())(X), model.predict(X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "augmentation",
    [og.Zero(), og.RandomFeatures(7, ridge=1e-6), og.MLP(6, 3, ridge=1e-6)],
    ids=repr,
)
@pytest.mark.parametrize("with_inputs", [False, True])
def test_python_source_includes_residual_and_inputs(augmentation, with_inputs):
    u = X[:, :1] ** 2 if with_inputs else None
    model = og.OrthoReg(augmentation=augmentation).fit(
        X, SLOPES + (u or 0 if u is None else u), u=u
    )
    assert np.any(model.decompose(X, u)[1]) == (augmentation != og.Zero())
    field = executed(model.to_python())
    variables = X if u is None else np.hstack([X, u])
    assert_allclose(field(variables), model.predict(X, u), rtol=1e-12, atol=1e-12)


def test_python_source_takes_one_state_or_any_stack_of_them():
    model = fitted()
    field, expected = executed(model.to_python()), model.predict(X)
    assert_allclose(field(X[3]), expected[3], rtol=1e-12)
    stacked = field(X.reshape(4, 50, 2).tolist())
    assert_allclose(stacked, expected.reshape(4, 50, 2), rtol=1e-12)


def test_python_source_of_an_empty_model_is_zero():
    model = fitted(slopes=np.zeros((200, 2)), augmentation=og.Zero())
    assert_array_equal(executed(model.to_python())(X), np.zeros((200, 2)))


@pytest.mark.parametrize(
    "options",
    [{"formatter": {"float": "{:.2f}".format}}, {"precision": 2, "suppress": True}, {"sign": "+"}],
    ids=lambda options: next(iter(options)),
)
def test_python_source_ignores_the_print_options_of_numpy(options):
    model = fitted()
    with np.printoptions(**options):
        source = model.to_python()
    assert_allclose(executed(source)(X), model.predict(X), rtol=1e-12, atol=1e-12)


FORMULAS = [
    *(f"{function}(a)" for function in FUNCTIONS),
    "a**2/b", "b**-3", "1/(a + b)", "2**a", "a**b", "sqrt(a)*b", "-a + 2*b", "sin(3*a - b)/2",
    "1.5e-3*b**0.5", "exp(-(a**2))", "a/b/(1 - a*b)", "pi*b**4",
]  # fmt: skip


@pytest.mark.parametrize("formula", FORMULAS)
def test_every_kind_of_formula_leaves_as_it_came_in(formula):
    library = og.Terms([formula])
    text = formula.replace("e-3", "/1000").replace("heaviside(a)", "heaviside(a, 0.5)")
    truth = eval(re.sub(r"([a-z]\w+)", r"np.\1", text), {"np": np, "a": X[:, 0], "b": X[:, 1]})
    model = fitted(["a", "b"], np.outer(truth, [2, -0.5]), library, sparsity=0.0)
    symbolic = model.decompose(X)[0]
    assert_allclose(symbolic, np.outer(truth, [2, -0.5]), rtol=1e-9)
    expressions = model.to_sympy(residual=False)
    compiled = sympy.lambdify(sympy.symbols("a b"), expressions, "numpy")
    assert_allclose(np.transpose(compiled(*X.T)), symbolic, rtol=1e-12)
    assert_allclose(executed(model.to_python())(X), model.predict(X), rtol=1e-12, atol=1e-12)


def test_sympy_says_where_there_is_a_residual():
    model = fitted(["theta", "a b"])
    symbols = [sympy.Symbol("theta"), sympy.Symbol("a b")]
    neural = model.decompose(X)[1]
    assert np.abs(neural).max(axis=0)[0] > 1e-3 and not neural[:, 1].any()
    expressions = model.to_sympy()
    assert expressions[0].has(sympy.Function("residual_theta")(*symbols))
    assert not expressions[1].atoms(sympy.core.function.AppliedUndef)
    values = {"residual_theta": lambda *columns: model.decompose(np.column_stack(columns))[1][:, 0]}
    compiled = sympy.lambdify(symbols, expressions, [values, "numpy"])
    assert_allclose(np.transpose(compiled(*X.T)), model.predict(X), rtol=1e-10)
    alone = sympy.lambdify(symbols, model.to_sympy(residual=False), "numpy")
    assert_allclose(np.transpose(alone(*X.T)), model.decompose(X)[0], rtol=1e-10)


@pytest.mark.parametrize("names", [("a", "b"), ("it's", 'a "b"\n'), ("lambda", "z")])
def test_sympy_source_makes_the_same_expressions(names):
    library = og.Terms(["`{}`*abs(`{}`)".format(*names), f"arctan(`{names[1]}`)", "1"])
    model = fitted(names, library=library)
    namespace = {}
    exec(compile(sympy_source(model.field_, model.output_names_), "exported", "exec"), namespace)
    assert list(namespace["equations"]) == list(names)
    assert list(namespace["equations"].values()) == model.to_sympy()


def test_equations_are_signed_sums_with_significant_digits():
    slopes = np.column_stack([2 - 3 * X[:, 1] + 0.0123456 * X[:, 0] * X[:, 1], np.zeros(200)])
    library = og.Terms(["1", "`v e`", "x*`v e`"])
    model = fitted(["x", "v e"], slopes, library, og.Zero(), sparsity=1e-6)
    assert model.equations() == ["x' = 2.000 - 3.000 `v e` + 0.01235 x*`v e`", "v e' = 0"]
    assert model.equations(2)[0] == "x' = 2.0 - 3.0 `v e` + 0.012 x*`v e`"
    assert model.equations(precision=1)[0] == "x' = 2 - 3 `v e` + 0.01 x*`v e`"


def test_equations_put_sums_in_brackets_and_name_the_residual():
    slopes = np.column_stack([-2 * (X[:, 0] + X[:, 1]), np.cos(9 * X[:, 0])])
    model = fitted(slopes=slopes, library=og.PerState({"x": og.Terms(["x + y"])}, og.Terms(["x"])),
                   sparsity=1.5)  # fmt: skip
    first, second = model.equations()
    assert first.startswith("x' = -2.000 (x + y)")
    assert second == "y' = residual"


def test_brackets_stand_where_a_coefficient_would_seem_to_belong_to_a_part():
    terms = ["1/(x + y)", "x/(1 + y)", "2*x", "-y", "(x + y)**2", "sin(x + y)"]
    truth = np.column_stack([1 / X.sum(1), X[:, 0] / (1 + X[:, 1]), 2 * X[:, 0], -X[:, 1],
                             X.sum(1) ** 2, np.sin(X.sum(1))])  # fmt: skip
    model = fitted(slopes=truth @ np.outer(np.arange(2, 8), [1, 0]), library=og.Terms(terms),
                   augmentation=og.Zero(), sparsity=0.0)  # fmt: skip
    assert model.equations()[0] == (
        "x' = 2.000 (1/(x + y)) + 3.000 x/(1 + y) + 4.000 (2*x) + 5.000 (-y) + 6.000 (x + y)**2 "
        "+ 7.000 sin(x + y)"
    )


@pytest.mark.parametrize(
    "value, precision, text",
    [
        (1e-9, 4, "1.000e-09"), (1e9, 4, "1.000e+09"), (988.5, 4, "988.5"), (12345.6, 4, "12346"),
        (999999.4, 4, "1.000e+06"), (1e6, 4, "1.000e+06"), (0.00012346, 4, "0.0001235"),
        (9.99999, 4, "10.00"), (0.09999999, 2, "0.10"), (3.0, 1, "3"), (95.0, 1, "95"),
        (5e-324, 3, "4.94e-324"), (0.0999, 1, "0.1"),
    ],
)  # fmt: skip
def test_numbers_have_the_digits_that_were_asked_for(value, precision, text):
    assert significant(value, precision) == text


@pytest.mark.parametrize("precision", [0, -1])
@pytest.mark.parametrize("method", ["equations", "to_latex"])
def test_a_senseless_precision_is_refused(method, precision):
    with pytest.raises(InputError, match="precision"):
        getattr(fitted(), method)(precision)
