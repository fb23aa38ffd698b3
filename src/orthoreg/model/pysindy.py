"""`from_pysindy`: convert fitted models of PySINDy to models of this package."""

import re
from typing import Any

import numpy as np

from .._common.errors import FormulaError, InputError
from ..data import Schema
from ..diagnostics import Certificate, EquationCertificate, ErrorSplit, PenaltyBound
from ..export import import_pysindy
from ..field import TanhLayers, Zero
from ..field.hybrid import HybridField
from ..fitting import Columns, Fit
from ..simulation import input_interpolation
from ..terms import Expression, FeatureMap, Terms, evaluate, parse, rename, to_text
from . import _limits as limits
from .estimator import OrthoReg


def from_pysindy(model: Any) -> OrthoReg:
    """Convert a fitted `pysindy.SINDy` to a model of this package with the same equations.

    Parameters
    ----------
    model
        fitted `pysindy.SINDy` of ordinary differential equations, with or without inputs. Its
        library may be polynomial, Fourier, identity, a combination of these, or a `CustomLibrary`
        whose `function_names` are formulas.

    Returns
    -------
    model
        an `OrthoReg` with the terms as its library and no residual. Errors in its `certificate_`
        are NaN, because the training data are unknown. `model.summary(data)` evaluates the
        equations on data.

    Examples
    --------
    >>> import numpy as np, orthoreg as og, pysindy
    >>> t = np.linspace(0, 6, 200)
    >>> x = np.column_stack([np.cos(t), -np.sin(t)])
    >>> other = pysindy.SINDy(optimizer=pysindy.STLSQ(threshold=0.5)).fit(x, t=t)
    >>> og.from_pysindy(other).equations(2)
    ["x0' = 1.0 x1", "x1' = -1.0 x0"]
    """
    pysindy = import_pysindy("from_pysindy()")
    if not isinstance(model, pysindy.SINDy):
        raise InputError(
            f"from_pysindy takes a fitted pysindy.SINDy of continuous time; got {type(model)!r}."
        )
    coefficients = getattr(model.optimizer, "coef_", None)
    if coefficients is None or not hasattr(model, "n_control_features_"):
        raise InputError("from_pysindy takes a fitted model; call model.fit(...) first.")
    coefficients = np.array(coefficients, dtype=np.float64)
    names = tuple(str(name) for name in model.feature_names)
    n_states = len(names) - model.n_control_features_
    if coefficients.shape[0] != n_states:
        raise InputError(
            f"from_pysindy takes one equation per state; got {coefficients.shape[0]} equations for "
            f"{n_states} states."
        )
    read = _terms(model.feature_library, names, np.any(coefficients, axis=0))
    parsed = [k for k, term in enumerate(read) if term is not None]
    terms = [term for term in read if term is not None]
    merged = list(dict.fromkeys(terms))  # Fourier terms may repeat a formula
    table = np.zeros((n_states, len(merged)))
    for k, term in zip(parsed, terms, strict=True):
        table[:, merged.index(term)] += coefficients[:, k]
    return _model(names[:n_states], names[n_states:], tuple(merged), table,
                  _range(model, read, n_states))  # fmt: skip


def _terms(library: Any, names: tuple[str, ...], used: Any) -> list[Expression | None]:
    """Return the formula of each PySINDy term, or None for an unused term that cannot be parsed."""
    plain = [f"q{i}" for i in range(len(names))]
    try:
        written = library.get_feature_names(plain)
        points = np.random.default_rng(0).uniform(-1.5, 1.5, (limits.COMPARED_POINTS, len(names)))
        with np.errstate(all="ignore"):
            values = np.asarray(library.transform(points))
    except Exception as error:
        kind = type(library).__name__
        raise InputError(f"from_pysindy cannot evaluate the {kind}: {error}") from None
    terms: list[Expression | None] = []
    for k, text in enumerate(written):
        term = _read(text, plain, points, values[:, k])
        if term is None and used[k]:
            raise InputError(
                f"from_pysindy cannot read the term '{text}', where q0, q1, ... are the variables; "
                f"give the CustomLibrary function_names that return formulas."
            )
        terms.append(None if term is None else rename(term, names))
    return terms


def _read(text: str, plain: list[str], points: np.ndarray, values: np.ndarray) -> Expression | None:
    """Return the formula of a PySINDy term name, or None if its values differ from the term's."""
    # in PySINDy, a space between two factors is a product: "q0 q1^2", "sin(2 q0)"
    formula = re.sub(r"(?<=[\w)]) +(?=[\w(])", "*", text.strip())
    try:
        term = parse(formula, plain)
        with np.errstate(all="ignore"):
            evaluated = np.broadcast_to(evaluate(term, points.T, np), values.shape)
    except FormulaError:
        return None
    return term if np.allclose(evaluated, values, rtol=1e-9, atol=1e-12, equal_nan=True) else None


def _range(model: Any, terms: list[Expression | None], n_states: int) -> np.ndarray:
    """Return the minimum and maximum of each state that PySINDy stored, or zeros."""
    ranges = np.zeros((2, n_states))
    seen = getattr(model.optimizer, "Theta_", None)
    if seen is None or np.shape(seen)[1] != len(terms):
        return ranges
    for k, term in enumerate(terms):
        index = getattr(term, "index", n_states)
        if index < n_states:
            ranges[:, index] = np.min(seen[:, k]), np.max(seen[:, k])
    return ranges


def _model(
    states: tuple[str, ...],
    inputs: tuple[str, ...],
    terms: tuple[Expression, ...],
    coefficients: np.ndarray,
    state_range: np.ndarray,
) -> OrthoReg:
    features = FeatureMap(states + inputs, terms, tuple((True,) * len(terms) for _ in states))
    none = np.zeros(len(features.variables))
    field = HybridField(
        features, coefficients, TanhLayers(none, none + 1.0, (), ()),
        np.zeros((0, len(states))), np.zeros_like(coefficients), parameters=np.zeros(0),
    )  # fmt: skip
    unknown = float("nan")
    certificate = Certificate(
        0.0, 0.0, 0.0, False, 0, unknown, (),
        tuple(
            EquationCertificate(
                name, int((row != 0).sum()), unknown, 0.0, 0.0, 0.0, unknown, unknown, 0.0,
                PenaltyBound(False, 0.0, unknown), ErrorSplit(*[unknown] * 4),
            )
            for name, row in zip(states, coefficients, strict=True)
        ),
        tuple((0.0,) * len(terms) for _ in states),
    )  # fmt: skip
    library = Terms([to_text(term) for term in terms])
    return OrthoReg(library, Zero(), gate=None)._learn(
        Fit(field, certificate, None, None, state_range),
        Columns(
            Schema(state_names=tuple(states), input_names=tuple(inputs)), states,
            input_interpolation(inputs),
        ),
    )  # fmt: skip
