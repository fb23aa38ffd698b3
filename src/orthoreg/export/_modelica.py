"""A fitted field as a Modelica model."""

import re
from collections.abc import Sequence
from typing import final

from ..field.hybrid import HybridField
from ._dialect import AbstractDialect, array, numbers, shown
from ._steps import Affine, Constant, Reduced, Vector, steps_of

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
) -> str:
    """Source of a Modelica model with one variable per state and one input variable per input,
    the one called `clock` apart, which is the time. States start from `starts` unless the user
    says otherwise. The residual is included, its weights written out in full precision."""
    steps, dialect = steps_of(field), _Modelica()
    variables = field.features.variables
    names = _identifiers(variables, {model, *_WORDS})
    n_states = len(outputs)
    lines = [
        f"  Real {name}(start = {float(start)!r}, fixed = true) {_text(full)};"
        for name, start, full in zip(names, starts, variables, strict=False)
    ]
    for i in range(n_states, len(variables)):
        if variables[i] == clock:
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

    def constant(self, constant: Constant) -> str:
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
    """power(a, b) as a ^ b, a step function by signs; both stand alone in a formula."""
    formula = re.sub(r"^power\((\w+), (\w+)\)$", r"\1 ^ \2", formula)
    return re.sub(r"^heaviside\((\w+)\)$", r"0.5 + 0.5 * sign(\1)", formula)


def _identifiers(names: Sequence[str], taken: set[str]) -> list[str]:
    """Identifiers of Modelica that resemble the names, all different."""
    found: list[str] = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") or "x"
        plain = plain if plain[0].isalpha() else f"x_{plain}"
        chosen, count = plain, 1
        while chosen in taken or chosen in found:
            count += 1
            chosen = f"{plain}_{count}"
        found.append(chosen)
    return found


def _text(name: str) -> str:
    """A name as a string of Modelica."""
    return '"' + shown(name)[1:-1].replace("\\", "\\\\").replace('"', '\\"') + '"'
