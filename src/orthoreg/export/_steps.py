"""A fitted field as a list of steps on numbers and vectors, and their translation to a language.

The residual becomes networks of tanh layers. Formulas are text in a notation that C, Julia, MATLAB
and Modelica nearly share; an `AbstractDialect` adapts the differences. `{h}` is a vector, which
makes the formula elementwise, and `{z:0}` is the first element of z. Functions have NumPy's names.
"""

import abc
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np
from jaxtyping import Float

from .._common.errors import InputError
from ..field import AbstractBasis, TanhLayers
from ..field.gate import FARTHEST, SHARPNESS, Region
from ..field.hybrid import HybridField
from ..physics import SymmetricBasis
from ..terms import FeatureMap, compiled


@final
@dataclass(frozen=True, eq=False)
class Network:
    """The network output' tanh(... tanh(weights' (e(signs z) - mean) / scale + biases) ...) +
    offset.

    The embedding e replaces periodic variables by their cosines and appends their sines.
    """

    layers: TanhLayers
    signs: Float[np.ndarray, " V"]
    periods: tuple[float, ...]
    output: Float[np.ndarray, "H c"]
    offset: Float[np.ndarray, " c"]


def networks(field: HybridField) -> list[Network]:
    """Return the networks whose sum is the residual without correction and gate.

    With symmetries, there is one network for each image of a state. Raise InputError for residuals
    that are not networks of tanh layers.
    """
    basis, weights = field.basis, np.asarray(field.weights)
    if not basis.size:
        return []
    n_variables = len(field.features.variables)
    if not isinstance(basis, SymmetricBasis):
        layers, no_periods = _tanh_layers(basis), (0.0,) * n_variables
        return [Network(layers, np.ones(n_variables), no_periods, weights[:-1], weights[-1])]
    # psi_p = mean_s signs[p, s] psi(image_s z): image s gets the weights of all p, with their signs
    layers = _tanh_layers(basis.inner)
    by_class = weights.reshape(len(basis.signs), layers.size, -1)
    outputs = np.einsum("ps,phc->shc", np.asarray(basis.signs), by_class) / len(basis.images)
    return [
        Network(layers, np.asarray(image), basis.periods, output[:-1], output[-1])
        for image, output in zip(basis.images, outputs, strict=True)
    ]


def _tanh_layers(basis: AbstractBasis) -> TanhLayers:
    if not isinstance(basis, TanhLayers):
        raise InputError(
            f"Only networks of tanh layers can be exported as source; this residual consists of "
            f"{type(basis).__name__}. Use to_sympy() or to_latex(), which only name the residual."
        )
    return basis


@final
@dataclass(frozen=True, eq=False)
class ConstantArray:
    """A vector or matrix of numbers."""

    name: str
    values: Any


@final
@dataclass(frozen=True)
class Scalar:
    """The step name = formula."""

    name: str
    formula: str


@final
@dataclass(frozen=True)
class Gathered:
    """A step that makes a vector with one formula per element."""

    name: str
    formulas: tuple[str, ...]

    @property
    def size(self) -> int:
        return len(self.formulas)


@final
@dataclass(frozen=True)
class Vector:
    """The step name = formula, elementwise. Elements are zero unless the comparison `where`
    holds.
    """

    name: str
    size: int
    formula: str
    where: str = ""


@final
@dataclass(frozen=True)
class Affine:
    """The step name = start + matrix vector, with a matrix of shape (size, columns)."""

    name: str
    start: str
    matrix: str
    vector: str
    size: int
    columns: int


@final
@dataclass(frozen=True)
class Reduced:
    """The step name = minimum ("min") or sum ("sum") of the elements of a vector."""

    name: str
    kind: str
    vector: str
    size: int


Step = Scalar | Gathered | Vector | Affine | Reduced


