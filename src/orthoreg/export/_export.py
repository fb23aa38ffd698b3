"""A fitted field as text, SymPy, LaTeX and stand-alone Python."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._errors import InputError
from .._field import HybridField
from .._gate import FARTHEST, SHARPNESS, Region
from ..libraries import evaluate, to_text


def equations(field: HybridField, outputs: Sequence[str], precision: int = 4) -> list[str]:
    """One line per equation, "omega' = -1.042 sin(theta) + residual"."""
    check_precision(precision)
    names = field.features.resolved(precision).names
    lines = []
    for c, output in enumerate(outputs):
        text = ""
        for name, value in zip(names, field.coefficients[c], strict=True):
            if value == 0:
                continue
            size = significant(abs(value), precision)
            body = size if name == "1" else f"{size} {_grouped(name)}"
            if text:
                text += f" - {body}" if value < 0 else f" + {body}"
            else:
                text = f"-{body}" if value < 0 else body
        if np.any(field.weights[:, c]):
            text = f"{text} + residual" if text else "residual"
        lines.append(f"{output}' = {text or '0'}")
    return lines


def significant(value: float, precision: int) -> str:
    """The number with so many significant digits, trailing zeros kept: 1.000, 0.0860."""
    return f"{value:#.{precision}g}".removesuffix(".")


def _grouped(name: str) -> str:
    """Brackets around a term that is a sum, so that the coefficient applies to all of it."""
    return f"({name})" if " + " in name or " - " in name else name


def to_sympy(field: HybridField) -> list[Any]:
    """f_phy as SymPy expressions in symbols named as the variables; the residual is not in them."""
    import sympy

    symbols = [sympy.Symbol(name) for name in field.features.variables]
    terms = [evaluate(term, symbols, sympy) for term in field.features.resolved().terms]
    return [
        sympy.Add(
            *(
                sympy.Float(float(value)) * term
                for value, term in zip(row, terms, strict=True)
                if value != 0
            )
        )
        for row in np.asarray(field.coefficients)
    ]


def to_latex(field: HybridField, outputs: Sequence[str], precision: int = 4) -> list[str]:
    r"""One line per equation, \dot{\theta} = 1.0 \omega; r marks a residual."""
    import sympy

    check_precision(precision)
    names = {sympy.Symbol(name): latex_name(name) for name in field.features.variables}
    lines = []
    for c, (output, expression) in enumerate(zip(outputs, to_sympy(field), strict=True)):
        left = latex_name(output)
        right = sympy.latex(expression.evalf(precision), symbol_names=names)
        if np.any(field.weights[:, c]):
            mark = rf"r_{{{left}}}\left({', '.join(names.values())}\right)"
            right = mark if expression == 0 else f"{right} + {mark}"
        lines.append(rf"\dot{{{left}}} = {right}")
    return lines


def latex_name(name: str) -> str:
    """A variable's name in mathematics: Greek letters and indices as such, the rest as text."""
    import sympy

    if re.fullmatch(r"[A-Za-z]+(_?[A-Za-z0-9]+)?", name):
        return sympy.latex(sympy.Symbol(name))
    escapes = {"\\": r"\backslash{}", "^": r"\hat{}", "~": r"\sim{}"}
    text = "".join(
        escapes.get(letter, f"\\{letter}" if letter in "#$%&_{}" else letter)
        for letter in " ".join(name.split())
    )
    return rf"\mathrm{{{text.replace(' ', '~')}}}"


def check_precision(precision: int) -> None:
    """Refuses a number of digits that is not a whole number of at least 1."""
    if isinstance(precision, bool) or not isinstance(precision, int) or precision < 1:
        raise InputError(f"precision must be a whole number of at least 1; got {precision!r}.")


_PYTHON = '''"""{title}"""

import numpy as np


def vector_field(variables):
    """Derivatives at variables of shape (N, {n_variables}) or ({n_variables},).

{variables}
    """
    z = np.asarray(variables, dtype=float)
    columns = [z[..., i] for i in range({n_variables})]
    result = np.stack(
        np.broadcast_arrays(
            z[..., 0] * 0.0,
{rows}
        )[1:],
        axis=-1,
    )
{residual}    return result
'''


def to_python(field: HybridField, outputs: Sequence[str]) -> str:
    """Source of a module with one function, `vector_field`, that needs NumPy alone.

    The residual is included, its weights written out in full precision.
    """
    field = field.without_idle_terms().without_idle_basis()
    names = [f"columns[{i}]" for i in range(len(field.features.variables))]
    formulas = [to_text(term, functions="np.", names=names) for term in field.features.resolved().terms]
    equations = _sums(field.coefficients, formulas)
    described = [
        f"    Column {i} is {name!r}." for i, name in enumerate(field.features.variables)
    ] + [f"    Result {c} is the derivative of {name!r}." for c, name in enumerate(outputs)]
    return _PYTHON.format(
        title="Vector field written by orthoreg.",
        n_variables=len(names),
        variables="\n".join(described).replace("\\", "\\\\").replace('"""', "'''"),
        rows="\n".join(f"            {equation}," for equation in equations),
        residual=_residual_source(field, formulas),
    )


def _sums(coefficients: Any, formulas: Sequence[str]) -> list[str]:
    """One sum of terms per equation, as source."""
    return [
        " + ".join(
            f"{float(value)!r} * ({formula})"
            for value, formula in zip(row, formulas, strict=True)
            if value != 0
        )
        or "0.0"
        for row in np.asarray(coefficients)
    ]


def _residual_source(field: HybridField, formulas: Sequence[str]) -> str:
    lines = ["residual = np.zeros(result.shape)"]
    for c, correction in enumerate(_sums(field.correction, formulas)):
        if correction != "0.0":
            lines.append(f"residual[..., {c}] -= {correction}")
    basis = field.basis
    if basis.size:
        lines.append(f"hidden = (z - {_literal(basis.mean)}) / {_literal(basis.scale)}")
        for weight, bias in zip(basis.weights, basis.biases, strict=True):
            lines.append(f"hidden = np.tanh(hidden @ {_literal(weight)} + {_literal(bias)})")
        lines.append(f"residual += hidden @ {_literal(field.weights[:-1])}")
        lines.append(f"residual += {_literal(field.weights[-1])}")
    if len(lines) == 1:
        return ""
    if field.region is not None:
        lines += _gate_source(field.region)
    lines.append("result = result + residual")
    return "".join(f"    {line}\n" for line in lines)


def _gate_source(region: Region) -> list[str]:
    """`Region.gated` as source."""
    lines = [
        f"away = (z * {_literal(region.rate)})[..., None, :] - {_literal(region.landmarks)}",
        f"away = np.clip(away, -{FARTHEST!r}, {FARTHEST!r})",
        "beyond = np.sqrt(np.maximum(np.sum(away**2, axis=-1), 1.0))",
        "nearest = np.min(beyond, axis=-1, keepdims=True)",
        f"step = np.minimum((nearest - 1.0) / {float(region.fade)!r}, 1.0)",
        "share = 1.0 - step**2 * (3.0 - 2.0 * step)",
        "residual = np.where(share > 0.0, residual, 0.0) * share",
    ]
    if region.held is not None:
        lines += [
            f"weights = np.exp({SHARPNESS!r} * (nearest - beyond))",
            "weights = weights / np.sum(weights, axis=-1, keepdims=True)",
            f"residual = residual + (1.0 - share) * (weights @ {_literal(region.held)})",
        ]
    return lines


def _literal(array: Any) -> str:
    """An array as source that gives back the same bits."""
    return f"np.array({np.asarray(array).tolist()!r})"
