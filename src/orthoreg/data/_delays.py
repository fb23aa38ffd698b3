"""`Delay`: a state or input at an earlier time, such as u(t - tau), as a column."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, final

_WORD = r"[^\W\d]\w*"
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_NAME = re.compile(rf"(?:`([^`]+)`|({_WORD}))\(t - ({_WORD}|{_NUMBER})\)")
_WRITTEN = re.compile(
    rf"(?<![\w`.])(?:`(?P<quoted>[^`]+)`|(?P<word>{_WORD}))(?P<prime>'?)"
    rf"\s*\(\s*(?P<time>{_WORD})\s*-\s*(?P<delay>{_WORD}|{_NUMBER})\s*\)"
)


def delayed_name(variable: str, delay: str) -> str:
    """Return the name of a delayed variable: "u(t - tau)" for "u" and "tau"."""
    base = variable if re.fullmatch(_WORD, variable) else f"`{variable}`"
    return f"{base}(t - {delay if delay.isidentifier() else format(float(delay), '.12g')})"


@lru_cache(maxsize=1024)
def split_delayed(name: str) -> tuple[str, str] | None:
    """Return the variable and the delay in a name such as "u(t - tau)", or None for other names."""
    match = _NAME.fullmatch(name)
    return None if match is None else (match[1] or match[2], match[3])


@final
class WrittenDelay(NamedTuple):
    """A delayed variable in a formula.

    `has_prime` is true for a derivative, as in x'(t - tau).
    """

    variable: str
    time: str
    delay: str
    has_prime: bool


def delays_in(text: str) -> list[WrittenDelay]:
    """Return every part of a text that has the form of a delayed variable, f(a - b)."""
    return [
        WrittenDelay(
            match["quoted"] or match["word"], match["time"], match["delay"], bool(match["prime"])
        )
        for match in _WRITTEN.finditer(text)
    ]


def without_delayed_times(text: str) -> str:
    """Return a text in which delayed variables have no times and delays."""
    return _WRITTEN.sub(lambda match: match["word"] or f"`{match['quoted']}`", text)


@final
@dataclass(frozen=True)
class Delay:
    """The value of `variable` at a time earlier by `value`.

    `delay` is the name of a constant, or a number. A constant `is_given` if its value is known.

    Examples
    --------
    >>> Delay("u", "tau", 0.35).name, Delay("u", "tau", 0.35).shown(2)
    ('u(t - tau)', 'u(t - 0.35)')
    """

    variable: str
    delay: str
    value: float
    is_given: bool = False

    @property
    def name(self) -> str:
        """The name of the column, which contains the name of the constant."""
        return delayed_name(self.variable, self.delay)

    @property
    def is_estimated(self) -> bool:
        """Whether the delay is estimated from data."""
        return self.delay.isidentifier() and not self.is_given

    def shown(self, precision: int | None = None) -> str:
        """Return the name with the value of the delay, by default with ten digits."""
        if precision is None:
            return delayed_name(self.variable, f"{self.value:.10g}")
        if not self.is_estimated or not self.value > 0:
            return delayed_name(self.variable, f"{self.value:.12g}")
        digits = f"{self.value:#.{precision}g}"
        base = delayed_name(self.variable, "t")
        return base.replace("(t - t)", f"(t - {digits})")
