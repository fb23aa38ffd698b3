"""A fitted field as a MATLAB function, which GNU Octave runs as well."""

from collections.abc import Sequence
from typing import final

from ..field.hybrid import HybridField
from ._dialect import AbstractDialect, array, described, numbers
from ._steps import Affine, Constant, Reduced, Vector, steps_of

_MATLAB = """function dxdt = vector_field(z)
% Vector field written by orthoreg, for MATLAB and GNU Octave; needs no toolbox. Save it as
% vector_field.m.
%
% vector_field(z) returns the derivatives dxdt at the variables z, both as columns.
% [t, x] = ode45(@(t, x) vector_field({call}), [0 10], x0);
%
{described}
{constants}
    z = z(:);
{body}
    dxdt = f;
end
{helpers}"""
# NaN where NumPy has it and MATLAB would go on with complex numbers
_HELPERS = {
    "real_sqrt": "if x < 0, y = NaN; else, y = sqrt(x); end",
    "real_log": "if x < 0, y = NaN; else, y = log(x); end",
    "real_asin": "if abs(x) > 1, y = NaN; else, y = asin(x); end",
    "real_acos": "if abs(x) > 1, y = NaN; else, y = acos(x); end",
    "real_power": "if x < 0 && p ~= round(p), y = NaN; else, y = x^p; end",
    "unit_step": "y = 0.5 + 0.5 * sign(x);",
}
_TWO = {"real_power": "x, p"}


def to_matlab(field: HybridField, outputs: Sequence[str], n_states: int) -> str:
    """Source of the file vector_field.m, a function that needs MATLAB or GNU Octave alone. The
    residual is included, its weights written out in full precision."""
    steps, dialect = steps_of(field), _Matlab()
    names = described(field.features.variables, outputs, "{}({})", first=1)
    return _MATLAB.format(
        call="x" if len(field.features.variables) == n_states else "[x; u(t)]",
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
        for name, body in _HELPERS.items()
    }
    first = 1

    def element(self, name, index):
        return f"{name}({index})"

    def whole(self, name):
        return name

    def constant(self, constant: Constant) -> str:
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
        # functions of vectors are those of every element, but for these
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
