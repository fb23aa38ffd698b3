"""A fitted field as a Julia function."""

from collections.abc import Sequence
from typing import final

from ..field.hybrid import HybridField
from ._dialect import AbstractDialect, array, described, numbers
from ._steps import Affine, Constant, Reduced, Vector, steps_of

_JULIA = """# Vector field written by orthoreg, in Julia; needs no package.
#
# vector_field(z) returns the derivatives dxdt at the variables z, a vector.
# For DifferentialEquations.jl: ODEProblem((x, p, t) -> vector_field({call}), x0, (0.0, 10.0))
#
{described}

module OrthoregField

export vector_field
{parts}
function vector_field(z)
{body}
    return f
end

end

using .OrthoregField
"""
# NaN where NumPy has it and Julia stops with a DomainError
_HELPERS = {
    "real_sqrt": "real_sqrt(x) = x < 0 ? NaN : sqrt(x)",
    "real_log": "real_log(x) = x < 0 ? NaN : log(x)",
    "real_asin": "real_asin(x) = abs(x) > 1 ? NaN : asin(x)",
    "real_acos": "real_acos(x) = abs(x) > 1 ? NaN : acos(x)",
    "real_power": "real_power(x, p) = x < 0 && !isinteger(p) ? NaN : x^p",
    "heaviside": "heaviside(x) = 0.5 + 0.5 * sign(x)",
}


def to_julia(field: HybridField, outputs: Sequence[str], n_states: int) -> str:
    """Source of a file with `vector_field(z)`, which needs Julia alone. The residual is included,
    its weights written out in full precision."""
    steps, dialect = steps_of(field), _Julia()
    names = described(field.features.variables, outputs, "{}[{}]", first=1)
    helpers = "".join(f"\n{source}\n" for source in dialect.called_helpers(steps))
    return _JULIA.format(
        call="x" if len(field.features.variables) == n_states else "[x; u(t)]",
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
    helpers = _HELPERS
    first = 1

    def element(self, name, index):
        return f"{name}[{index}]"

    def whole(self, name):
        return name

    def constant(self, constant: Constant) -> str:
        values = array(constant.values)
        if values.ndim == 1:
            return f"\nconst {constant.name} = [{numbers(values)}]\n"
        rows, columns = values.shape
        if columns == 1:  # which brackets alone would make a vector
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
