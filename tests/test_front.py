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
