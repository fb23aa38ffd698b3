"""Fitted fields as CasADi functions, for optimal control."""

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Float

from .._common.errors import require
from ..field.gate import Region
from ..field.hybrid import HybridField
from ._steps import Affine, ConstantArray, Gathered, Reduced, Scalar, Step, Vector, steps_of

_FUNCTIONS = {
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "abs": "fabs", "min": "fmin",
    "max": "fmax",
}  # fmt: skip
_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.USub: operator.neg, ast.Gt: operator.gt,
}  # fmt: skip
_ELEMENT = re.compile(r"\{(\w+):(\d+)\}")
_VECTOR = re.compile(r"\{(\w+)\}")


@final
@dataclass(frozen=True, eq=False)
class CasadiModel:
    """A model as CasADi functions of a state x and an input u, both column vectors.

    `f(x, u)` returns the derivatives, or the next state of a map. `trust(x, u)` is a constraint: at
    most zero within the training data. It is the squared distance in the gate minus one or, for
    models without a gate, the squared distance from the middle of the box of training data minus
    one. `u` has the model's inputs in the order of `input_names`, including delayed variables and
    time.
    """

    f: Any
    trust: Any
    state_names: tuple[str, ...]
    input_names: tuple[str, ...]
    step: float | None = None

    def integrator(self, step: float, substeps: int = 1) -> Any:
        """Return the function (x, u) -> x after the time `step`, with u constant.

        It uses the classical Runge-Kutta method with `substeps` equal steps. For a map, it is `f`.
        """
        import casadi

        if self.step is not None:
            return self.f
        x, u = (casadi.MX.sym(name, self.f.size1_in(i)) for i, name in enumerate("xu"))
        h, now = step / substeps, x
        for _ in range(substeps):
            k1 = self.f(now, u)
            k2 = self.f(now + h / 2 * k1, u)
            k3 = self.f(now + h / 2 * k2, u)
            k4 = self.f(now + h * k3, u)
            now = now + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return casadi.Function("next_state", [x, u], [now], ["x", "u"], ["next"])


def to_casadi(
    field: HybridField,
    n_states: int,
    box: Float[np.ndarray, "2 V"],
    step: float | None = None,
) -> CasadiModel:
    """Return the field as CasADi functions. `box` is the range of the training data."""
    require("casadi", "casadi", "to_casadi()")
    import casadi

    names = field.features.variables
    x, u = casadi.SX.sym("x", n_states), casadi.SX.sym("u", len(names) - n_states)
    z = casadi.vertcat(x, u)
    result = _evaluated(field, z)
    inside = _beyond_box(box, z) if field.region is None else _beyond_region(field.region, z)
    ports = [x, u], ["x", "u"]
    kind = "vector_field" if step is None else "next_state"
    return CasadiModel(
        casadi.Function(kind, ports[0], [result], ports[1], ["f"]),
        casadi.Function("trust", ports[0], [inside], ports[1], ["beyond"]),
        names[:n_states],
        names[n_states:],
        step,
    )


def _evaluated(field: HybridField, z: Any) -> Any:
    """Return f at the symbolic variables z."""
    import casadi

    steps = steps_of(field)
    known: dict[str, Any] = {"z": z}
    for constant in steps.constants:
        known[constant.name] = _matrix(constant)
    for step in steps.steps:
        known[step.name] = _value(step, known)
    return casadi.vertcat(known["f"])


def _matrix(constant: ConstantArray) -> Any:
    import casadi

    return casadi.DM(np.asarray(constant.values, dtype=float))


def _value(step: Step, known: Mapping[str, Any]) -> Any:
    """Return the value of a step, given the values of previous steps."""
    import casadi

    match step:
        case Scalar(_, formula):
            return _formula(formula, known)
        case Gathered(_, formulas):
            return casadi.vertcat(*(_formula(formula, known) for formula in formulas))
        case Vector(_, size, formula, where):
            value = _formula(formula, known)
            if where:
                value = casadi.if_else(_formula(where, known), value, casadi.SX.zeros(size))
            return value
        case Affine(_, start, matrix, vector):
            return known[start] + casadi.mtimes(known[matrix], known[vector])
        case Reduced(_, kind, vector):
            return casadi.mmin(known[vector]) if kind == "min" else casadi.sum1(known[vector])


def _formula(text: str, known: Mapping[str, Any]) -> Any:
    """Return the value of a formula in a step.

    Elements of vectors are written as in `AbstractDialect`.
    """
    source = _VECTOR.sub(r"\1", _ELEMENT.sub(r"\1[\2]", text))
    return _node(ast.parse(source, mode="eval").body, known)


def _node(node: ast.expr, known: Mapping[str, Any]) -> Any:
    import casadi

    match node:
        case ast.Constant(value):
            return value
        case ast.Name(name):
            return known[name]
        case ast.Subscript(ast.Name(name), ast.Constant(int(index))):
            return known[name][index]
        case ast.UnaryOp(operation, operand):
            return _OPERATORS[type(operation)](_node(operand, known))
        case ast.BinOp(left, operation, right):
            return _OPERATORS[type(operation)](_node(left, known), _node(right, known))
        case ast.Compare(left, [operation], [right]):
            return _OPERATORS[type(operation)](_node(left, known), _node(right, known))
        case ast.Call(ast.Name(name), arguments):
            values = [_node(argument, known) for argument in arguments]
            if name == "heaviside":  # some CasADi versions have another value at zero
                return 0.5 + 0.5 * casadi.sign(values[0])
            return getattr(casadi, _FUNCTIONS.get(name, name))(*values)
    raise ValueError(f"The step has an unknown element: {ast.dump(node)}")


def _beyond_region(region: Region, z: Any) -> Any:
    """Return min_j |rate z - landmark_j|^2 - 1."""
    import casadi

    squares = 0.0
    periods = np.zeros(len(region.rate)) if region.period is None else np.asarray(region.period)
    for i, rate in enumerate(np.asarray(region.rate).tolist()):
        away = z[i] * rate - casadi.DM(np.asarray(region.landmarks)[:, i])
        if periods[i] > 0:
            away = away - periods[i] * casadi.floor(away / periods[i] + 0.5)
        squares = squares + away * away
    return casadi.mmin(squares) - 1


def _beyond_box(box: Float[np.ndarray, "2 V"], z: Any) -> Any:
    """Return the largest squared distance from the middle of the box, in half widths, minus 1."""
    import casadi

    middle, half = box.mean(axis=0), (box[1] - box[0]) / 2
    varies = np.flatnonzero(half > 0)
    if not len(varies):
        return casadi.SX(-1.0)
    scaled = casadi.vertcat(*(((z[int(i)] - middle[i]) / half[i]) ** 2 for i in varies))
    return casadi.mmax(scaled) - 1
