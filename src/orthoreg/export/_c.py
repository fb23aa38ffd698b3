"""A fitted field as a stand-alone C function."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .._field import HybridField
from .._gate import FARTHEST, SHARPNESS, Region
from ..libraries import FeatureMap, compiled
from ._text import tanh_layers

_FUNCTIONS = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "abs": "fabs"}
_NUMBERS_PER_LINE = 4

_C = """/* Vector field written by orthoreg, in C99. Link with the mathematics library, -lm.

   vector_field writes the derivatives at the variables z into dxdt; both may be the same array.

{described}
*/

#include <math.h>
{parts}
void vector_field(const double *z, double *dxdt)
{{
    double f[{n_outputs}];
{body}
    for (int c = 0; c < {n_outputs}; c++) dxdt[c] = f[c];
}}
"""
_SIGN = """
static double sign(double value)
{
    return value > 0.0 ? 1.0 : value < 0.0 ? -1.0 : value;
}
"""


_HEAVISIDE = """
static double heaviside(double value)
{
    return value > 0.0 ? 1.0 : value < 0.0 ? 0.0 : value == 0.0 ? 0.5 : value;
}
"""


def to_c(field: HybridField, outputs: Sequence[str]) -> str:
    """Source of a C99 file with `void vector_field(const double *z, double *dxdt)`, which needs
    the C library alone. The residual is included, its weights written out in full precision."""
    field = field.resolved().without_idle_terms().without_idle_basis()
    described = [
        *(f"   z[{i}] is {_comment(name)}" for i, name in enumerate(field.features.variables)),
        *(f"   dxdt[{c}] is the derivative of {_comment(name)}" for c, name in enumerate(outputs)),
    ]
    parts, body = [], []
    if not (field.features.terms or field.basis.size):
        body += ["(void)z;"]
    if field.features.terms:
        parts += [_terms(field.features)]
        body += [f"double t[{len(field.features.terms)}];", "terms(z, t);"]
    body += [f"f[{c}] = {row};" for c, row in enumerate(_sums(field.coefficients))]
    if field.basis.size or np.any(field.correction):
        parts += [_residual(field)]
        terms = "t, " if field.features.terms else ""
        body += [f"double r[{len(outputs)}];", f"residual(z, {terms}r);"]
        if field.region is not None:
            parts += [_gate(field.region, len(outputs))]
            body += ["gate(z, r);"]
        body += [f"for (int c = 0; c < {len(outputs)}; c++) f[c] += r[c];"]
    return _C.format(
        described="\n".join(described),
        parts="".join(parts),
        n_outputs=len(outputs),
        body="\n".join(f"    {line}" for line in body),
    )


def _terms(features: FeatureMap) -> str:
    """The library's terms, each part that several share computed once."""
    program = compiled(features.terms)
    lines = []
    for place, (operation, operands) in enumerate(program.steps):
        if operation == "number":
            value = repr(float(operands[0]))
        elif operation == "variable":
            value = f"z[{operands[0]}]"
        elif operation == "call":
            value = f"{_FUNCTIONS.get(operands[0], operands[0])}(s{operands[1]})"
        elif operation == "power":
            value = f"pow(s{operands[0]}, s{operands[1]})"
        else:
            sign = {"add": " + ", "multiply": " * "}[operation]
            value = sign.join(f"s{operand}" for operand in operands)
        lines.append(f"const double s{place} = {value};")
    lines += [f"t[{k}] = s{place};" for k, place in enumerate(program.results)]
    if not any(operation == "variable" for operation, _ in program.steps):
        lines.insert(0, "(void)z;")
    calls = {operands[0] for operation, operands in program.steps if operation == "call"}
    helpers = (_SIGN if "sign" in calls else "") + (_HEAVISIDE if "heaviside" in calls else "")
    return helpers + _function("void terms(const double *z, double *t)", lines)


def _sums(coefficients: Any) -> list[str]:
    """One sum of terms per equation."""
    return [
        " + ".join(f"{float(value)!r} * t[{k}]" for k, value in enumerate(row) if value != 0)
        or "0.0"
        for row in np.asarray(coefficients)
    ]


