"""Arguments and output of `OrthoReg`: libraries as text, warnings on data, and printing."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

import orthoreg as og
from orthoreg._common.errors import DataError, DataWarning, FormulaError, InputError

X = np.random.default_rng(0).uniform(0.2, 1.8, (120, 2))
Y = np.column_stack([X[:, 1], -X[:, 0] / (0.5 + X[:, 0])])
DATA = og.Dataset.from_arrays(X, 1.0, names=["S", "v"], derivatives=Y)


# -- one choice of terms -------------------------------------------------------------------


def test_a_selection_that_sparsity_would_override_is_refused():
    model = og.OrthoReg(selection=og.Extrapolation(), sparsity=0.1)
    with pytest.raises(
        InputError, match=r"got selection=Extrap.* and sparsity=0\.1\. Give only one"
    ):
        model.fit(X, Y)
    for one in ({"selection": None}, {"sparsity": None}):
        clone(model).set_params(**one, augmentation=og.Zero()).fit(X, Y)


def test_a_selection_without_derivatives_is_refused():
    model = og.OrthoReg(selection=og.Extrapolation(), loss=og.MultiStep(1))
    with pytest.raises(
        InputError, match=r"selection=.* unlike loss=MultiStep\(.* without a selection"
    ):
        model.fit(X, t=0.1)


def test_tune_refuses_a_selection_instead_of_dropping_it():
    model = og.OrthoReg(selection=og.Extrapolation(), solver=og.Exact())
    with pytest.raises(InputError, match=r"tune selects.*selection=Extrapolation.* Omit"):
        og.tune(model, X, Y)


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
        ("poly(2) + S/(K + K)", r"'S/\(K \+ K\)': 'K' only multiplies the term"),
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


# -- warnings at the door ------------------------------------------------------------------


@pytest.mark.parametrize(
    "rows, library, enough",
    [(5, "poly(2)+fourier(1)", 20), (19, "poly(2)+fourier(1)", 20), (9, "poly(1)", 10)],
)
def test_few_rows_are_named_against_what_is_asked_of_them(rows, library, enough):
    model = og.OrthoReg(library, og.Zero())
    terms = {20: 10, 10: 3}[enough]
    said = f"only {rows} rows for {terms} candidate terms .* at least {enough} rows"
    with pytest.warns(DataWarning, match=said) as caught:
        model.fit(X[:rows], Y[:rows])
    assert caught[0].filename == __file__
    model.fit(X[:enough], Y[:enough])  # warnings are errors here


def test_the_terms_of_the_largest_equation_count():
    library = og.PerState({"x0": "poly(1)"}, "poly(2)")
    with pytest.warns(DataWarning, match="rows for 6 candidate terms"):
        og.OrthoReg(library, og.Zero()).fit(X[:11], Y[:11])
    og.OrthoReg(library, og.Zero()).fit(X[:12], Y[:12])


def test_transposed_data_are_noticed():
    t = np.linspace(0, 3, 30)
    x = np.column_stack([np.cos(t), -np.sin(t)])
    model = og.OrthoReg("poly(1)", og.Zero())
    with pytest.warns(DataWarning, match="2 rows of 30 states.* did you mean x.T"):
        model.fit(x.T, x.T)
    with pytest.raises(DataError, match=r"t has shape \(30,\) and x has 2 rows. Did you mean x.T"):
        model.fit(x.T, t=t)
    with pytest.raises(DataError, match="x has 29 rows.$"):
        model.fit(x[1:], t=t)


# -- frames --------------------------------------------------------------------------------


def test_names_come_from_the_columns_of_frames_of_every_run():
    t = np.linspace(0, 3, 60)
    runs = [
        pd.DataFrame({"angle": a * np.cos(t), "speed": -a * np.sin(t)}, index=t) for a in (1.0, 2.0)
    ]
    inputs = [pd.DataFrame({"push": np.sin(3 * t)})] * 2
    times = pd.Series(t)
    model = og.OrthoReg("poly(1)", og.Zero())
    assert model.fit(runs, t=times).state_names_ == ("angle", "speed")
    assert model.equations() == ["angle' = 1.000 speed", "speed' = -1.000 angle"]
    assert model.fit(runs, t=[times, times], u=inputs).input_names_ == ("push",)
    assert model.fit(runs[0], t=0.05, u=inputs[0]).input_names_ == ("push",)


def test_names_of_inputs_come_from_a_frame_beside_derivatives_too():
    u = pd.DataFrame({"push": X[:, 1]})
    model = og.OrthoReg("poly(1)", og.Zero()).fit(X[:, :1], -X[:, :1] + 2 * X[:, 1:], u=u)
    assert model.equations() == ["x0' = -1.000 x0 + 2.000 push"]
    assert_array_equal(model.predict(X[:, :1], u), model.predict(X[:, :1], X[:, 1:]))
    with pytest.raises(InputError, match="u must have the columns 'push'.* it has 'pull'"):
        model.predict(X[:, :1], u.rename(columns={"push": "pull"}))
    with pytest.raises(InputError, match="different names"):
        model.fit(pd.DataFrame(X[:, :1], columns=["push"]), X[:, :1], u=u)


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


def test_a_notebook_shows_the_equations_with_names_that_run_no_code():
    names = ["<script>alert(1)</script>", "a&b"]
    data = og.Dataset.from_arrays(X, 1.0, names=names, derivatives=X[:, ::-1])
    model = og.OrthoReg(og.Polynomial(1), og.Zero())
    unfitted, shown = model._repr_html_(), model.fit(data)._repr_html_()
    name = "<mi>&lt;script&gt;alert(1)&lt;/script&gt;</mi>"  # typeset
    assert name in shown and name not in unfitted
    assert "<script>alert" not in shown
    assert "OrthoReg(augmentation=Zero(), library=Polynomial(degree=1" in shown


def test_a_bootstrap_prints_terms_intervals_probabilities_and_confounded_pairs():
    rng = np.random.default_rng(0)
    x = rng.uniform(-0.2, 0.2, (400, 2))
    y = np.column_stack([x[:, 1], -np.sin(x[:, 0]) - 0.3 * x[:, 1]])
    y[:, 1] += 0.01 * rng.standard_normal(400)
    data = og.Dataset.from_arrays(x, 1.0, names=["theta", "g"], derivatives=y * [0, 1])
    found = og.bootstrap(og.OrthoReg("poly(1) + sin(theta)", og.Zero()).fit(data))
    header, empty, *terms, pair = str(found).splitlines()
    assert header.split("  ")[0] == "equation" and "95% interval" in header
    assert empty.split() == ["theta'", "no", "terms"]
    chosen = [k for k in (1, 2, 3) if found.support[1, k] or found.probability[1, k] >= 0.05]
    assert len(terms) == len(chosen)
    for k, line in zip(chosen, terms, strict=True):
        assert f" {found.feature_names[k]} " in line
        assert line.endswith(f"{100 * found.probability[1, k]:.0f}%")
        low, high = found.interval[1, k]
        assert (f"{low:#.4g} to {high:#.4g}" if found.support[1, k] else "left out") in line
    assert any("left out" in line for line in terms)
    assert pair == f"g': {found.confounded[0].advice}"
    assert repr(found) == str(found)
