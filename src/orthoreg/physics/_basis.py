"""A residual's functions with symmetries built in."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float

from .._common.arrays import Arrays, pytree
from .._common.errors import InputError
from .._common.registry import part
from ..field import AbstractAugmentation, AbstractBasis, TanhLayers
from ._symmetry import Symmetries

_INNER = "inner."


@part
@pytree(meta=["periods"])
@final
@dataclass(frozen=True, eq=False)
class SymmetricBasis(AbstractBasis):
    """psi over all images of a point, added up with the signs that each class of equations has:

        psi_p(z) = 2^-m sum_s (prod_{i in s} classes[p, i]) psi(e(mirrors_s z)),

    where e puts (cos, sin) in the place of a variable with a period. `classes` hold the parities
    of equations, each of which may use the functions of its own class alone.
    """

    inner: AbstractBasis
    images: Float[Arrays, "s V"]
    signs: Float[Arrays, "p s"]
    periods: tuple[float, ...]

    @property
    def size(self) -> int:
        return self.inner.size * self.signs.shape[0]

    def __call__(self, variables: Any, xp: Any = np) -> Any:
        values = [
            self.inner(embedded(variables * image, self.periods, xp), xp) for image in self.images
        ]
        return xp.concatenate(
            [
                sum((sign * value for sign, value in zip(row, values, strict=True)), start=0.0)
                / len(values)
                for row in self.signs
            ],
            axis=1,
        )

    def mask_inputs(self, variables: Bool[np.ndarray, " V"]) -> "SymmetricBasis":
        twice = np.concatenate([variables, variables[np.array(self.periods) > 0]])
        return replace(self, inner=self.inner.mask_inputs(twice))

    def arrays(self) -> dict[str, np.ndarray]:
        if not isinstance(self.inner, TanhLayers):
            raise InputError(
                f"A file holds symmetric residuals of tanh layers alone; this one is made of "
                f"{type(self.inner).__name__}."
            )
        own = {"images": self.images, "signs": self.signs, "periods": np.array(self.periods)}
        return {name: np.asarray(array) for name, array in own.items()} | {
            f"{_INNER}{name}": array for name, array in self.inner.arrays().items()
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "SymmetricBasis":
        inner = {
            name.removeprefix(_INNER): array
            for name, array in arrays.items()
            if name.startswith(_INNER)
        }
        images, signs, periods = (arrays[name] for name in ("images", "signs", "periods"))
        if images.shape[1:] != periods.shape or signs.shape[1:] != images.shape[:1]:
            raise InputError("The symmetries of the network do not fit together.")
        return cls(TanhLayers.from_arrays(inner), images, signs, tuple(periods.tolist()))


def basis_of(basis: AbstractBasis, symmetries: Symmetries) -> Bool[np.ndarray, "c H"] | None:
    """Which functions the residual of each equation may be made of; None for all."""
    classes = symmetries.classes()
    if not symmetries.any or len(classes) == 1:
        return None
    mine = (symmetries.parity.T[:, None] == classes).all(axis=2)  # (c, p)
    return np.repeat(mine, basis.size // len(classes), axis=1)


def symmetric_basis(
    augmentation: AbstractAugmentation,
    symmetries: Symmetries,
    points: Float[np.ndarray, "N V"],
    rng: np.random.Generator,
) -> SymmetricBasis:
    """The functions that an augmentation draws, for points and all their images."""
    images = symmetries.images()
    periods = tuple(symmetries.periods.tolist())
    everywhere = np.concatenate([embedded(points * signs, periods) for signs, _ in images])
    spread = everywhere.std(axis=0)
    inner = augmentation.init(everywhere.mean(axis=0), np.where(spread > 0, spread, 1.0), rng=rng)
    classes = symmetries.classes()
    chosen = [
        np.array(some, dtype=bool)
        for some in itertools.product([False, True], repeat=len(symmetries.mirrors))
    ]
    signs = np.array([[row[some].prod() for some in chosen] for row in classes])
    return SymmetricBasis(inner, np.array([turned for turned, _ in images]), signs, periods)


def embedded(variables: Any, periods: Sequence[float], xp: Any = np) -> Any:
    """The variables with the cosine of those that have a period in their place, and the sines at
    the end (N x V -> N x V + number of periods)."""
    places = [i for i, period in enumerate(periods) if period > 0]
    if not places:
        return variables
    columns = [variables[:, i] for i in range(variables.shape[1])]
    for i in places:
        angle = variables[:, i] * (2 * np.pi / periods[i])
        columns[i] = xp.cos(angle)
        columns.append(xp.sin(angle))
    return xp.stack(columns, axis=1)
