"""How a language writes the steps of a fitted field: what all of them share."""

import abc
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, final

import numpy as np

from ._steps import Affine, Constant, Gathered, Reduced, Scalar, Step, Steps, Vector

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
