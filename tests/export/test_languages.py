"""Exported source code in other languages returns the predictions of the model."""

import pickle
import re
import shutil
import subprocess

import interpreters
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import orthoreg as og
from orthoreg._common.errors import FormulaError, InputError
from orthoreg.export import to_julia, to_modelica
from orthoreg.field import TanhLayers
from orthoreg.field.hybrid import HybridField
from orthoreg.terms import FeatureMap, parse
from orthoreg.terms._expression import FUNCTIONS

OCTAVE = shutil.which("octave-cli") or shutil.which("octave")
X = np.random.default_rng(0).uniform(0.1, 0.9, (100, 2))
FAR = np.vstack(
    [X[::10], 1.5 * X[::10] - 0.2, 4 * X[::10] - 2]
)  # the last rows are beyond the data
SLOPES = np.column_stack([2 - 3 * X[:, 1] + 0.3 * np.cos(9 * X[:, 0]), -X[:, 0] * X[:, 1]])
FORMULAS = [
    *(f"{name}(a - b)" for name in ("sin", "abs", "sign", "heaviside", "arctan", "exp")),
    *(f"{name}(a)" for name in FUNCTIONS),
    "a**2/b", "b**-3", "2**a", "a**b", "sqrt(a)*b", "1.5e-3*b**0.5", "a**7",
]  # fmt: skip


def symmetric(symmetry):
    signed = 2 * X - 1
    slopes = np.column_stack([signed[:, 1], -np.sin(3 * signed[:, 0]) - 0.3 * signed[:, 1] ** 3])
    physics = og.Physics(symmetry=symmetry)
    data = og.Dataset.from_arrays(signed, 1.0, names=["a", "b"], derivatives=slopes)
    return og.OrthoReg("poly(1)", og.RandomFeatures(12, ridge=1e-6), physics=physics).fit(data)


MODELS = {
    "equations": lambda: og.OrthoReg("poly(2)", og.Zero()).fit(X, SLOPES),
    "held": lambda: og.OrthoReg("poly(2)", og.RandomFeatures(30)).fit(X, SLOPES),
    "vanishing": lambda: og.OrthoReg(
        "poly(2)", og.RandomFeatures(30), gate=og.Gate(hold=False)
    ).fit(X, SLOPES),
    "no gate": lambda: og.OrthoReg("poly(2)", og.RandomFeatures(30), gate=None).fit(X, SLOPES),
    "layers": lambda: og.OrthoReg(
        "poly(2)", og.MLP(6, 3, ridge=1e-6), orthogonality=0.1
    ).fit(X, SLOPES),
    "odd": lambda: symmetric(og.Odd()),
    "periodic": lambda: symmetric(og.Periodic("a")),
    "one state": lambda: og.OrthoReg("poly(1)", og.RandomFeatures(9)).fit(
        X[:, :1], np.cos(7 * X[:, :1])
    ),
    "zero": lambda: og.OrthoReg("poly(1)", og.Zero()).fit(X, 0 * X),
    "every function": lambda: og.OrthoReg(og.Terms(FORMULAS), og.Zero(), sparsity=0.0).fit(
        og.Dataset.from_arrays(X, 1.0, names=["a", "b"], derivatives=SLOPES)
    ),
}  # fmt: skip
ROWS = {"every function": X[:20], "one state": FAR[:, :1]}


@pytest.fixture(scope="module", params=MODELS, ids=lambda name: name.replace(" ", "-"))
def case(request):
    model = MODELS[request.param]()
    rows = ROWS.get(request.param, FAR)
    return model, rows, model.predict(rows), 1e-7 if request.param == "every function" else 1e-11


