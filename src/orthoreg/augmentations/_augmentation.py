"""Recipes for the residual: none, one random layer, or a deeper network."""

import abc
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, final

import numpy as np
from jaxtyping import Float

from .._errors import InputError
from ._basis import AbstractBasis, TanhLayers

Number = int | float | np.number


class AbstractAugmentation(abc.ABC):
    """A recipe for f_aug. `init` draws its functions; a solver finds their weights.

    `ridge` is rho, the weight of |v|^2 on the last layer; None leaves it to held-out data, and is
    zero for a gradient solver.
    `learns_hidden` says whether a gradient solver trains the hidden layers too, which must then be
    `TanhLayers`.
    """

    ridge: float | None
    learns_hidden: bool

    @abc.abstractmethod
    def init(
        self,
        mean: Float[np.ndarray, " V"],
        scale: Float[np.ndarray, " V"],
        *,
        rng: np.random.Generator,
    ) -> AbstractBasis:
        """The functions for variables with this mean and spread."""


@final
@dataclass(frozen=True)
class Zero(AbstractAugmentation):
    """No residual: the purely symbolic model."""

    ridge: float | None = field(default=0.0, init=False, repr=False)
    learns_hidden = False

    def init(self, mean, scale, *, rng) -> TanhLayers:
        return TanhLayers(mean, scale, (), ())


@final
@dataclass(frozen=True)
class RandomFeatures(AbstractAugmentation):
    """One hidden tanh layer with fixed random weights; only its output layer is learned.

    `steepness` scales the weights, for variables in units of their standard deviations: steep
    units follow fine detail, flat ones wide trends. A pair spreads the units evenly, by ratio,
    from the first value to the second. A share `alone` of the units sees one variable each, in
    turn, so that detail in one variable needs few units however many variables there are.

    >>> import numpy as np, orthoreg as og
    >>> features = og.RandomFeatures(4, steepness=(0.5, 4.0), alone=0.5)
    >>> basis = features.init(np.zeros(2), np.ones(2), rng=np.random.default_rng(0))
    >>> (basis.weights[0] != 0).astype(int)
    array([[1, 1, 1, 0],
           [1, 0, 1, 1]])
    """

    width: int = 400
    ridge: float | None = None
    steepness: Number | Sequence[Number] = (0.5, 32.0)
    alone: Number = 0.5
    learns_hidden = False

    def __post_init__(self):
        _check_size(self.width, "RandomFeatures(width=...)")
        _check_ridge(self.ridge, "RandomFeatures")
        if isinstance(self.steepness, Sequence):
            object.__setattr__(self, "steepness", tuple(self.steepness))
        if len(self._ends) != 2 or not all(
            isinstance(end, Number) and 0 < end < np.inf for end in self._ends
        ):
            raise InputError(
                "RandomFeatures(steepness=...) must be a positive number or a pair of them; got "
                f"{self.steepness!r}."
            )
        if not 0 <= self.alone <= 1:
            raise InputError(
                f"RandomFeatures(alone=...) must be a share from 0 to 1; got {self.alone!r}."
            )

    @property
    def _ends(self) -> tuple[Any, ...]:
        return self.steepness if isinstance(self.steepness, tuple) else (self.steepness,) * 2

    def init(self, mean, scale, *, rng) -> TanhLayers:
        n_variables, units = len(mean), np.arange(self.width)
        low, high = self._ends
        steepness = np.geomspace(low, high, self.width)
        weight = np.sqrt(2 / n_variables) * rng.standard_normal((n_variables, self.width))
        bias = 2 * rng.uniform(-1, 1, self.width)
        rank = np.floor(self.alone * (units + 1))  # of units that see one variable
        is_alone = rank > np.floor(self.alone * units)
        seen = np.arange(n_variables)[:, None] == (rank - 1) % n_variables
        weight = np.where(is_alone, np.sqrt(n_variables) * weight * seen, weight)
        return TanhLayers(mean, scale, (steepness * weight,), (steepness * bias,))


@final
@dataclass(frozen=True)
class MLP(AbstractAugmentation):
    """A network of `depth` hidden tanh layers of `width` units.

    A gradient solver trains all of it. `Exact` keeps the hidden layers as drawn and solves for
    the output layer alone.
    """

    width: int = 128
    depth: int = 3
    ridge: float | None = None
    learns_hidden = True

    def __post_init__(self):
        _check_size(self.width, "MLP(width=...)")
        _check_size(self.depth, "MLP(depth=...)")
        _check_ridge(self.ridge, "MLP")

    def init(self, mean, scale, *, rng) -> TanhLayers:
        sizes = [len(mean)] + [self.width] * self.depth
        weights = tuple(
            np.sqrt(2 / (into + out)) * rng.standard_normal((into, out))
            for into, out in zip(sizes[:-1], sizes[1:], strict=True)
        )
        biases = tuple(0.5 * rng.uniform(-1, 1, out) for out in sizes[1:])
        return TanhLayers(mean, scale, weights, biases)


def _check_size(value: object, what: str) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
        raise InputError(f"{what} must be a whole number of at least 1; got {value!r}.")


def _check_ridge(value: float | None, who: str) -> None:
    if value is not None and not 0 <= value < np.inf:
        raise InputError(f"{who}(ridge=...) must be None or a number >= 0; got {value!r}.")
