"""Recipes for the residual: none, one random layer, or a deeper network."""

import abc
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, final

import numpy as np
from jaxtyping import Float

from .._common.errors import InputError
from .._common.registry import part
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


@part
@final
@dataclass(frozen=True)
class Zero(AbstractAugmentation):
    """No residual: the purely symbolic model.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 121)
    >>> model = og.OrthoReg("poly(1)", og.Zero()).fit(np.exp(-t)[:, None], t=t)
    >>> model.equations()
    ["x0' = -1.000 x0"]
    """

    ridge: float | None = field(default=0.0, init=False, repr=False)
    learns_hidden = False

    def init(self, mean, scale, *, rng) -> TanhLayers:
        return TanhLayers(mean, scale, (), ())


@part
@final
@dataclass(frozen=True)
class RandomFeatures(AbstractAugmentation):
    """One hidden tanh layer with fixed random weights; only its output layer is learned.

    Parameters
    ----------
    width
        the number of units.
    ridge
        rho, the weight of the squared output weights; None leaves it to held-out data.
    weight_scale
        scales the weights, for variables in units of their standard deviations: steep units follow
        fine detail, flat ones wide trends. A pair spreads the units evenly, by ratio, from the
        first value to the second.
    univariate_fraction
        the share of units that see one variable each, in turn, so that detail in one variable needs
        few units however many variables there are.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> features = og.RandomFeatures(4, weight_scale=(0.5, 4.0), univariate_fraction=0.5)
    >>> basis = features.init(np.zeros(2), np.ones(2), rng=np.random.default_rng(0))
    >>> (basis.weights[0] != 0).astype(int)
    array([[1, 1, 1, 0],
           [1, 0, 1, 1]])
    """

    width: int = 400
    ridge: float | None = None
    weight_scale: Number | Sequence[Number] = (0.5, 32.0)
    univariate_fraction: Number = 0.5
    learns_hidden = False

    def __post_init__(self):
        _check_size(self.width, "RandomFeatures(width=...)")
        _check_ridge(self.ridge, "RandomFeatures")
        if isinstance(self.weight_scale, Sequence):
            object.__setattr__(self, "weight_scale", tuple(self.weight_scale))
        if len(self._ends) != 2 or not all(
            isinstance(end, Number) and 0 < end < np.inf for end in self._ends
        ):
            raise InputError(
                "RandomFeatures(weight_scale=...) must be a positive number or a pair of them; got "
                f"{self.weight_scale!r}."
            )
        if not 0 <= self.univariate_fraction <= 1:
            raise InputError(
                f"RandomFeatures(univariate_fraction=...) must be a share from 0 to 1; got "
                f"{self.univariate_fraction!r}."
            )

    @property
    def _ends(self) -> tuple[Any, ...]:
        return (
            self.weight_scale if isinstance(self.weight_scale, tuple) else (self.weight_scale,) * 2
        )

    def init(self, mean, scale, *, rng) -> TanhLayers:
        n_variables, units = len(mean), np.arange(self.width)
        low, high = self._ends
        scales = np.geomspace(low, high, self.width)
        weight = np.sqrt(2 / n_variables) * rng.standard_normal((n_variables, self.width))
        bias = 2 * rng.uniform(-1, 1, self.width)
        rank = np.floor(self.univariate_fraction * (units + 1))  # of units that see one variable
        is_univariate = rank > np.floor(self.univariate_fraction * units)
        seen = np.arange(n_variables)[:, None] == (rank - 1) % n_variables
        weight = np.where(is_univariate, np.sqrt(n_variables) * weight * seen, weight)
        return TanhLayers(mean, scale, (scales * weight,), (scales * bias,))


@part
@final
@dataclass(frozen=True)
class MLP(AbstractAugmentation):
    """A network of tanh layers.

    A gradient solver trains all of it. `Exact` keeps the hidden layers as drawn and solves for
    the output layer alone.

    Parameters
    ----------
    width
        units of each hidden layer.
    depth
        the number of hidden layers.
    ridge
        rho, the weight of the squared output weights; None leaves it to held-out data, and is zero
        for a gradient solver.

    Examples
    --------
    >>> import orthoreg as og
    >>> og.OrthoReg(augmentation=og.MLP(64, 2), solver=og.Adam(normalize=True)).augmentation.width
    64
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
