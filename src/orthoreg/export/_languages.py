"""Export of fitted fields as C, Julia, MATLAB and Modelica source code."""

import re
from collections.abc import Sequence
from typing import final

import numpy as np

from ..data import Delay
from ..field.hybrid import HybridField
from ._steps import (
    FLOW,
    MAP,
    AbstractDialect,
    Affine,
    ConstantArray,
    Reduced,
    Vector,
    Wording,
    array,
    described,
    numbers,
    shown,
    steps_of,
)

_NUMBERS_PER_LINE = 4

_C = """/* {words.title} written by orthoreg, in C99. Link with the mathematics library, -lm.

   {words.function} writes the {words.elements} at the variables z into {words.result}; both may be
   the same array.

{described}
*/

#include <math.h>
{parts}
void {words.function}(const double *z, double *{words.result})
{{
{body}
    for (int i = 0; i < {n_outputs}; i++) {words.result}[i] = f[i];
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


def to_c(field: HybridField, outputs: Sequence[str], *, words: Wording = FLOW) -> str:
    """Return a C99 file with the function `vector_field`, or `next_state` for a map.

    The file needs only the C library. It includes the residual with all digits of its weights.
    """
    steps, dialect = steps_of(field), _C99()
    lines = [] if steps.uses_variables else ["(void)z;"]
    lines += [f"double {name}[{size}];" for name, size in steps.vectors.items()]
    lines += dialect.lines(steps.steps)
    names = described(field.features.variables, outputs, "{}[{}]", words=words)
    return _C.format(
        words=words,
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

    def constant(self, constant: ConstantArray) -> str:
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


_JULIA = """# {words.title} written by orthoreg, in Julia; needs no package.
#
# {words.function}(z) returns the {words.elements} {words.result} at the variables z, a vector.
{usage}
#
{described}

module OrthoregField

export {words.function}
{parts}
function {words.function}(z)
{body}
    return f
end

end

using .OrthoregField
"""
# return NaN as NumPy does, where Julia would raise a DomainError
_JULIA_HELPERS = {
    "real_sqrt": "real_sqrt(x) = x < 0 ? NaN : sqrt(x)",
    "real_log": "real_log(x) = x < 0 ? NaN : log(x)",
    "real_asin": "real_asin(x) = abs(x) > 1 ? NaN : asin(x)",
    "real_acos": "real_acos(x) = abs(x) > 1 ? NaN : acos(x)",
    "real_power": "real_power(x, p) = x < 0 && !isinteger(p) ? NaN : x^p",
    "heaviside": "heaviside(x) = 0.5 + 0.5 * sign(x)",
}


def to_julia(
    field: HybridField, outputs: Sequence[str], n_states: int, *, words: Wording = FLOW
) -> str:
    """Return a Julia file with the function `vector_field(z)`, or `next_state(z)` for a map.

    The file needs no package. It includes the residual with all digits of its weights.
    """
    steps, dialect = steps_of(field), _Julia()
    names = described(field.features.variables, outputs, "{}[{}]", first=1, words=words)
    helpers = "".join(f"\n{source}\n" for source in dialect.called_helpers(steps))
    call = "x" if len(field.features.variables) == n_states else "[x; u(t)]"
    problem = f"ODEProblem((x, p, t) -> vector_field({call}), x0, (0.0, 10.0))"
    usage = f"# For DifferentialEquations.jl: {problem}"
    if words is MAP:
        usage = f"# for k in 1:100; x = next_state({call.replace('u(t)', 'u[:, k]')}); end"
    return _JULIA.format(
        words=words,
        usage=usage,
        described="\n".join(f"# {line}" for line in names),
        parts=helpers + "".join(map(dialect.constant, steps.constants)),
        body="\n".join(f"    {line}" for line in dialect.lines(steps.steps)),
    )


@final
class _Julia(AbstractDialect):
    functions = {
        "arcsin": "real_asin", "arccos": "real_acos", "arctan": "atan", "sqrt": "real_sqrt",
        "log": "real_log", "power": "real_power",
    }  # fmt: skip
    helpers = _JULIA_HELPERS
    first = 1

    def element(self, name, index):
        return f"{name}[{index}]"

    def whole(self, name):
        return name

    def constant(self, constant: ConstantArray) -> str:
        values = array(constant.values)
        if values.ndim == 1:
            return f"\nconst {constant.name} = [{numbers(values)}]\n"
        rows, columns = values.shape
        if columns == 1:  # brackets alone would create a vector
            return f"\nconst {constant.name} = reshape([{numbers(values[:, 0])}], {rows}, 1)\n"
        body = "\n    ".join(numbers(row, " ") for row in values)
        return f"\nconst {constant.name} = [\n    {body}\n]\n"

    def scalar(self, name, formula):
        yield f"{name} = {formula}"

    def gathered(self, name, formulas):
        yield f"{name} = [{', '.join(formulas)}]"

    def vector(self, step: Vector, formula):
        value = f"ifelse({step.where}, {formula}, 0.0)" if step.where else formula
        yield f"{step.name} = @. {value}"

    def affine(self, step: Affine):
        yield f"{step.name} = {step.start} .+ {step.matrix} * {step.vector}"

    def reduced(self, step: Reduced):
        yield f"{step.name} = {dict(min='minimum', sum='sum')[step.kind]}({step.vector})"


_MATLAB = """function {words.result} = {words.function}(z)
% {words.title} written by orthoreg, for MATLAB and GNU Octave; needs no toolbox. Save it as
% {words.function}.m.
%
% {words.function}(z) returns the {words.elements} {words.result} at the variables z, both as
% columns.
{usage}
%
{described}
{constants}
    z = z(:);
{body}
    {words.result} = f;
