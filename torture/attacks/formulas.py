"""Formulas, library texts and other text that is parsed."""

from pathlib import Path

import numpy as np

from torture._attack import attack
from torture._mutation import mutated

NAMES = ("v0", "v1", "x", "theta")
_ATOMS = (*NAMES, "0", "1", "2.5", "1e9", "1e-300", "pi", "K", "`a b`", "3.0")
_FUNCTIONS = ("sin", "cos", "exp", "log", "sqrt", "abs", "sign", "heaviside", "tanh", "nope")
_SIGNS = ("+", "-", "*", "/", "**", "^", " + ", " * ", "**-", "--")
_FAMILIES = ("poly(2)", "fourier(1)", "poly(999)", "fourier(999)", "near(poly(1), 1)", "x/(K + x)")


def expression(rng: np.random.Generator, depth: int = 4) -> str:
    """Return a random formula, which may be invalid."""
    choice = rng.random()
    if depth == 0 or choice < 0.3:
        return str(rng.choice(_ATOMS))
    if choice < 0.5:
        return f"{rng.choice(_FUNCTIONS)}({expression(rng, depth - 1)})"
    if choice < 0.6:
        return f"({expression(rng, depth - 1)})"
    parts = [expression(rng, depth - 1) for _ in range(rng.integers(2, 5))]
    return str(rng.choice(_SIGNS)).join(parts)


@attack("fuzz", trials=15_000)
def formulas(rng: np.random.Generator, folder: Path) -> None:
    """A formula with random parts and changes is parsed or refused."""
    from orthoreg.terms import parse, to_text

    text = mutated(expression(rng), rng)
    term = parse(text, NAMES, ("K",), free=bool(rng.integers(2)))
    written = to_text(term)
    if len(written) <= 10_000:
        parse(written, NAMES, ("K",), free=True)


@attack("fuzz", trials=10_000)
def libraries(rng: np.random.Generator, folder: Path) -> None:
    """A library text with random parts and changes gives terms or is refused."""
    from orthoreg.terms import feature_names, parse_library

    parts = [
        str(rng.choice(_FAMILIES)) if rng.random() < 0.6 else expression(rng, 2)
        for _ in range(rng.integers(1, 6))
    ]
    text = str(rng.choice(["+", "*", " + "])).join(parts)
    feature_names(parse_library(mutated(text, rng)), NAMES[: rng.integers(1, 5)])
