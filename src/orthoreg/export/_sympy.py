"""A fitted field as SymPy expressions, and as source that makes them."""

import re
from collections.abc import Sequence
from typing import Any

from ..field.hybrid import HybridField
from ..terms import SYMPY_NAMES, evaluate, to_text
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
    """One SymPy expression per equation, in symbols named as the variables.

    An equation with a residual has it as a function `residual_<name>` of all variables; with
    `residual=False` only the symbolic part is returned.
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
    """Source of a module with a dictionary `equations`, what `to_sympy` returns by name."""
    field = field.resolved()
    names = [f"z[{i}]" for i in range(len(field.features.variables))]
    formulas = [
        re.sub(
            r"sympy\.(\w+)",
            lambda called: f"sympy.{SYMPY_NAMES.get(called[1], called[1])}",
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
    some = any(has_residual(field, c) for c in range(len(outputs)))
    return _SOURCE.format(
        variables=list(field.features.variables),
        note="; residual_... stands for the network, which is not written out" if some else "",
        rows="\n".join(rows),
    )


def residual_name(output: str) -> str:
    """What the residual of an equation is called in SymPy."""
    return f"residual_{output}"
