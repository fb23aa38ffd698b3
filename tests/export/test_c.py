"""The exported C function returns the predictions of the model."""

import ctypes
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import orthoreg as og
from orthoreg.export import to_c
from orthoreg.terms._expression import FUNCTIONS

COMPILER = shutil.which("gcc") or shutil.which("cc")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")

X = np.random.default_rng(0).uniform(0.1, 0.9, (200, 2))
FAR = np.vstack([X, 1.5 * X - 0.2, 4 * X - 2])  # the last rows are far beyond the data
SLOPES = np.column_stack([2 - 3 * X[:, 1] + 0.3 * np.cos(9 * X[:, 0]), -X[:, 0] * X[:, 1]])


def compiled(source, folder):
    """Return the function of the exported file for arrays (N, V) -> (N, n)."""
    (folder / "field.c").write_text(source, encoding="utf-8")
    strict = "-std=c99 -pedantic -Wall -Wextra -Wshadow -Werror -O1 -shared -fPIC".split()
    done = subprocess.run(
        [COMPILER, *strict, "field.c", "-o", "field.so", "-lm"],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    function = ctypes.CDLL(str(folder / "field.so")).vector_field
    function.restype = None
    pointer = ctypes.POINTER(ctypes.c_double)

    def field(variables, n_outputs):
        rows = np.ascontiguousarray(variables)
        result = np.full((len(rows), n_outputs), np.nan)
        for row, out in zip(rows, result, strict=True):
            function(row.ctypes.data_as(pointer), out.ctypes.data_as(pointer))
        return result

    return field


@pytest.mark.parametrize(
    "options",
    [
        {"augmentation": og.Zero()},
        {"augmentation": og.RandomFeatures(30)},
        {"augmentation": og.RandomFeatures(30), "gate": None},
        {"augmentation": og.MLP(6, 3, ridge=1e-6), "orthogonality": 0.1},
    ],
    ids=["no residual", "gate", "no gate", "layers"],
)
def test_c_predicts_the_same_near_and_far(tmp_path, options):
    model = og.OrthoReg("poly(2)", **options).fit(X, SLOPES)
    assert model.decompose(X)[1].any() == (options["augmentation"] != og.Zero())
    values = compiled(model.to_c(), tmp_path)(FAR, 2)
    assert_allclose(values, model.predict(FAR), rtol=1e-11, atol=1e-11)


def test_c_takes_the_projection_out_of_the_network(tmp_path):
    model = og.OrthoReg("poly(2)", og.RandomFeatures(10)).fit(X, SLOPES)
    field = replace(model.field_, correction=np.arange(12.0).reshape(2, 6))
    values = compiled(to_c(field, model.output_names_), tmp_path)(FAR, 2)
    assert_allclose(values, field.values(FAR), rtol=1e-11, atol=1e-11)


def test_c_of_a_network_alone_with_inputs(tmp_path):
    solver = og.Adam(epochs=2, normalize=True)
    model = og.UniversalODE(4, 2, solver=solver).fit(X, SLOPES[:, 0], u=X[:, :1] ** 2)
    field = compiled(model.to_c(), tmp_path)
    predicted = model.predict(X, X[:, :1] ** 2)
    assert_allclose(field(np.hstack([X, X[:, :1] ** 2]), 1)[:, 0], predicted, rtol=1e-11)


def test_c_knows_every_function_and_kind_of_formula(tmp_path):
    formulas = [
        f"{function}(a - b)" for function in ("sin", "abs", "sign", "heaviside", "arctan", "exp")
    ]
    formulas += [f"{function}(a)" for function in FUNCTIONS if f"{function}(a - b)" not in formulas]
    formulas += ["a**2/b", "b**-3", "2**a", "a**b", "sqrt(a)*b", "1.5e-3*b**0.5", "a**7", "pi*b"]
    data = og.Dataset.from_arrays(X, 1.0, names=["a", "b"], derivatives=SLOPES)
    model = og.OrthoReg(og.Terms(formulas), og.Zero(), sparsity=0.0).fit(data)
    assert model.support_.any(axis=0).sum() > 15
    assert_allclose(compiled(model.to_c(), tmp_path)(X, 2), model.predict(X), rtol=1e-8)


@pytest.mark.parametrize("value", [0.0, 2.5])
def test_c_of_zero_and_of_a_constant(tmp_path, value):
    constant = np.outer(np.ones(200), [0.0, value])
    model = og.OrthoReg("poly(1)", og.Zero()).fit(X, constant)
    assert_allclose(compiled(model.to_c(), tmp_path)(X, 2), constant, rtol=1e-12)


@pytest.mark.parametrize("names", [("*/ x", "/* y"), ("??/", "??/ \\u002f"), ("ö\\", '"%s"')])
def test_names_do_not_leave_their_comment(tmp_path, names):
    data = og.Dataset.from_arrays(X, 1.0, names=names, derivatives=SLOPES)
    model = og.OrthoReg("poly(2)", og.Zero()).fit(data)
    assert_allclose(compiled(model.to_c(), tmp_path)(X, 2), model.predict(X), rtol=1e-12)


def test_states_and_derivatives_may_be_one_array(tmp_path):
    model = og.OrthoReg("poly(1)", og.Zero()).fit(X, X[:, ::-1])
    compiled(model.to_c(), tmp_path)
    function = ctypes.CDLL(str(tmp_path / "field.so")).vector_field
    both = (ctypes.c_double * 2)(0.25, 0.5)
    function(both, both)
    assert_allclose(list(both), [0.5, 0.25], rtol=1e-9)
