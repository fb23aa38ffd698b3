"""A fitted field as a stand-alone C function."""

from collections.abc import Sequence
from typing import final

import numpy as np

from ..field.hybrid import HybridField
from ._dialect import AbstractDialect, array, described
from ._steps import Affine, Constant, Reduced, Vector, steps_of

_NUMBERS_PER_LINE = 4

_C = """/* Vector field written by orthoreg, in C99. Link with the mathematics library, -lm.

   vector_field writes the derivatives at the variables z into dxdt; both may be the same array.

{described}
*/

#include <math.h>
{parts}
void vector_field(const double *z, double *dxdt)
{{
{body}
    for (int i = 0; i < {n_outputs}; i++) dxdt[i] = f[i];
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
    steps, dialect = steps_of(field), _C99()
    lines = [] if steps.uses_variables else ["(void)z;"]
    lines += [f"double {name}[{size}];" for name, size in steps.vectors.items()]
    lines += dialect.lines(steps.steps)
    names = described(field.features.variables, outputs, "{}[{}]")
    return _C.format(
        described="\n".join(f"   {line}" for line in names),
        parts="".join([*dialect.called_helpers(steps), *map(dialect.constant, steps.constants)]),
        n_outputs=len(outputs),
        body="\n".join(f"    {line}" for line in lines),
    )


@final
class _C99(AbstractDialect):
    functions = {
        "arcsin": "asin", "arccos": "acos", "arctan": "atan", "abs": "fabs", "power": "pow",
        "min": "fmin", "max": "fmax",
    }  # fmt: skip
    helpers = {"sign": _SIGN, "heaviside": _HEAVISIDE}
    first = 0

    def element(self, name, index):
        return f"{name}[{index}]"

    def whole(self, name):
        return f"{name}[i]"

    def constant(self, constant: Constant) -> str:
        values = array(constant.values)
        shape = "".join(f"[{size}]" for size in values.shape)
        if values.ndim == 1:
            body = _braces(values)
        else:
            body = "{\n" + ",\n".join(f"    {_braces(row)}" for row in values) + "\n}"
        return f"\nstatic const double {constant.name}{shape} = {body};\n"

    def scalar(self, name, formula):
        yield f"const double {name} = {formula};"

    def gathered(self, name, formulas):
        yield from (f"{name}[{i}] = {formula};" for i, formula in enumerate(formulas))

    def vector(self, step: Vector, formula):
        value = f"{step.where} ? {formula} : 0.0" if step.where else formula
        yield f"for (int i = 0; i < {step.size}; i++) {step.name}[i] = {value};"

    def affine(self, step: Affine):
        yield f"for (int i = 0; i < {step.size}; i++) {{"
        if step.start != step.name:
            yield f"    {step.name}[i] = {step.start}[i];"
        yield f"    for (int j = 0; j < {step.columns}; j++)"
        yield f"        {step.name}[i] += {step.matrix}[i][j] * {step.vector}[j];"
        yield "}"

    def reduced(self, step: Reduced):
        start, change = {
            "min": ("HUGE_VAL", "{0} = fmin({0}, {1}[i]);"),
            "sum": ("0.0", "{0} += {1}[i];"),
        }[step.kind]
        yield f"double {step.name} = {start};"
        change = change.format(step.name, step.vector)
        yield f"for (int i = 0; i < {step.size}; i++) {change}"


def _braces(row: np.ndarray) -> str:
    values = [repr(value) for value in row.tolist()]
    starts = range(0, len(values), _NUMBERS_PER_LINE)
    lines = (", ".join(values[i : i + _NUMBERS_PER_LINE]) for i in starts)
    return "{" + ",\n    ".join(lines) + "}"
