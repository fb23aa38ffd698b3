"""A variable's name as mathematics: a letter or word, dots above it, indices below it."""

import re
from dataclasses import dataclass
from typing import final

_GREEK_NAMES = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
    "upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
).split()
GREEK = dict(zip("αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩ", _GREEK_NAMES, strict=True))
"""The names of Greek letters, by letter."""
LETTERS = {name: letter for letter, name in GREEK.items()} | {
    "varepsilon": "ϵ", "vartheta": "ϑ", "varphi": "φ", "varrho": "ϱ", "varsigma": "ς", "ell": "ℓ",
}  # fmt: skip
"""The letters that have names, by name."""
_DOTS = {"dot": 1, "ddot": 2, "dddot": 3}
_NAME = re.compile(r"(?P<letters>[^\W\d_]+?)(?P<dots>d{0,2}dot)?(?P<number>\d*)")
_SYMBOL = re.compile(r"[^\W\d_]+\d*(_[^\W_]+)*")


@final
@dataclass(frozen=True)
class Symbol:
    """A letter, the name of one (theta) or words, with dots above and indices below."""

    base: str
    dots: int = 0
    below: tuple[str, ...] = ()


def symbol(name: str) -> Symbol:
    """`phi1` is phi with index 1, `theta_dot` theta with a dot, `x_max` x with index max; a name
    that is no such symbol is words, and so is one of several (`speed_of_rotor`)."""
    name = "".join(letter if letter.isprintable() else " " for letter in name)
    name = " ".join(name.split())
    if _SYMBOL.fullmatch(name) is None:
        return Symbol(name)
    first, *rest = name.split("_")
    found = _NAME.fullmatch(first)
    assert found is not None
    letters, dots, number = found["letters"], found["dots"] or "", found["number"]
    if dots and len(letters) > 1 and letters not in LETTERS:
        letters, dots = letters + dots, ""  # a word that happens to end so
    above = [dots, *(part for part in rest if part in _DOTS)]
    below = [number, *(part for part in rest if part not in _DOTS)]
    below, n_dots = [part for part in below if part], sum(_DOTS.get(part, 0) for part in above)
    if len(letters) > 1 and letters not in LETTERS and len(below) > 1:
        words = [letters + number, *(part for part in rest if part not in _DOTS)]
        return Symbol("_".join(words), n_dots)
    return Symbol(letters, n_dots, tuple(below))