def in_octave(source, rows, folder):
    """Return the results of Octave for the exported file at these rows."""
    (folder / "vector_field.m").write_text(source, encoding="utf-8")
    np.savetxt(folder / "rows.txt", rows, fmt="%.17g")
    (folder / "run_rows.m").write_text(
        "rows = load('rows.txt'); out = [];\n"
        "for i = 1:size(rows, 1), out(i, :) = vector_field(rows(i, :)'); end\n"
        "for i = 1:size(out, 1), printf('%.17g ', out(i, :)); printf('\\n'); end\n"
    )
    done = subprocess.run(
        [OCTAVE, "--no-gui", "--norc", "--quiet", "run_rows.m"],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return np.array([[float(one) for one in line.split()] for line in done.stdout.splitlines()])


@pytest.mark.slow
@pytest.mark.skipif(OCTAVE is None, reason="there is no GNU Octave")
def test_matlab_predicts_the_same_near_and_far(case, tmp_path):
    model, rows, expected, tolerance = case
    values = in_octave(model.to_matlab(), rows, tmp_path)
    assert_allclose(values, expected, rtol=tolerance, atol=tolerance)


def test_julia_predicts_the_same_near_and_far(case):
    model, rows, expected, tolerance = case
    values = interpreters.julia(model.to_julia())(rows)
    assert_allclose(values, expected, rtol=tolerance, atol=tolerance)


def test_modelica_predicts_the_same_near_and_far(case):
    model, rows, expected, tolerance = case
    values = interpreters.modelica(model.to_modelica())(rows)
    assert_allclose(values, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.slow
def test_a_modelica_compiler_simulates_the_same(case):
    rumoca = pytest.importorskip(
        "rumoca", reason="there is no Modelica compiler: pip install rumoca"
    )
    model, rows, _, _ = case
    compiled = rumoca.Session().loads(model.to_modelica(), model="HybridModel")
    start = dict(zip(compiled.states.names, map(float, rows[0]), strict=True))
    config = rumoca.SimConfig(rtol=1e-9, atol=1e-11)
    found = compiled.simulate((0.0, 0.1), dt=0.01, start=start, config=config)
    expected = model.simulate(rows[0], np.asarray(found.time)).x
    assert_allclose(np.transpose(found.to_numpy(compiled.states.names)), expected, atol=1e-6)


def test_python_predicts_the_same_near_and_far(case):
    model, rows, expected, tolerance = case
    namespace = {}
    exec(model.to_python(), namespace)
    assert_allclose(namespace["vector_field"](rows), expected, rtol=tolerance, atol=tolerance)


def test_julia_and_matlab_are_what_parsers_of_these_languages_read(case):
    tree_sitter = pytest.importorskip("tree_sitter")
    for name, source in (("julia", case[0].to_julia()), ("matlab", case[0].to_matlab())):
        language = pytest.importorskip(f"tree_sitter_{name}").language()
        parser = tree_sitter.Parser(tree_sitter.Language(language))
        assert not parser.parse(source.encode()).root_node.has_error


def test_modelica_is_what_a_parser_of_modelica_reads(case):
    parser = pytest.importorskip("pymoca.parser")
    tree = parser.parse(case[0].to_modelica("Fitted"))
    assert "Fitted" in tree.classes


HOSTILE = [
    ("*/ x", "/* y"),
    ("new\nline", 'q"uote\\'),
    ("end", "der"),
    ("x y", "x_y"),
    ("#= ", "%{"),
]


@pytest.mark.parametrize("names", HOSTILE)
def test_names_do_not_leave_their_place(names, tmp_path):
    data = og.Dataset.from_arrays(X, 1.0, names=names, derivatives=SLOPES)
    model = og.OrthoReg("poly(2)", og.Zero()).fit(data)
    expected = model.predict(FAR)
    assert_allclose(interpreters.julia(model.to_julia())(FAR), expected, rtol=1e-12)
    source = model.to_modelica()
    assert_allclose(interpreters.modelica(source)(FAR), expected, rtol=1e-12)
    states = re.findall(r"^  Real (\w+)\(", source, re.M)
    assert len(set(states)) == 2 and not {"end", "der", "time"} & set(states)
    if (parser := pytest.importorskip("pymoca.parser")) is not None:
        assert parser.parse(source) is not None


def test_inputs_come_after_states_and_time_is_the_clock_of_modelica():
    u = X[:, :1] ** 2
    model = og.OrthoReg("poly(1)", og.Zero()).fit(X, SLOPES + u, u=u)
    z = np.hstack([X, u])
    assert_allclose(interpreters.julia(model.to_julia())(z), model.predict(X, u), rtol=1e-12)
    assert "vector_field([x; u(t)])" in model.to_julia()
    source = model.to_modelica()
    assert "input Real u0 " in source and "vectorField({x0, x1, u0})" in source
    t = np.linspace(0, 6, 300)
    x = (np.exp(-t) + (np.cos(t) + np.sin(t)) / 2)[:, None]
    physics = og.Physics(
        equations={
            "x0": "-x0 + a*cos(t)",
        },
        values={},
    )
    clocked = og.OrthoReg("poly(1)", og.Zero(), physics=physics).fit(x, t=t)
    assert clocked.clock_ == "t" and "vectorField({x0, time})" in clocked.to_modelica()


@pytest.mark.parametrize("name", ["a b", "1x", "", "ö"])
def test_a_name_that_modelica_does_not_take_is_refused(name):
    model = MODELS["zero"]()
    with pytest.raises(InputError, match="name of a model must consist of letters"):
        model.to_modelica(name)


# -- PySINDy -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["equations", "held", "odd", "zero", "one state"])
def test_pysindy_predicts_the_same(name):
    pytest.importorskip("pysindy")
    model = MODELS[name]()
    rows = ROWS.get(name, FAR)
    other = model.to_pysindy()
    assert_allclose(other.predict(rows), model.predict(rows), rtol=1e-12, atol=1e-12)
    assert other.coefficients().shape[0] == len(model.state_names_)
    again = pickle.loads(pickle.dumps(other))
    assert_allclose(again.predict(rows), other.predict(rows), rtol=1e-15)


@pytest.mark.slow
def test_pysindy_shows_terms_and_residuals_and_simulates():
    pytest.importorskip("pysindy")
    model = MODELS["held"]()
    other = model.to_pysindy()
    assert "residual_x0" in other.get_feature_names() and "x0*x1" in other.get_feature_names()
    t = np.linspace(0, 1, 11)
    expected = model.simulate([0.5, 0.5], t, rtol=1e-10).x
    assert_allclose(other.simulate(np.array([0.5, 0.5]), t), expected, rtol=1e-6)


@pytest.mark.slow
def test_pysindy_takes_inputs():
    pytest.importorskip("pysindy")
    u = X[:, :1] ** 2
    model = og.OrthoReg("poly(1)", og.Zero()).fit(X, SLOPES + u, u=u)
    assert_allclose(model.to_pysindy().predict(X, u=u), model.predict(X, u), rtol=1e-12)


def sindy(library, inputs=None, names=None):
    pysindy = pytest.importorskip("pysindy")
    model = pysindy.SINDy(optimizer=pysindy.STLSQ(threshold=0.0), feature_library=library)
    return model.fit(X, t=0.1, x_dot=SLOPES, u=inputs, feature_names=names)


def libraries():
    pysindy = pytest.importorskip("pysindy")
    polynomial, fourier = pysindy.PolynomialLibrary(2), pysindy.FourierLibrary(2)
    custom = pysindy.CustomLibrary(
        [lambda x: np.exp(-x), lambda x, y: x / (1 + y)],
        [lambda x: f"exp(-{x})", lambda x, y: f"{x}/(1 + {y})"],
    )
    return [polynomial, fourier, polynomial + fourier, custom, polynomial * fourier,
            pysindy.IdentityLibrary()]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("place", range(6))
@pytest.mark.parametrize("names", [None, ["x y", "sin"]])
def test_models_come_from_pysindy_with_any_library_and_names(place, names, tmp_path):
    other = sindy(libraries()[place], names=names)
    model = og.from_pysindy(other)
    assert_allclose(model.predict(FAR), other.predict(FAR), rtol=1e-9, atol=1e-9)
    assert model.state_names_ == tuple(names or ["x0", "x1"])
    model.save(tmp_path / "m.orthoreg")
    loaded = og.load(tmp_path / "m.orthoreg")
    assert_allclose(loaded.predict(FAR), model.predict(FAR), rtol=1e-15)
    assert loaded.equations() == model.equations()


@pytest.mark.slow
def test_models_from_pysindy_simulate_and_are_judged():
    pysindy = pytest.importorskip("pysindy")
    t = np.linspace(0, 6, 400)
    x = np.column_stack([np.cos(t), -np.sin(t)])
    other = pysindy.SINDy(optimizer=pysindy.STLSQ(threshold=0.5)).fit(x, t=t)
    model = og.from_pysindy(other)
    assert model.support_.sum() == 2
    assert_allclose(model.simulate([1.0, 0.0], t).x, x, atol=2e-2)
    assert_allclose(model.state_range_, [x.min(axis=0), x.max(axis=0)], rtol=1e-12)
    assert model.summary(x, t=t).verdict.text
    assert np.isnan(model.certificate_.equations[0].fit_error)
    refined = model.refine(x, t=t)
    assert_allclose(refined.coefficients_[refined.support_], [1.0, -1.0], rtol=1e-6)


@pytest.mark.slow
def test_models_from_pysindy_take_inputs():
    pysindy = pytest.importorskip("pysindy")
    u = np.random.default_rng(1).uniform(-1, 1, (100, 1))
    other = sindy(pysindy.PolynomialLibrary(2), u)
    model = og.from_pysindy(other)
    assert model.input_names_ == ("u0",)
    assert_allclose(model.predict(X, u), other.predict(X, u=u), rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_what_cannot_come_from_pysindy_is_refused_in_a_sentence():
    pysindy = pytest.importorskip("pysindy")
    with pytest.raises(InputError, match="takes a fitted pysindy.SINDy.*got"):
        og.from_pysindy("model")
    with pytest.raises(InputError, match=r"call model\.fit"):
        og.from_pysindy(pysindy.SINDy())
    unnamed = pysindy.CustomLibrary([lambda x: np.exp(-(x**2))])
    with pytest.raises(InputError, match=r"cannot read the term 'f0\(q0\)'.*function_names"):
        og.from_pysindy(sindy(unnamed))
    lying = pysindy.CustomLibrary([lambda x: np.exp(x)], [lambda x: f"sin({x})"])
    with pytest.raises(InputError, match=r"cannot read the term 'sin\(q0\)'"):
        og.from_pysindy(sindy(lying))


@pytest.mark.slow
def test_there_and_back_is_the_same_model():
    pytest.importorskip("pysindy")
    model = MODELS["equations"]()
    back = og.from_pysindy(model.to_pysindy())
    assert back.equations() == model.equations()
    assert_allclose(back.predict(FAR), model.predict(FAR), rtol=1e-12)


# -- any formula ---------------------------------------------------------------------------

FORMULA = st.recursive(
    st.sampled_from(["a", "b", "2", "0.3", "1.5e-3"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda part: "({}{}{})".format(*part)),
        st.tuples(inner, st.sampled_from(["2", "3", "-1", "-2", "0.5", "9"])).map(
            lambda part: "({})**({})".format(*part)
        ),
        st.tuples(st.sampled_from(sorted(FUNCTIONS)), inner).map(
            lambda part: "{}({})".format(*part)
        ),
    ),
    max_leaves=8,
)


@settings(max_examples=30)
@given(FORMULA)
def test_any_formula_has_the_values_of_numpy_in_every_language(formula):
    try:
        term = parse(formula, ["a", "b"])
    except FormulaError:  # a constant part without a finite value
        assume(False)
        raise
    features = FeatureMap(("a", "b"), (term,), ((True,),))
    none = np.zeros(2)
    field = HybridField(
        features, np.array([[-1.5]]), TanhLayers(none, none + 1, (), ()), np.zeros((0, 1)),
        np.zeros((1, 1)),
    )  # fmt: skip
    rows = np.vstack([X[:6], 1 - 3 * X[:6]])
    expected = field.values(rows)
    close = {"rtol": 1e-9, "atol": 1e-9, "equal_nan": True}
    assert_allclose(interpreters.julia(to_julia(field, ["a"], 2))(rows), expected, **close)
    source = to_modelica(field, ["a"], [0.0], model="M")
    assert_allclose(interpreters.modelica(source)(rows), expected, **close)