@final
@dataclass
class Steps:
    """The steps that compute the derivatives `f` from the variables z."""

    n_outputs: int
    constants: list[ConstantArray] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    @property
    def uses_variables(self) -> bool:
        return any("{z" in part for step in self.steps for part in _formulas(step))

    @property
    def vectors(self) -> dict[str, int]:
        """The names and sizes of the vectors that the steps compute."""
        return {
            step.name: step.size
            for step in self.steps
            if isinstance(step, Gathered | Vector | Affine)
        }

    @property
    def scalars(self) -> list[str]:
        """The names of the numbers that the steps compute."""
        return [step.name for step in self.steps if isinstance(step, Scalar | Reduced)]


def steps_of(fitted: HybridField) -> Steps:
    """Return the steps of f = C theta(z) + residual(z), without unused terms and networks."""
    fitted = fitted.resolved().without_idle_terms().without_idle_basis()
    n_outputs = len(fitted.coefficients)
    steps = Steps(n_outputs)
    terms = _add_terms(steps, fitted.features)
    steps.steps.append(Gathered("f", tuple(_sums(fitted.coefficients, terms))))
    parts = networks(fitted)
    if parts or np.any(fitted.correction):
        steps.steps.append(Gathered("r", tuple(_sums(-np.asarray(fitted.correction), terms))))
        for i, network in enumerate(parts):
            _add_network(steps, network, i)
        if fitted.region is not None:
            _add_gate(steps, fitted.region)
        steps.steps.append(Vector("f", n_outputs, "{f} + {r}"))
    return steps


def number(value: Any) -> str:
    """Return a number with all digits, in brackets if negative, for use anywhere in a formula."""
    text = repr(float(value))
    return f"({text})" if text.startswith("-") else text


def _add_terms(steps: Steps, features: FeatureMap) -> list[str]:
    """Add the terms and return their names. Shared subexpressions are computed once."""
    program = compiled(features.terms)
    for index, (operation, operands) in enumerate(program.steps):
        if operation == "number":
            formula = number(operands[0])
        elif operation == "variable":
            formula = f"{{z:{operands[0]}}}"
        elif operation == "call":
            formula = f"{operands[0]}(s{operands[1]})"
        elif operation == "power":
            formula = f"power(s{operands[0]}, s{operands[1]})"
        else:
            sign = {"add": " + ", "multiply": " * "}[operation]
            formula = sign.join(f"s{operand}" for operand in operands)
        steps.steps.append(Scalar(f"s{index}", formula))
    return [f"s{index}" for index in program.results]


def _sums(coefficients: Any, terms: Sequence[str]) -> Iterator[str]:
    """Yield one sum of terms per equation."""
    for row in np.asarray(coefficients):
        text = ""
        for value, term in zip(row.tolist(), terms, strict=True):
            if value != 0:
                sign = ("-" if value < 0 else "") if not text else (" - " if value < 0 else " + ")
                text += f"{sign}{abs(value)!r} * {term}"
        yield text or "0.0"


def _add_network(steps: Steps, network: Network, index: int) -> None:
    """Add r = r + network(z). Layers that networks share are computed once."""
    layers, width = network.layers, len(network.layers.mean)
    columns = [f"{sign!r} * {{z:{i}}}" for i, sign in enumerate(network.signs.tolist())]
    for i, period in enumerate(network.periods):
        if period > 0:
            angle = f"{number(2 * np.pi / period)} * {columns[i]}"
            columns[i] = f"cos({angle})"
            columns.append(f"sin({angle})")
    columns = [column.removeprefix("1.0 * ") for column in columns]
    if index == 0:
        steps.constants += [
            ConstantArray("mean", layers.mean),
            ConstantArray("scale", layers.scale),
        ]
    steps.steps += [
        Gathered("h0", tuple(columns)),
        Vector("h0", width, "({h0} - {mean}) / {scale}"),
    ]
    for k, (weight, bias) in enumerate(zip(layers.weights, layers.biases, strict=True), start=1):
        width = len(bias)
        if index == 0:
            steps.constants.append(ConstantArray(f"weight{k}", np.transpose(weight)))
            steps.constants.append(ConstantArray(f"bias{k}", bias))
        steps.steps += [
            Affine(f"h{k}", f"bias{k}", f"weight{k}", f"h{k - 1}", width, len(weight)),
            Vector(f"h{k}", width, f"tanh({{h{k}}})"),
        ]
    last, n_outputs = f"h{len(layers.weights)}", len(network.offset)
    steps.constants += [
        ConstantArray(f"combined{index}", np.transpose(network.output)),
        ConstantArray(f"offset{index}", network.offset),
    ]
    steps.steps += [
        Vector("r", n_outputs, f"{{r}} + {{offset{index}}}"),
        Affine("r", "r", f"combined{index}", last, n_outputs, width),
    ]


