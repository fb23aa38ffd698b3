"""A fitted field as a list of steps on numbers and vectors, which every language can write; its
residual as plain networks of tanh layers.

Formulas are text that C, Julia, MATLAB and Modelica share but for small things, which a `Dialect`
changes: `{h}` is a vector, of which the formula makes another one element by element, `{z:0}` its
first element, and functions have the names that NumPy gives them.
"""

import abc
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

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
    """output' tanh(... tanh(weights' (e(signs z) - mean) / scale + biases) ...) + offset, where e
    puts (cos, sin) in the place of a variable with a period: the cosine there, the sines last."""

    layers: TanhLayers
    signs: Float[np.ndarray, " V"]
    periods: tuple[float, ...]
    output: Float[np.ndarray, "H c"]
    offset: Float[np.ndarray, " c"]


def networks(field: HybridField) -> list[Network]:
    """The networks that add up to the residual before its correction and its gate: one, or with
    symmetries one for each image of a state. Refuses a residual that is no network."""
    basis, weights = field.basis, np.asarray(field.weights)
    if not basis.size:
        return []
    n_variables = len(field.features.variables)
    if not isinstance(basis, SymmetricBasis):
        layers, none = _tanh_layers(basis), (0.0,) * n_variables
        return [Network(layers, np.ones(n_variables), none, weights[:-1], weights[-1])]
    # psi_p = mean_s signs[p, s] psi(image_s z), so that image s has the weights of all p, signed
    layers = _tanh_layers(basis.inner)
    by_class = weights.reshape(len(basis.signs), layers.size, -1)
    shares = np.einsum("ps,phc->shc", np.asarray(basis.signs), by_class) / len(basis.images)
    return [
        Network(layers, np.asarray(image), basis.periods, share[:-1], share[-1])
        for image, share in zip(basis.images, shares, strict=True)
    ]


def _tanh_layers(basis: AbstractBasis) -> TanhLayers:
    if not isinstance(basis, TanhLayers):
        raise InputError(
            f"Only networks of tanh layers can be written as source; this residual is made of "
            f"{type(basis).__name__}. Use to_sympy() or to_latex(), which only name it."
        )
    return basis


@final
@dataclass(frozen=True, eq=False)
class Constant:
    """A vector or a matrix of numbers."""

    name: str
    values: Any


@final
@dataclass(frozen=True)
class Scalar:
    """name = formula."""

    name: str
    formula: str


@final
@dataclass(frozen=True)
class Gathered:
    """A vector from one formula per element."""

    name: str
    formulas: tuple[str, ...]

    @property
    def size(self) -> int:
        return len(self.formulas)


@final
@dataclass(frozen=True)
class Vector:
    """name = formula, element by element; zero unless `where` holds, a comparison of numbers."""

    name: str
    size: int
    formula: str
    where: str = ""


@final
@dataclass(frozen=True)
class Affine:
    """name = start + matrix vector, with a matrix of size x columns."""

    name: str
    start: str
    matrix: str
    vector: str
    size: int
    columns: int


@final
@dataclass(frozen=True)
class Reduced:
    """name = the least element of a vector ("min"), or the sum of its elements ("sum")."""

    name: str
    kind: str
    vector: str
    size: int


Step = Scalar | Gathered | Vector | Affine | Reduced


@final
@dataclass
class Steps:
    """What to compute from the variables z, in order; the derivatives are in `f` at the end."""

    n_outputs: int
    constants: list[Constant] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    @property
    def uses_variables(self) -> bool:
        return any("{z" in part for step in self.steps for part in _formulas(step))

    @property
    def vectors(self) -> dict[str, int]:
        """The vectors that steps write, with their sizes."""
        return {
            step.name: step.size
            for step in self.steps
            if isinstance(step, Gathered | Vector | Affine)
        }

    @property
    def scalars(self) -> list[str]:
        """The numbers that steps write."""
        return [step.name for step in self.steps if isinstance(step, Scalar | Reduced)]


def steps_of(fitted: HybridField) -> Steps:
    """The steps of f = C theta(z) + residual(z), terms and networks that do nothing left out."""
    fitted = fitted.resolved().without_idle_terms().without_idle_basis()
    n_outputs = len(fitted.coefficients)
    found = Steps(n_outputs)
    places = _add_terms(found, fitted.features)
    found.steps.append(Gathered("f", tuple(_sums(fitted.coefficients, places))))
    parts = networks(fitted)
    if parts or np.any(fitted.correction):
        found.steps.append(Gathered("r", tuple(_sums(-np.asarray(fitted.correction), places))))
        for i, network in enumerate(parts):
            _add_network(found, network, i)
        if fitted.region is not None:
            _add_gate(found, fitted.region)
        found.steps.append(Vector("f", n_outputs, "{f} + {r}"))
    return found


