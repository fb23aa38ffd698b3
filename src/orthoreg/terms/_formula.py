"""Parse formulas. Text is never evaluated as code."""

from collections.abc import Collection, Sequence
from functools import lru_cache
from math import isfinite
from typing import final

from .._common.errors import FormulaError, quoted, shortened, suggestion
from ..data import delayed_name
from ._expression import (
    FUNCTIONS,
    Expression,
    Number,
    Parameter,
    Sum,
    Variable,
    add,
    call,
    multiply,
    power,
)
from ._limits import MAX_CHARACTERS, MAX_DEPTH
from ._tokens import check_length, tokens

_ALIASES = {
    "ln": "log",
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "Abs": "abs",
    "step": "heaviside",
}
_CONSTANTS = {"pi": 3.141592653589793}


def parse(
    text: str,
    variables: Sequence[str],
    parameters: Collection[str] = (),
    *,
    free: bool = False,
    limit: int = MAX_CHARACTERS,
) -> Expression:
    """Return the formula that a text describes in these variables.

    The grammar has + - * / ** ^, brackets, numbers, pi and common functions. Variable names that
    are not identifiers are written in backticks. `parameters` are names of constants without a
    known value. If `free`, every other word that does not resemble a variable is also a parameter.
    `limit` is the maximum number of characters.
    """
    if not isinstance(text, str):
        raise FormulaError(f"A formula must be text; got {type(text).__name__}.")
    check_length(text, limit=limit)
    try:
        return _parsed(text, tuple(variables), tuple(parameters), free)
    except FormulaError as error:
        raise FormulaError(f"Formula '{shortened(text)}': {error}") from None


@lru_cache(maxsize=1024)  # models in a search share most of their terms
def _parsed(
    text: str, variables: tuple[str, ...], parameters: tuple[str, ...], free: bool
) -> Expression:
    return _Parser(text, variables, parameters, free).parse()


@final
class _Parser:
    """A recursive-descent parser of tokens (kind, text)."""

    def __init__(
        self, text: str, variables: tuple[str, ...], parameters: Collection[str], free: bool
    ):
        self.variables = variables
        self.parameters, self.free = parameters, free
        self.tokens = [(token.kind, token.text) for token in tokens(text)]
        self.position = 0
        self.depth = 0

    def parse(self) -> Expression:
        if not self.tokens:
            raise FormulaError("it is empty.")
        result = self._sum()
        if self.position < len(self.tokens):
            raise FormulaError(f"'{self._peek()[1]}' was not expected after a complete formula.")
        return result

    def _peek(self) -> tuple[str, str]:
        return self.tokens[self.position] if self.position < len(self.tokens) else ("end", "")

    def _take(self, *signs: str) -> str | None:
        kind, text = self._peek()
        if kind == "sign" and text in signs:
            self.position += 1
            return text
        return None

    def _sum(self) -> Expression:
        terms = [self._product()]
        while sign := self._take("+", "-"):
            term = self._product()
            terms.append(term if sign == "+" else multiply(Number(-1.0), term))
        return terms[0] if len(terms) == 1 else add(*terms)

    def _product(self) -> Expression:
        factors = [self._signed()]
        while sign := self._take("*", "/"):
            factor = self._signed()
            factors.append(factor if sign == "*" else power(factor, Number(-1.0)))
            if len(factors) == 2 and all(isinstance(part, Number | Sum) for part in factors):
                factors = [multiply(*factors)]  # a number times a sum is expanded first
        return factors[0] if len(factors) == 1 else multiply(*factors)

    def _signed(self) -> Expression:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise FormulaError(f"brackets and signs are nested more than {MAX_DEPTH} deep.")
        if sign := self._take("+", "-"):
            inner = self._signed()
            result = inner if sign == "+" else multiply(Number(-1.0), inner)
        else:
            result = self._atom()
            if self._take("**", "^"):
                result = power(result, self._signed())
        self.depth -= 1
        return result

    def _atom(self) -> Expression:
        kind, text = self._peek()
        self.position += 1
        if kind == "number":
            if not isfinite(float(text)):
                raise FormulaError(f"the number {text} overflows.")
            return Number(float(text))
        if kind == "quoted":
            return self._delayed(text) or self._variable(text)
        if kind == "name":
            return self._function(text) if self._peek() == ("sign", "(") else self._variable(text)
        if (kind, text) == ("sign", "("):
            inner = self._sum()
            self._close()
            return inner
        location = f"'{text}'" if text else "its end"
        raise FormulaError(f"a number, variable, function or '(' was expected before {location}.")

    def _function(self, name: str) -> Expression:
        function = _ALIASES.get(name, name)
        if function not in FUNCTIONS:
            if delayed := self._delayed(name):
                return delayed
            if name in self.variables:
                raise FormulaError(
                    f"'{name}' is a variable; write '{name}*(...)' for a product. An earlier "
                    f"value, '{name}(t - tau)', needs runs in time and a constant tau."
                )
            raise FormulaError(
                f"unknown function '{name}'.{suggestion(name, FUNCTIONS)} Known functions are "
                f"{quoted(FUNCTIONS, 20)}."
            )
        self._take("(")
        inner = self._sum()
        self._close()
        return call(function, inner)

    def _delayed(self, name: str) -> Expression | None:
        """Return the delayed variable if the next tokens are (t - tau) or (t - 0.5)."""
        tokens = self.tokens[self.position : self.position + 5]
        kinds = [text if kind == "sign" else kind for kind, text in tokens]
        if kinds[:3] != ["(", "name", "-"] or kinds[3:4] not in (["name"], ["number"]):
            return None
        delayed = delayed_name(name, tokens[3][1])
        if kinds[4:] != [")"] or delayed not in self.variables:
            return None
        self.position += 5
        return Variable(self.variables.index(delayed), delayed)

    def _variable(self, name: str) -> Expression:
        if name in self.variables:
            return Variable(self.variables.index(name), name)
        if name in self.parameters:
            return Parameter(name)
        if name in _CONSTANTS:
            return Number(_CONSTANTS[name])
        if name in FUNCTIONS:
            raise FormulaError(f"function '{name}' needs its argument in brackets.")
        if self.free and name.isidentifier() and not suggestion(name, self.variables):
            return Parameter(name)
        raise FormulaError(
            f"unknown variable '{name}'.{suggestion(name, self.variables)} Known variables are "
            f"{quoted(self.variables)}."
        )

    def _close(self) -> None:
        if not self._take(")"):
            raise FormulaError("a ')' is missing.")