def _add_gate(steps: Steps, region: Region) -> None:
    """Add `Region.gated`: the residual on the training data, and held values or zero far away."""
    count, n_outputs = len(region.landmarks), steps.n_outputs
    rates = np.asarray(region.rate).tolist()
    turns = [0.0] * len(rates) if region.period is None else np.asarray(region.period).tolist()
    square = "{away} * {away}"
    if not any(rates):
        steps.steps.append(Gathered("square", ("0.0",) * count))
    for i, (rate, turn) in enumerate(zip(rates, turns, strict=True)):
        if rate == 0:  # the variable never varied, so it does not affect distances
            continue
        steps.constants.append(ConstantArray(f"landmarks{i}", np.asarray(region.landmarks)[:, i]))
        steps.steps.append(Vector("away", count, f"{{z:{i}}} * {number(rate)} - {{landmarks{i}}}"))
        if turn > 0:  # the shortest difference on a circle
            shortest = f"{{away}} - {turn!r} * floor({{away}} / {turn!r} + 0.5)"
            steps.steps.append(Vector("away", count, shortest))
        steps.steps += [
            Vector("away", count, f"min(max({{away}}, -{FARTHEST!r}), {FARTHEST!r})"),
            Vector("square", count, square),
        ]
        square = "{square} + {away} * {away}"
    steps.steps += [
        Vector("beyond", count, "sqrt(max({square}, 1.0))"),
        Reduced("nearest", "min", "beyond", count),
        Scalar("across", f"min((nearest - 1.0) / {float(region.fade)!r}, 1.0)"),
        Scalar("share", "1.0 - across * across * (3.0 - 2.0 * across)"),
        # avoids infinite values of the residual outside the region
        Vector("r", n_outputs, "share * {r}", where="share > 0.0"),
    ]
    if region.held is not None:
        steps.constants.append(ConstantArray("held", np.transpose(region.held)))
        steps.steps += [
            Vector("nearby", count, f"exp({SHARPNESS!r} * (nearest - {{beyond}}))"),
            Reduced("total", "sum", "nearby", count),
            Vector("nearby", count, "(1.0 - share) / total * {nearby}"),
            Affine("r", "r", "held", "nearby", n_outputs, count),
        ]


def _formulas(step: Step) -> tuple[str, ...]:
    match step:
        case Scalar(_, formula) | Vector(_, _, formula):
            return (formula,)
        case Gathered(_, formulas):
            return formulas
        case _:
            return ()


_CALLED = re.compile(r"\b([a-z_]+)\(")