def number(value: Any) -> str:
    """A number as it may stand anywhere in a formula, with all its digits."""
    text = repr(float(value))
    return f"({text})" if text.startswith("-") else text


def _add_terms(found: Steps, features: FeatureMap) -> list[str]:
    """The library's terms, each part that several share computed once; what each term is called."""
    program = compiled(features.terms)
    for place, (operation, operands) in enumerate(program.steps):
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
        found.steps.append(Scalar(f"s{place}", formula))
    return [f"s{place}" for place in program.results]


def _sums(coefficients: Any, terms: Sequence[str]) -> Iterator[str]:
    """One sum of terms per equation."""
    for row in np.asarray(coefficients):
        text = ""
        for value, term in zip(row.tolist(), terms, strict=True):
            if value != 0:
                sign = ("-" if value < 0 else "") if not text else (" - " if value < 0 else " + ")
                text += f"{sign}{abs(value)!r} * {term}"
        yield text or "0.0"


def _add_network(found: Steps, network: Network, place: int) -> None:
    """r = r + network(z). Networks of one field have the same layers, which are written once."""
    layers, width = network.layers, len(network.layers.mean)
    columns = [f"{sign!r} * {{z:{i}}}" for i, sign in enumerate(network.signs.tolist())]
    for i, period in enumerate(network.periods):
        if period > 0:
            angle = f"{number(2 * np.pi / period)} * {columns[i]}"
            columns[i] = f"cos({angle})"
            columns.append(f"sin({angle})")
    columns = [column.removeprefix("1.0 * ") for column in columns]
    if place == 0:
        found.constants += [Constant("mean", layers.mean), Constant("scale", layers.scale)]
    found.steps += [
        Gathered("h0", tuple(columns)),
        Vector("h0", width, "({h0} - {mean}) / {scale}"),
    ]
    for k, (weight, bias) in enumerate(zip(layers.weights, layers.biases, strict=True), start=1):
        width = len(bias)
        if place == 0:
            found.constants.append(Constant(f"weight{k}", np.transpose(weight)))
            found.constants.append(Constant(f"bias{k}", bias))
        found.steps += [
            Affine(f"h{k}", f"bias{k}", f"weight{k}", f"h{k - 1}", width, len(weight)),
            Vector(f"h{k}", width, f"tanh({{h{k}}})"),
        ]
    last, n_outputs = f"h{len(layers.weights)}", len(network.offset)
    found.constants += [
        Constant(f"combined{place}", np.transpose(network.output)),
        Constant(f"offset{place}", network.offset),
    ]
    found.steps += [
        Vector("r", n_outputs, f"{{r}} + {{offset{place}}}"),
        Affine("r", "r", f"combined{place}", last, n_outputs, width),
    ]