def _residual(field: HybridField) -> str:
    """The network, less what an exact projection takes out of it."""
    basis, n_outputs = tanh_layers(field), len(field.coefficients)
    source = ""
    lines = [f"r[{c}] = {row};" for c, row in enumerate(_sums(-np.asarray(field.correction)))]
    arguments = "const double *x, const double *t, double *r"
    if not field.features.terms:
        arguments = arguments.replace("const double *t, ", "")
    elif not np.any(field.correction):
        lines.append("(void)t;")
    if basis.size:
        width = len(basis.mean)
        source += _constant("mean", basis.mean) + _constant("scale", basis.scale)
        lines += [
            f"double h0[{width}];",
            f"for (int i = 0; i < {width}; i++) h0[i] = (x[i] - mean[i]) / scale[i];",
        ]
        for k, (weight, bias) in enumerate(zip(basis.weights, basis.biases, strict=True), start=1):
            source += _constant(f"weight{k}", np.transpose(weight)) + _constant(f"bias{k}", bias)
            before, width = np.shape(weight)
            lines += [
                f"double h{k}[{width}];",
                f"for (int j = 0; j < {width}; j++) {{",
                f"    h{k}[j] = bias{k}[j];",
                f"    for (int i = 0; i < {before}; i++) h{k}[j] += weight{k}[j][i] * h{k - 1}[i];",
                f"    h{k}[j] = tanh(h{k}[j]);",
                "}",
            ]
        source += _constant("output", np.transpose(field.weights[:-1]))
        source += _constant("offset", field.weights[-1])
        last = f"h{len(basis.weights)}"
        lines += [
            f"for (int c = 0; c < {n_outputs}; c++) {{",
            "    r[c] += offset[c];",
            f"    for (int j = 0; j < {width}; j++) r[c] += output[c][j] * {last}[j];",
            "}",
        ]
    else:
        lines.append("(void)x;")
    return source + _function(f"void residual({arguments})", lines)


def _gate(region: Region, n_outputs: int) -> str:
    """`Region.gated`: the residual as it is on the training data, and held or zero far away."""
    count, width = np.shape(region.landmarks)
    constants = _constant("rate", region.rate) + _constant("landmarks", region.landmarks)
    lines = [
        f"double beyond[{count}], nearest = HUGE_VAL;",
        f"for (int l = 0; l < {count}; l++) {{",
        "    double square = 0.0;",
        f"    for (int i = 0; i < {width}; i++) {{",
        "        double away = z[i] * rate[i] - landmarks[l][i];",
        f"        away = fmin(fmax(away, -{FARTHEST!r}), {FARTHEST!r});",
        "        square += away * away;",
        "    }",
        "    beyond[l] = sqrt(fmax(square, 1.0));",
        "    nearest = fmin(nearest, beyond[l]);",
        "}",
        f"const double step = fmin((nearest - 1.0) / {float(region.fade)!r}, 1.0);",
        "const double share = 1.0 - step * step * (3.0 - 2.0 * step);",
        f"for (int c = 0; c < {n_outputs}; c++) r[c] = share > 0.0 ? share * r[c] : 0.0;",
    ]
    if region.held is not None:
        constants += _constant("held", region.held)
        lines += [
            "double total = 0.0;",
            f"for (int l = 0; l < {count}; l++) "
            f"total += beyond[l] = exp({SHARPNESS!r} * (nearest - beyond[l]));",
            f"for (int l = 0; l < {count}; l++)",
            f"    for (int c = 0; c < {n_outputs}; c++)",
            "        r[c] += (1.0 - share) * beyond[l] / total * held[l][c];",
        ]
    return constants + _function("void gate(const double *z, double *r)", lines)


def _function(head: str, lines: Iterable[str]) -> str:
    body = "\n".join(f"    {line}" for line in lines)
    return f"\nstatic {head}\n{{\n{body}\n}}\n"


def _constant(name: str, array: Any) -> str:
    """An array as source that gives back the same bits."""
    array = np.asarray(array, dtype=np.float64)
    shape = "".join(f"[{size}]" for size in array.shape)
    if array.ndim == 1:
        body = _braces(array)
    else:
        body = "{\n" + ",\n".join(f"    {_braces(row)}" for row in array) + "\n}"
    return f"\nstatic const double {name}{shape} = {body};\n"


def _braces(row: np.ndarray) -> str:
    numbers = [repr(value) for value in row.tolist()]
    starts = range(0, len(numbers), _NUMBERS_PER_LINE)
    lines = (", ".join(numbers[i : i + _NUMBERS_PER_LINE]) for i in starts)
    return "{" + ",\n    ".join(lines) + "}"


def _comment(name: str) -> str:
    """A name as it may stand in a comment of C, on one line."""
    shown = "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in name
    )
    for sign in ("*/", "/*", "??"):  # ends a comment, begins one, begins a trigraph
        shown = shown.replace(sign, " ".join(sign))
    return f"'{shown}'"
