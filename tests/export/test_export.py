"""Fitted models as text, SymPy, LaTeX and stand-alone Python, under any names."""

import builtins
import re

import numpy as np
import pytest
import sympy
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import orthoreg as og
from orthoreg._errors import InputError
from orthoreg.libraries._expression import FUNCTIONS

X = np.random.default_rng(0).uniform(0.1, 0.9, (200, 2))
SLOPES = np.column_stack([2 - 3 * X[:, 1] + 0.3 * np.cos(9 * X[:, 0]), -X[:, 0] * X[:, 1]])
WITH_RESIDUAL = og.RandomFeatures(10, ridge=1e-6)


def fitted(names=("x", "y"), slopes=SLOPES, library=None, augmentation=WITH_RESIDUAL, **options):
    data = og.Dataset.from_arrays(X, 1.0, names=names, derivatives=slopes)
    return og.OrthoReg(library or og.Polynomial(2), augmentation, **options).fit(data)


def executed(source):
    """The function of the exported module, run where nothing but NumPy can be imported."""

    def import_numpy(name, *rest, **named):
        assert name == "numpy", f"imports {name}"
        return builtins.__import__(name, *rest, **named)

    namespace = {"__builtins__": {**vars(builtins), "__import__": import_numpy}}
    exec(compile(source, "exported", "exec"), namespace)
    return namespace["vector_field"]


NAME = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8).filter(str.strip)


@example(["a b", 'it\'s "q"'])
@example(["lambda", "np"])
@example(["new\nline", "back\\slash"])
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
    truth = eval(re.sub(r"([a-z]\w+)", r"np.\1", formula.replace("e-3", "/1000")),
                 {"np": np, "a": X[:, 0], "b": X[:, 1]})  # fmt: skip
    model = fitted(["a", "b"], np.outer(truth, [2, -0.5]), library, sparsity=0.0)
    symbolic = model.decompose(X)[0]
    assert_allclose(symbolic, np.outer(truth, [2, -0.5]), rtol=1e-9)
    expressions = model.to_sympy()
    compiled = sympy.lambdify(sympy.symbols("a b"), expressions, "numpy")
    assert_allclose(np.transpose(compiled(*X.T)), symbolic, rtol=1e-12)
    assert_allclose(executed(model.to_python())(X), model.predict(X), rtol=1e-12, atol=1e-12)


def test_sympy_holds_the_symbolic_part_alone():
    model = fitted(["theta", "a b"])
    symbols = [sympy.Symbol("theta"), sympy.Symbol("a b")]
    compiled = sympy.lambdify(symbols, model.to_sympy(), "numpy")
    assert_allclose(np.transpose(compiled(*X.T)), model.decompose(X)[0], rtol=1e-12)
    assert np.abs(model.decompose(X)[1]).max() > 1e-3


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


@pytest.mark.parametrize("precision", [0, -1])
@pytest.mark.parametrize("method", ["equations", "to_latex"])
def test_a_senseless_precision_is_refused(method, precision):
    with pytest.raises(InputError, match="precision"):
        getattr(fitted(), method)(precision)


def test_latex_shows_names_coefficients_and_residual():
    model = fitted(["theta", "omega_1"], SLOPES)
    first, second = model.to_latex()
    assert first.startswith(r"\dot{\theta} = ") and second.startswith(r"\dot{\omega_{1}} = ")
    assert (
        r"- 1.0 \omega_{1} \theta" in second
        and r"r_{\theta}\left(\theta, \omega_{1}\right)" in first
    )
    lines = fitted(["x", "lambda"], X @ [[0, 2.5], [-1, 0]], augmentation=og.Zero()).to_latex(3)
    assert lines == [r"\dot{x} = - 1.0 \lambda", r"\dot{\lambda} = 2.5 x"]


@pytest.mark.parametrize("name", ["a b", "50%", "#1", "$x$", "a&b", "new\nline", "back\\slash"])
def test_latex_of_a_name_that_is_no_symbol_is_escaped_text(name):
    line = fitted([name, "y"], X @ [[0, 2.5], [-1, 0]], augmentation=og.Zero()).to_latex()[1]
    assert not re.search(r"(?<!\\)[%#$&\n]", line)
    assert "a b" not in line or re.search(r"\\(text|mathrm|mathit|operatorname)\{a b\}", line)
    assert r"\slash" not in line