def _add_gate(found: Steps, region: Region) -> None:
    """`Region.gated`: the residual as it is on the training data, and held or zero far away."""
    count, n_outputs = len(region.landmarks), found.n_outputs
    rates = np.asarray(region.rate).tolist()
    turns = [0.0] * len(rates) if region.period is None else np.asarray(region.period).tolist()
    square = "{away} * {away}"
    if not any(rates):
        found.steps.append(Gathered("square", ("0.0",) * count))
    for i, (rate, turn) in enumerate(zip(rates, turns, strict=True)):
        if rate == 0:  # never varied: all landmarks are where every state is
            continue
        found.constants.append(Constant(f"landmarks{i}", np.asarray(region.landmarks)[:, i]))
        found.steps.append(Vector("away", count, f"{{z:{i}}} * {number(rate)} - {{landmarks{i}}}"))
        if turn > 0:  # the short way round
            way = f"{{away}} - {turn!r} * floor({{away}} / {turn!r} + 0.5)"
            found.steps.append(Vector("away", count, way))
        found.steps += [
            Vector("away", count, f"min(max({{away}}, -{FARTHEST!r}), {FARTHEST!r})"),
            Vector("square", count, square),
        ]
        square = "{square} + {away} * {away}"
    found.steps += [
        Vector("beyond", count, "sqrt(max({square}, 1.0))"),
        Reduced("nearest", "min", "beyond", count),
        Scalar("across", f"min((nearest - 1.0) / {float(region.fade)!r}, 1.0)"),
        Scalar("share", "1.0 - across * across * (3.0 - 2.0 * across)"),
        # the residual need not be finite where it has no share
        Vector("r", n_outputs, "share * {r}", where="share > 0.0"),
    ]
    if region.held is not None:
        found.constants.append(Constant("held", np.transpose(region.held)))
        found.steps += [
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
    """A language. `functions` are its names for those of NumPy; `helpers` the source of functions
    that it lacks, which is written where one is called."""

    functions: Mapping[str, str]
    helpers: Mapping[str, str]
    first: int  # the index of the first element

    # -- what differs --------------------------------------------------------------------

    @abc.abstractmethod
    def element(self, name: str, index: str) -> str:
        """One element of a vector."""

    @abc.abstractmethod
    def whole(self, name: str) -> str:
        """A vector in a formula that is taken element by element."""

    @abc.abstractmethod
    def constant(self, constant: Constant) -> str:
        """The definition of a constant."""

    @abc.abstractmethod
    def scalar(self, name: str, formula: str) -> Iterator[str]:
        """Lines of a `Scalar`, its formula written out."""

    @abc.abstractmethod
    def gathered(self, name: str, formulas: Sequence[str]) -> Iterator[str]:
        """Lines of a `Gathered`."""

    @abc.abstractmethod
    def vector(self, step: Vector, formula: str) -> Iterator[str]:
        """Lines of a `Vector`."""

    @abc.abstractmethod
    def affine(self, step: Affine) -> Iterator[str]:
        """Lines of an `Affine`."""

    @abc.abstractmethod
    def reduced(self, step: Reduced) -> Iterator[str]:
        """Lines of a `Reduced`."""

    # -- what all share ------------------------------------------------------------------

    def lines(self, steps: Sequence[Step]) -> Iterator[str]:
        """The steps in this language."""
        for step in steps:
            match step:
                case Scalar(name, formula):
                    yield from self.scalar(name, self.formula(formula))
                case Gathered(name, formulas):
                    yield from self.gathered(name, [self.formula(one) for one in formulas])
                case Vector(_, _, formula):
                    yield from self.vector(step, self.formula(formula))
                case Affine():
                    yield from self.affine(step)
                case Reduced():
                    yield from self.reduced(step)

    def formula(self, text: str) -> str:
        """A formula in this language."""
        named = _CALLED.sub(lambda call: f"{self.functions.get(call[1], call[1])}(", text)
        return named.format_map(_Vectors(self))

    def called_helpers(self, steps: Steps) -> list[str]:
        """The source of helpers that the steps call."""
        names = _CALLED.findall("\n".join(self.lines(steps.steps)))
        return [source for name, source in self.helpers.items() if name in names]


@final
class _Vectors(dict[str, "_Named"]):
    """Every name as a vector of a dialect."""

    def __init__(self, dialect: AbstractDialect):
        self.dialect = dialect

    def __missing__(self, name: str) -> "_Named":
        return _Named(name, self.dialect)


@final
class _Named:
    """`{name}` the vector, `{name:0}` its first element."""

    def __init__(self, name: str, dialect: AbstractDialect):
        self.name, self.dialect = name, dialect

    def __format__(self, index: str) -> str:
        if not index:
            return self.dialect.whole(self.name)
        return self.dialect.element(self.name, str(int(index) + self.dialect.first))


def array(values: Any) -> np.ndarray:
    return np.asarray(values, dtype=np.float64)


def numbers(values: Any, joined_by: str = ", ") -> str:
    """The numbers of a row with all their digits."""
    return joined_by.join(map(repr, array(values).tolist()))


def described(
    variables: Sequence[str], outputs: Sequence[str], vector: str, first: int = 0
) -> list[str]:
    """What the elements of z and of the result are, `vector` being how one is written."""
    return [
        *(f"{vector.format('z', i)} is {shown(name)}" for i, name in enumerate(variables, first)),
        *(
            f"{vector.format('dxdt', c)} is the derivative of {shown(name)}"
            for c, name in enumerate(outputs, first)
        ),
    ]


def shown(name: str) -> str:
    """A name on one line, as it may stand in a comment of any language."""
    text = "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in name
    )
    # ends or begins a comment in some language, or is a trigraph of C
    for sign in ("*/", "/*", "??", "#=", "=#", "%{", "%}"):
        text = text.replace(sign, " ".join(sign))
    return f"'{text}'"