end
{helpers}"""
# return NaN as NumPy does, where MATLAB would return complex numbers
_MATLAB_HELPERS = {
    "real_sqrt": "if x < 0, y = NaN; else, y = sqrt(x); end",
    "real_log": "if x < 0, y = NaN; else, y = log(x); end",
    "real_asin": "if abs(x) > 1, y = NaN; else, y = asin(x); end",
    "real_acos": "if abs(x) > 1, y = NaN; else, y = acos(x); end",
    "real_power": "if x < 0 && p ~= round(p), y = NaN; else, y = x^p; end",
    "unit_step": "y = 0.5 + 0.5 * sign(x);",
}
_TWO = {"real_power": "x, p"}


def to_matlab(
    field: HybridField, outputs: Sequence[str], n_states: int, *, words: Wording = FLOW
) -> str:
    """Return the file vector_field.m, or next_state.m for a map, for MATLAB and GNU Octave.

    The file needs no toolbox. It includes the residual with all digits of its weights.
    """
    steps, dialect = steps_of(field), _Matlab()
    names = described(field.features.variables, outputs, "{}({})", first=1, words=words)
    call = "x" if len(field.features.variables) == n_states else "[x; u(t)]"
    usage = f"% [t, x] = ode45(@(t, x) vector_field({call}), [0 10], x0);"
    if words is MAP:
        usage = f"% for k = 1:100, x = next_state({call.replace('u(t)', 'u(:, k)')}); end"
    return _MATLAB.format(
        words=words,
        usage=usage,
        described="\n".join(f"% {line}" for line in names),
        constants="".join(map(dialect.constant, steps.constants)),
        body="\n".join(f"    {line}" for line in dialect.lines(steps.steps)),
        helpers="".join(dialect.called_helpers(steps)),
    )


@final
class _Matlab(AbstractDialect):
    functions = {
        "arcsin": "real_asin", "arccos": "real_acos", "arctan": "atan", "sqrt": "real_sqrt",
        "log": "real_log", "power": "real_power", "heaviside": "unit_step",
    }  # fmt: skip
    helpers = {
        name: f"\nfunction y = {name}({_TWO.get(name, 'x')})\n    {body}\nend\n"
        for name, body in _MATLAB_HELPERS.items()
    }
    first = 1

    def element(self, name, index):
        return f"{name}({index})"

    def whole(self, name):
        return name

    def constant(self, constant: ConstantArray) -> str:
        values = array(constant.values)
        if values.ndim == 1:
            return f"    {constant.name} = [{numbers(values, '; ')}];\n"
        body = "\n        ".join(numbers(row) for row in values)
        return f"    {constant.name} = [\n        {body}\n    ];\n"

    def scalar(self, name, formula):
        yield f"{name} = {formula};"

    def gathered(self, name, formulas):
        yield f"{name} = zeros({len(formulas)}, 1);"
        yield from (f"{name}({i}) = {formula};" for i, formula in enumerate(formulas, start=1))

    def vector(self, step: Vector, formula):
        # in MATLAB, functions apply elementwise, but these operators do not
        value = formula.replace(" * ", " .* ").replace(" / ", " ./ ").replace("real_sqrt", "sqrt")
        if not step.where:
            yield f"{step.name} = {value};"
            return
        yield f"if {step.where}"
        yield f"    {step.name} = {value};"
        yield "else"
        yield f"    {step.name} = zeros({step.size}, 1);"
        yield "end"

    def affine(self, step: Affine):
        yield f"{step.name} = {step.start} + {step.matrix} * {step.vector};"

    def reduced(self, step: Reduced):
        yield f"{step.name} = {step.kind}({step.vector});"


_MODELICA = """model {model} "Written by orthoreg"
{declared}
protected
{function}equation
  {{{left}}} = vectorField({{{right}}});
