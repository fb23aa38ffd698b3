"""What `OrthoReg` takes and shows: libraries as text, warnings at the door, printing."""

import numpy as np
import pytest
from sklearn.base import clone

import orthoreg as og
from orthoreg._errors import FormulaError, InputError

X = np.random.default_rng(0).uniform(0.2, 1.8, (120, 2))
Y = np.column_stack([X[:, 1], -X[:, 0] / (0.5 + X[:, 0])])
DATA = og.Dataset.from_arrays(X, 1.0, names=["S", "v"], derivatives=Y)


# -- one choice of terms -------------------------------------------------------------------


def test_a_selection_that_sparsity_would_override_is_refused():
    model = og.OrthoReg(selection=og.Extrapolation(), sparsity=0.1)
    with pytest.raises(InputError, match=r"got selection=Extrap.* and sparsity=0\.1\. Give one"):
        model.fit(X, Y)
    for one in ({"selection": None}, {"sparsity": None}):
        clone(model).set_params(**one, augmentation=og.Zero()).fit(X, Y)


def test_a_selection_without_derivatives_is_refused():
    model = og.OrthoReg(selection=og.Extrapolation(), loss=og.OneStep())
    with pytest.raises(InputError, match=r"which loss=OneStep\(.* Leave selection out"):
        model.fit(X, t=0.1)


def test_tune_refuses_a_selection_instead_of_dropping_it():
    model = og.OrthoReg(selection=og.Extrapolation(), solver=og.Exact())
    with pytest.raises(InputError, match=r"tune chooses.*selection=Extrapolation.* Leave"):
        og.tune(model, X, Y)


def test_a_file_with_both_is_read_as_what_it_was(tmp_path):
    model = og.OrthoReg(og.Polynomial(1), og.Zero(), sparsity=0.01).fit(X, Y)
    model.selection = og.Extrapolation()  # older versions fitted it and paid no attention
    model.save(tmp_path / "m.orthoreg")
    loaded = og.load(tmp_path / "m.orthoreg")
    assert (loaded.selection, loaded.sparsity) == (None, 0.01)
    assert loaded.score(X, Y) == model.score(X, Y)


# -- libraries as text ---------------------------------------------------------------------

TEXT = "poly(1) + S/(0.5 + S)"


@pytest.mark.parametrize(
    "model",
    [
        og.OrthoReg(TEXT, og.Zero()),
        og.STLSQ(0.1, TEXT),
        og.OrthoReg(og.PerState({"S": TEXT}, TEXT)),
    ],
    ids=lambda model: type(model.library).__name__ + type(model).__name__,
)
def test_a_text_is_the_library_that_it_writes(model):
    library = og.Polynomial(1) + og.Terms(["S/(0.5 + S)"])
    fitted = clone(model).fit(DATA)
    assert fitted.equations() == clone(model).set_params(library=library).fit(DATA).equations()
    assert fitted.equations() == ["S' = 1.000 v", "v' = -1.000 S/(0.5 + S)"]


def test_a_text_stays_as_it_was_written(tmp_path):
    model = og.OrthoReg(TEXT, og.Zero())
    assert clone(model).get_params()["library"] == TEXT == model.set_params(seed=1).library
    assert repr(TEXT) in repr(model)
    model.fit(DATA).save(tmp_path / "m.orthoreg")
    loaded = og.load(tmp_path / "m.orthoreg")
    assert model.library == TEXT == loaded.library
    assert loaded.score(DATA) == model.score(DATA)


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("poly(2) + S/(K + S)", r"'S/\(K \+ S\)': unknown variable 'K'.* Known are 'S', 'v'"),
        ("poly", r"needs a whole number, as in 'poly\(2\)'.*backticks: '`poly`'"),
        ("", "a part is empty"),
        ("polly(2)", "Did you mean 'poly'"),
    ],
)
@pytest.mark.parametrize("kind", [og.OrthoReg, og.STLSQ])
def test_a_text_that_cannot_be_read_is_named(kind, text, sentence):
    with pytest.raises(FormulaError, match=sentence):
        kind(library=text).fit(DATA)


def test_a_column_may_be_called_as_a_family():
    data = og.Dataset.from_arrays(X, 1.0, names=["poly", "v"], derivatives=X @ [[0, 0], [2, 3]])
    model = og.OrthoReg("`poly` + v", og.Zero()).fit(data)
    assert model.equations() == ["poly' = 2.000 v", "v' = 3.000 v"]


# -- printing ------------------------------------------------------------------------------


def test_a_fitted_model_prints_its_equations_below_its_constructor():
    model = og.OrthoReg("poly(1) + S/(0.5 + S)", og.Zero())
    assert str(model) == repr(model)
    model.fit(DATA)
    assert str(model).splitlines() == [
        "OrthoReg(augmentation=Zero(), library='poly(1) + S/(0.5 + S)')",
        "S' = 1.000 v",
        "v' = -1.000 S/(0.5 + S)",
    ]
    assert eval(repr(model), vars(og)).get_params() == model.get_params()


@pytest.mark.parametrize("view", ["_repr_html_", "_repr_mimebundle_"])
def test_a_notebook_shows_the_equations_with_names_that_run_no_code(view):
    names = ["<script>alert(1)</script>", "a&b"]
    data = og.Dataset.from_arrays(X, 1.0, names=names, derivatives=X[:, ::-1])
    model = og.OrthoReg(og.Polynomial(1), og.Zero())
    unfitted = getattr(model, view)()
    shown = getattr(model.fit(data), view)()
    if isinstance(shown, dict):
        unfitted, shown = unfitted["text/html"], shown["text/html"]
    line = "a&amp;b&#x27; = 1.000 `&lt;script&gt;alert(1)&lt;/script&gt;`"
    assert line in shown and line not in unfitted
    assert "<script>alert" not in shown
    assert "sk-container" in shown  # scikit-learn's own view is still there


def test_a_bootstrap_prints_terms_intervals_probabilities_and_confounded_pairs():
    rng = np.random.default_rng(0)
    x = rng.uniform(-0.2, 0.2, (400, 2))
    y = np.column_stack([x[:, 1], -np.sin(x[:, 0]) - 0.3 * x[:, 1]])
    y[:, 1] += 0.01 * rng.standard_normal(400)
    data = og.Dataset.from_arrays(x, 1.0, names=["theta", "g"], derivatives=y * [0, 1])
    found = og.bootstrap(og.OrthoReg("poly(1) + sin(theta)", og.Zero()).fit(data))
    header, empty, *terms, pair = str(found).splitlines()
    assert header.split("  ")[0] == "equation" and "95 % interval" in header
    assert empty.split() == ["theta'", "no", "terms"]
    chosen = [k for k in (1, 2, 3) if found.support[1, k] or found.probability[1, k] >= 0.05]
    assert len(terms) == len(chosen)
    for k, line in zip(chosen, terms, strict=True):
        assert f" {found.feature_names[k]} " in line
        assert line.endswith(f"{100 * found.probability[1, k]:.0f} %")
        low, high = found.interval[1, k]
        assert (f"{low:#.4g} to {high:#.4g}" if found.support[1, k] else "left out") in line
    assert any("left out" in line for line in terms)
    assert pair == f"g': {found.lookalikes[0].advice}"
    assert repr(found) == str(found)
