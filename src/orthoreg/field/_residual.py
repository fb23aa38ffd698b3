"""Residual networks: recipes (`AbstractAugmentation`) and the basis functions they create
(`AbstractBasis`).
"""

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float

from .._common.arrays import Arrays, pytree
from .._common.errors import InputError
from .._common.registry import part

_ROWS = 128  # rows per block; the values of 400 functions fit into a core's cache (0.4 MB)
_SATURATED = 20.0  # tanh of this value is 1 in double precision


class AbstractBasis(abc.ABC):
    """Functions psi_1 ... psi_H of the variables. Residuals are their linear combinations.

    A concrete class is a frozen dataclass of arrays. Mark it with `pytree` for JAX and with `part`
    for model files.
    """

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """Number H of functions; zero without a residual."""

    @abc.abstractmethod
    def __call__(self, variables: Any, xp: Any = np) -> Any:
        """Return psi at samples (N x V -> N x H), computed by `xp`, which is NumPy or JAX."""

    def slopes(
        self,
        variables: Float[np.ndarray, "N V"],
        psi: Float[np.ndarray, "N H"],
        weights: Float[np.ndarray, "H c"],
        steps: Float[np.ndarray, " n"],
    ) -> Float[np.ndarray, "n N c"]:
        """Return d (psi weights) / dz_j for the first n variables, given psi.

        The default uses finite differences with these `steps`.
        """
        slopes = []
        for j, step in enumerate(steps):
            shifted = np.array(variables)
            shifted[:, j] += step
            slopes.append((self(shifted) - psi) @ weights / step)
        return np.stack(slopes)

    @abc.abstractmethod
    def mask_inputs(self, variables: Bool[np.ndarray, " V"]) -> "AbstractBasis":
        """Return the basis with the effect of these `variables` removed."""

    @abc.abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays that a file stores, by name."""

    @classmethod
    @abc.abstractmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "AbstractBasis":
        """Return the basis stored in `arrays`. Raise InputError if they are inconsistent."""


@part
@pytree()
@final
@dataclass(frozen=True, eq=False)
class TanhLayers(AbstractBasis):
    """Standardized variables passed through tanh layers, and a constant.

    These functions are the inputs of a network's output layer. Without layers, there are no
    functions (H = 0).
    """

    mean: Float[Arrays, " V"]
    scale: Float[Arrays, " V"]
    weights: tuple[Float[Arrays, "_ _"], ...]
    biases: tuple[Float[Arrays, " _"], ...]

    @property
    def size(self) -> int:
        return self.biases[-1].shape[0] + 1 if self.biases else 0

    def slopes(
        self,
        variables: Float[np.ndarray, "N V"],
        psi: Float[np.ndarray, "N H"],
        weights: Float[np.ndarray, "H c"],
        steps: Float[np.ndarray, " n"],
    ) -> Float[np.ndarray, "n N c"]:
        """Return the slopes, which are exact for a single layer: tanh' = 1 - tanh^2."""
        if len(self.weights) != 1:
            return super().slopes(variables, psi, weights, steps)
        n = len(steps)
        inner = np.asarray(self.weights[0])[:n] / np.asarray(self.scale)[:n, None]
        product = inner[:, :, None] * weights[:-1]  # n x H x c; the constant has no slope
        square = np.square(psi[:, :-1])
        correction = np.tensordot(square, product, axes=(1, 1))  # N n c
        return product.sum(axis=1)[:, None] - np.swapaxes(correction, 0, 1)

    def mask_inputs(self, variables: Bool[np.ndarray, " V"]) -> "TanhLayers":
        """Return the same layers with zero weights for these variables."""
        if not self.weights or not variables.any():
            return self
        first = np.where(variables[:, None], 0.0, self.weights[0])
        return replace(self, weights=(first, *self.weights[1:]))

    def __call__(self, variables: Any, xp: Any = np) -> Any:
        if not self.weights:
            return xp.zeros((variables.shape[0], 0))
        values = (variables - self.mean) / self.scale
        if xp is np:
            return self._in_numpy(np.asarray(values))
        for weight, bias in zip(self.weights, self.biases, strict=True):
            values = xp.tanh(values @ weight + bias)
        return xp.concatenate([values, xp.ones((variables.shape[0], 1))], axis=1)

    def arrays(self) -> dict[str, np.ndarray]:
        layers = zip(self.weights, self.biases, strict=True)
        arrays = {"mean": self.mean, "scale": self.scale}
        for i, (weight, bias) in enumerate(layers):
            arrays |= {f"layer{i}.weight": weight, f"layer{i}.bias": bias}
        return {name: np.asarray(array) for name, array in arrays.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "TanhLayers":
        layers = range(sum(name.endswith(".weight") for name in arrays))
        basis = cls(
            arrays["mean"],
            arrays["scale"],
            tuple(arrays[f"layer{i}.weight"] for i in layers),
            tuple(arrays[f"layer{i}.bias"] for i in layers),
        )
        width = len(basis.mean)
        if basis.scale.shape != (width,) or not (basis.scale > 0).all():
            raise InputError("The network's scale must be positive and have the shape of its mean.")
        for weight, bias in zip(basis.weights, basis.biases, strict=True):
            if weight.shape != (width, len(bias)) or bias.ndim != 1:
                raise InputError("The network's layers have inconsistent shapes.")
            width = len(bias)
        return basis

    def _in_numpy(self, values: Float[np.ndarray, "N V"]) -> Float[np.ndarray, "N H"]:
        """Return the values of the layers, computed in blocks of rows that fit into the cache."""
        first = np.ones((len(values), values.shape[1] + 1))
        first[:, :-1] = values
        psi = np.empty((len(values), self.size))
        with np.errstate(over="ignore"):
            for i in range(0, len(values), _ROWS):
                layer = first[i : i + _ROWS]
                for weight in self._doubled[:-1]:
                    layer = _tanh_of_half(layer @ weight)
                part = np.matmul(layer, self._doubled[-1], out=psi[i : i + _ROWS])
                _tanh_of_half(part)
        return psi

    @cached_property
    def _doubled(self) -> list[np.ndarray]:
        """Twice the weights of each layer, with the bias as the last row.

        An additional column produces the constant 1, by which the next layer multiplies its bias.
        """
        matrices = []
        for weight, bias in zip(self.weights, self.biases, strict=True):
            matrix = np.zeros((len(weight) + 1, len(bias) + 1))
            matrix[:-1, :-1], matrix[-1, :-1] = weight, bias
            matrix[-1, -1] = _SATURATED
            matrices.append(2 * matrix)
        return matrices


def _tanh_of_half(values: Float[np.ndarray, "N H"]) -> Float[np.ndarray, "N H"]:
    """Compute tanh(z / 2) = 1 - 2 / (exp(z) + 1) in place, with an error of 2e-16, and return
    it.

    NumPy's tanh takes twice as long on processors without AVX-512.
    """
    np.exp(values, out=values)
    values += 1
    np.divide(-2, values, out=values)
    values += 1
    return values


Scalar = int | float | np.number


class AbstractAugmentation(abc.ABC):
    """A recipe for f_aug. `init` draws its basis functions; a solver determines their weights.

    `ridge` is rho, the weight of |v|^2 for the output weights v. If None, held-out data determine
    rho; a gradient solver then uses zero. `learns_hidden` states whether a gradient solver also
    trains the hidden layers, which must be `TanhLayers`.
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
        """Return the functions for variables with this mean and standard deviation."""


@part
@final
@dataclass(frozen=True)
class Zero(AbstractAugmentation):
    """No residual: the model consists of equations only.

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
    """A hidden tanh layer with fixed random weights. Only the output layer is learned.

    Parameters
    ----------
    width
        number of units.
    ridge
        rho, weight of the squared output weights. If None, it is chosen on held-out data.
    weight_scale
        scale of the weights, for standardized variables. Steep units represent fine detail, flat
        units represent broad trends. If a pair, the scales of units are spaced geometrically
        between the two values.
    univariate_fraction
        fraction of units that depend on a single variable, in turn. Detail in one variable then
        needs few units, however many variables there are.

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
    weight_scale: Scalar | Sequence[Scalar] = (0.5, 32.0)
    univariate_fraction: Scalar = 0.5
    learns_hidden = False

    def __post_init__(self):
        _check_size(self.width, "RandomFeatures(width=...)")
        _check_ridge(self.ridge, "RandomFeatures")
        if isinstance(self.weight_scale, Sequence):
            object.__setattr__(self, "weight_scale", tuple(self.weight_scale))
        if len(self._scale_range) != 2 or not all(
            isinstance(end, Scalar) and 0 < end < np.inf for end in self._scale_range
        ):
            raise InputError(
                "RandomFeatures(weight_scale=...) must be a positive number or a pair of them; got "
                f"{self.weight_scale!r}."
            )
        if not 0 <= self.univariate_fraction <= 1:
            raise InputError(
                f"RandomFeatures(univariate_fraction=...) must be a number from 0 to 1; got "
                f"{self.univariate_fraction!r}."
            )

    @property
    def _scale_range(self) -> tuple[Any, ...]:
        return (
            self.weight_scale if isinstance(self.weight_scale, tuple) else (self.weight_scale,) * 2
        )

    def init(self, mean, scale, *, rng) -> TanhLayers:
        n_variables, units = len(mean), np.arange(self.width)
        low, high = self._scale_range
        scales = np.geomspace(low, high, self.width)
        weight = np.sqrt(2 / n_variables) * rng.standard_normal((n_variables, self.width))
        bias = 2 * rng.uniform(-1, 1, self.width)
        # index among the units of a single variable
        rank = np.floor(self.univariate_fraction * (units + 1))
        is_univariate = rank > np.floor(self.univariate_fraction * units)
        uses = np.arange(n_variables)[:, None] == (rank - 1) % n_variables
        weight = np.where(is_univariate, np.sqrt(n_variables) * weight * uses, weight)
        return TanhLayers(mean, scale, (scales * weight,), (scales * bias,))


@part
@final
@dataclass(frozen=True)
class MLP(AbstractAugmentation):
    """A network of tanh layers.

    A gradient solver trains all layers. `Exact` keeps the random hidden layers and solves only for
    the output layer.

    Parameters
    ----------
    width
        number of units of each hidden layer.
    depth
        number of hidden layers.
    ridge
        rho, weight of the squared output weights. If None, it is chosen on held-out data; a
        gradient solver then uses zero.

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


def _check_ridge(value: float | None, recipe: str) -> None:
    if value is not None and not 0 <= value < np.inf:
        raise InputError(f"{recipe}(ridge=...) must be None or a number >= 0; got {value!r}.")