end {model};
"""
_FUNCTION = """  function vectorField
    input Real z[{n_variables}];
    output Real f[{n_outputs}];
  protected
{declared}  algorithm
{body}
  end vectorField;
"""
_WORDS = (
    "algorithm and annotation assert block break class connect connector constant constrainedby "
    "der discrete each else elseif elsewhen encapsulated end enumeration equation expandable "
    "extends external false final flow for function if import impure in initial inner input loop "
    "model not operator or outer output package parameter partial protected public pure record "
    "redeclare replaceable return stream then true type when while within time vectorField Real"
).split()


def to_modelica(
    field: HybridField,
    outputs: Sequence[str],
    starts: Sequence[float],
    *,
    model: str,
    clock: str = "",
    delays: Sequence[Delay] = (),
) -> str:
    """Return a Modelica model with one variable per state and one input variable per input.

    The input `clock` is time. Inputs among the `delays` use Modelica's delay(). `starts` are the
    default initial states. The residual is included with all digits of its weights.
    """
    steps, dialect = steps_of(field), _Modelica()
    variables = field.features.variables
    names = _identifiers(variables, {model, *_WORDS})
    n_states, delayed = len(outputs), {delay.name: delay for delay in delays}
    lines = [
        f"  Real {name}(start = {float(start)!r}, fixed = true) {_text(full)};"
        for name, start, full in zip(names, starts, variables, strict=False)
    ]
    for i in range(n_states, len(variables)):
        if variables[i] in delayed:
            delay = delayed[variables[i]]
            names[i] = f"delay({names[variables.index(delay.variable)]}, {delay.value!r})"
        elif variables[i] == clock:
            names[i] = "time"
        else:
            lines.append(f"  input Real {names[i]} {_text(variables[i])};")
    declared = [
        *map(dialect.constant, steps.constants),
        *(f"    Real {name}[{size}];\n" for name, size in steps.vectors.items() if name != "f"),
        *(f"    Real {name};\n" for name in steps.scalars),
    ]
    return _MODELICA.format(
        model=model,
        declared="\n".join(lines),
        function=_FUNCTION.format(
            n_variables=len(variables),
            n_outputs=n_states,
            declared="".join(declared),
            body="\n".join(f"    {line}" for line in dialect.lines(steps.steps)),
        ),
        left=", ".join(f"der({name})" for name in names[:n_states]),
        right=", ".join(names),
    )


@final
class _Modelica(AbstractDialect):
    functions = {"arcsin": "asin", "arccos": "acos", "arctan": "atan"}
    helpers = {}
    first = 1

    def element(self, name, index):
        return f"{name}[{index}]"

    def whole(self, name):
        return f"{name}[i]"

    def constant(self, constant: ConstantArray) -> str:
        values = array(constant.values)
        shape = ", ".join(str(size) for size in values.shape)
        if values.ndim == 1:
            body = f"{{{numbers(values)}}}"
        else:
            body = ",\n      ".join(f"{{{numbers(row)}}}" for row in values)
            body = f"{{\n      {body}\n    }}"
        return f"    constant Real {constant.name}[{shape}] = {body};\n"

    def scalar(self, name, formula):
        yield f"{name} := {_with_powers(formula)};"

    def gathered(self, name, formulas):
        yield f"{name} := {{{', '.join(formulas)}}};"

    def vector(self, step: Vector, formula):
        value = f"if {step.where} then {formula} else 0.0" if step.where else formula
        yield f"{step.name} := {{{value} for i in 1:{step.size}}};"

    def affine(self, step: Affine):
        yield f"{step.name} := {step.start} + {step.matrix} * {step.vector};"

    def reduced(self, step: Reduced):
        yield f"{step.name} := {step.kind}({step.vector});"


def _with_powers(formula: str) -> str:
    """Return a formula with power(a, b) and heaviside(a) replaced.

    Each of these is always a whole formula.
    """
    formula = re.sub(r"^power\((\w+), (\w+)\)$", r"\1 ^ \2", formula)
    return re.sub(r"^heaviside\((\w+)\)$", r"0.5 + 0.5 * sign(\1)", formula)


def _identifiers(names: Sequence[str], taken: set[str]) -> list[str]:
    """Return distinct Modelica identifiers that resemble the names."""
    identifiers: list[str] = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") or "x"
        plain = plain if plain[0].isalpha() else f"x_{plain}"
        chosen, count = plain, 1
        while chosen in taken or chosen in identifiers:
            count += 1
            chosen = f"{plain}_{count}"
        identifiers.append(chosen)
    return identifiers


def _text(name: str) -> str:
    """Return a name as a Modelica string."""
    return '"' + shown(name)[1:-1].replace("\\", "\\\\").replace('"', '\\"') + '"'
