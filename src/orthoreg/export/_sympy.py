"""Fitted fields as SymPy expressions, SymPy source and PySINDy models."""

import re
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, final

import numpy as np

from .._common.errors import InputError
from ..field.hybrid import HybridField
from ..terms import SYMPY_NAMES, Expression, evaluate, quote_name, to_text
from ._text import has_residual

_SOURCE = '''"""Equations written by orthoreg, for SymPy."""

import sympy

z = [sympy.Symbol(name) for name in {variables!r}]

# the right-hand side of each equation{note}
equations = {{
{rows}
}}
'''


def to_sympy(field: HybridField, outputs: Sequence[str], *, residual: bool = True) -> list[Any]:
    """Return one SymPy expression per equation, with symbols named like the variables.

    The residual is a function `residual_<name>` of all variables; `residual=False` omits it.
    """
    import sympy

    field = field.resolved()
    symbols = [sympy.Symbol(name) for name in field.features.variables]
    terms = [evaluate(term, symbols, sympy) for term in field.features.terms]
    expressions = []
    for c, output in enumerate(outputs):
        parts = [
            sympy.Float(float(value)) * term
            for value, term in zip(field.coefficients[c], terms, strict=True)
            if value != 0
        ]
        if residual and has_residual(field, c):
            parts.append(sympy.Function(residual_name(output))(*symbols))
        expressions.append(sympy.Add(*parts))
    return expressions


def sympy_source(field: HybridField, outputs: Sequence[str]) -> str:
    """Return the source of a module with a dictionary `equations` of the expressions of
    `to_sympy`.
    """
    field = field.resolved()
    names = [f"z[{i}]" for i in range(len(field.features.variables))]
    formulas = [
        re.sub(
            r"sympy\.(\w+)",
            lambda match: f"sympy.{SYMPY_NAMES.get(match[1], match[1])}",
            to_text(term, functions="sympy.", names=names),
        )
        for term in field.features.terms
    ]
    rows = []
    for c, output in enumerate(outputs):
        parts = [
            f"sympy.Float({float(value)!r}) * ({formula})"
            for value, formula in zip(field.coefficients[c], formulas, strict=True)
            if value != 0
        ]
        if has_residual(field, c):
            parts.append(f"sympy.Function({residual_name(output)!r})(*z)")
        rows.append(f"    {output!r}: {' + '.join(parts) or 'sympy.Integer(0)'},")
    any_residual = any(has_residual(field, c) for c in range(len(outputs)))
    return _SOURCE.format(
        variables=list(field.features.variables),
        note="; residual_... stands for the network, which is not included" if any_residual else "",
        rows="\n".join(rows),
    )


def residual_name(output: str) -> str:
    """Return the name of the residual of an equation."""
    return f"residual_{output}"


def to_pysindy(field: HybridField, outputs: Sequence[str]) -> Any:
    """Return a fitted `pysindy.SINDy` with one library function per term in use and per
    residual."""
    pysindy = import_pysindy("to_pysindy()")
    field = field.resolved().without_idle_terms()
    features, n_outputs = field.features, len(outputs)
    n_variables, n_terms = len(features.variables), len(features.terms)
    networks = [c for c in range(n_outputs) if has_residual(field, c)]
    columns = [_Term(field, k) for k in range(n_terms)] + [_Residual(field, c) for c in networks]
    names = [_Name(term) for term in features.terms]
    names += [_Name(residual_name(outputs[c])) for c in networks]
    coefficients = np.hstack([np.asarray(field.coefficients), np.eye(n_outputs)[:, networks]])
    if not columns:  # PySINDy needs a library even without terms
        columns, names, coefficients = [_nothing], [_Name("0")], np.zeros((n_outputs, 1))
    library = pysindy.CustomLibrary([_Function(column, n_variables) for column in columns], names)
    library.fit(np.zeros((2, n_variables)))  # determines only the number of columns
    optimizer = pysindy.STLSQ()
    optimizer.coef_, optimizer.intercept_ = coefficients, 0.0
    optimizer.ind_, optimizer.history_ = coefficients != 0, [coefficients]
    model = pysindy.SINDy(optimizer=optimizer, feature_library=library)
    model.n_control_features_ = n_variables - n_outputs
    model.feature_names = list(features.variables)
    model.n_features_in_, model.n_output_features_ = n_variables, len(columns)
    return model


def import_pysindy(what: str) -> Any:
    """Return the package pysindy, or raise InputError with the installation command."""
    try:
        import pysindy
    except ImportError:
        raise InputError(f"{what} needs PySINDy: pip install 'orthoreg[pysindy]'.") from None
    return pysindy


@final
class _Function:
    """A function of all variables. PySINDy reads the number of arguments from its code object."""

    def __init__(self, column: Callable[[np.ndarray], np.ndarray], n_variables: int):
        self.column = column
        self.__code__ = SimpleNamespace(co_argcount=n_variables)

    def __call__(self, *variables: Any) -> np.ndarray:
        stacked = np.stack(
            [np.asarray(variable, dtype=np.float64) for variable in variables], axis=-1
        )
        values = self.column(stacked.reshape(-1, stacked.shape[-1]))
        return values.reshape(stacked.shape[:-1])


@final
class _Term:
    def __init__(self, field: HybridField, index: int):
        self.features = field.features.only([index])

    def __call__(self, variables: np.ndarray) -> np.ndarray:
        return self.features(variables)[:, 0]


@final
class _Residual:
    def __init__(self, field: HybridField, equation: int):
        self.field, self.equation = field, equation

    def __call__(self, variables: np.ndarray) -> np.ndarray:
        return self.field.neural(variables)[:, self.equation]


def _nothing(variables: np.ndarray) -> np.ndarray:
    return np.zeros(len(variables))


@final
class _Name:
    """The name of a term in PySINDy's names for the variables, or a fixed text."""

    def __init__(self, term: Expression | str):
        self.term = term

    def __call__(self, *variables: str) -> str:
        if isinstance(self.term, str):
            return self.term
        return to_text(self.term, names=[quote_name(name) for name in variables])