class AbstractDialect(abc.ABC):
    """A target language. `functions` maps NumPy's function names to those of the language.

    `helpers` are the sources of functions that the language lacks. They are included if they are
    called.
    """

    functions: Mapping[str, str]
    helpers: Mapping[str, str]
    first: int  # index of the first element

    # -- language-specific ---------------------------------------------------------------

    @abc.abstractmethod
    def element(self, name: str, index: str) -> str:
        """Return the code for an element of a vector."""

    @abc.abstractmethod
    def whole(self, name: str) -> str:
        """Return the code for a vector in an elementwise formula."""

    @abc.abstractmethod
    def constant(self, constant: ConstantArray) -> str:
        """Return the definition of a constant."""

    @abc.abstractmethod
    def scalar(self, name: str, formula: str) -> Iterator[str]:
        """Yield the lines of a `Scalar`."""

    @abc.abstractmethod
    def gathered(self, name: str, formulas: Sequence[str]) -> Iterator[str]:
        """Yield the lines of a `Gathered`."""

    @abc.abstractmethod
    def vector(self, step: Vector, formula: str) -> Iterator[str]:
        """Yield the lines of a `Vector`."""

    @abc.abstractmethod
    def affine(self, step: Affine) -> Iterator[str]:
        """Yield the lines of an `Affine`."""

    @abc.abstractmethod
    def reduced(self, step: Reduced) -> Iterator[str]:
        """Yield the lines of a `Reduced`."""

    # -- common to all languages ---------------------------------------------------------

    def lines(self, steps: Sequence[Step]) -> Iterator[str]:
        """Yield the lines of all steps."""
        for step in steps:
            match step:
                case Scalar(name, formula):
                    yield from self.scalar(name, self.formula(formula))
                case Gathered(name, formulas):
                    yield from self.gathered(name, [self.formula(text) for text in formulas])
                case Vector(_, _, formula):
                    yield from self.vector(step, self.formula(formula))
                case Affine():
                    yield from self.affine(step)
                case Reduced():
                    yield from self.reduced(step)

    def formula(self, text: str) -> str:
        """Return a formula in this language."""
        named = _CALLED.sub(lambda call: f"{self.functions.get(call[1], call[1])}(", text)
        return named.format_map(_Vectors(self))

    def called_helpers(self, steps: Steps) -> list[str]:
        """Return the sources of the helpers that the steps call."""
        names = _CALLED.findall("\n".join(self.lines(steps.steps)))
        return [source for name, source in self.helpers.items() if name in names]


@final
class _Vectors(dict[str, "_Named"]):
    """A mapping from each name to a vector in a dialect."""

    def __init__(self, dialect: AbstractDialect):
        self.dialect = dialect

    def __missing__(self, name: str) -> "_Named":
        return _Named(name, self.dialect)


@final
class _Named:
    """A vector name in a format string: `{name}` is the vector, `{name:0}` its first element."""

    def __init__(self, name: str, dialect: AbstractDialect):
        self.name, self.dialect = name, dialect

    def __format__(self, index: str) -> str:
        if not index:
            return self.dialect.whole(self.name)
        return self.dialect.element(self.name, str(int(index) + self.dialect.first))


def array(values: Any) -> np.ndarray:
    return np.asarray(values, dtype=np.float64)


def numbers(values: Any, joined_by: str = ", ") -> str:
    """Return the numbers of a row with all digits."""
    return joined_by.join(map(repr, array(values).tolist()))


@final
class Wording(NamedTuple):
    """Words for exported source code.

    They say what the function is, its name, its result, what the elements of the result are, and
    what a single element is.
    """

    title: str
    function: str
    result: str
    elements: str
    element: str


FLOW = Wording("Vector field", "vector_field", "dxdt", "derivatives", "derivative")
MAP = Wording("Map", "next_state", "x_next", "next states", "next value")


def described(
    variables: Sequence[str],
    outputs: Sequence[str],
    vector: str,
    first: int = 0,
    words: Wording = FLOW,
) -> list[str]:
    """Return comments on the elements of z and of the result. `vector` formats an element."""
    return [
        *(f"{vector.format('z', i)} is {shown(name)}" for i, name in enumerate(variables, first)),
        *(
            f"{vector.format(words.result, c)} is the {words.element} of {shown(name)}"
            for c, name in enumerate(outputs, first)
        ),
    ]


def shown(name: str) -> str:
    """Return a name on one line that is safe in comments of all languages."""
    text = "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in name
    )
    # these begin or end a comment in some language, or are trigraphs in C
    for sign in ("*/", "/*", "??", "#=", "=#", "%{", "%}"):
        text = text.replace(sign, " ".join(sign))
    return f"'{text}'"
