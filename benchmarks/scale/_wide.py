"""Problems with many states or terms."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from benchmarks import flows


def heat(x: np.ndarray) -> np.ndarray:
    """Return derivatives of the heat equation on a line with zero boundary values."""
    beyond = np.pad(x, ((0, 0), (1, 1)))
    return beyond[:, 2:] - 2 * x + beyond[:, :-2]


def heat_support(n: int) -> np.ndarray:
    return np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= 1


def _chain_support(n: int) -> np.ndarray:
    return flows.chain_support(n // 2)


@final
@dataclass(frozen=True)
class Wide:
    """A system, its size, and the variables of its equations."""

    words: str
    slope: Callable[[np.ndarray], np.ndarray]
    support: Callable[[int], np.ndarray]
    states: int
    runs: int
    library: str


WIDE = {
    "chain": Wide("100 coupled oscillators", flows.chain, _chain_support, 200, 1000, "poly(1)"),
    "heat": Wide("heat equation", heat, heat_support, 100, 1000, "poly(1)"),
    "near": Wide("heat equation, neighbours", heat, heat_support, 100, 1000, "near(poly(2), 1)"),
    "terms": Wide("heat equation, all products", heat, heat_support, 98, 200, "poly(2)"),
}
