"""Symmetries of a vector field, and residuals that satisfy them."""

import abc
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import pi
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float

from .._common.arrays import Arrays, pytree
from .._common.errors import InputError, quoted, suggestion
from .._common.registry import part
from ..data import split_delayed
from ..field import AbstractAugmentation, AbstractBasis, TanhLayers
from . import _limits as limits


class AbstractSymmetry(abc.ABC):
    """A symmetry of the right-hand sides."""

    @abc.abstractmethod
    def names(self) -> tuple[str, ...]:
        """Return the names of the variables in the symmetry."""

    @abc.abstractmethod
    def signs(
        self, variables: Sequence[str], outputs: Sequence[str]
    ) -> tuple[Float[np.ndarray, " V"], Float[np.ndarray, " c"]] | None:
        """Return the signs a of variables and b of right-hand sides in f(a z) = b f(z), or None."""

    def periods(self, variables: Sequence[str]) -> Float[np.ndarray, " V"]:
        """Return the period in each variable, or zero for variables that are not periodic."""
        return np.zeros(len(variables))


@dataclass(frozen=True, init=False)
class AbstractSignChange(AbstractSymmetry):
    """A symmetry under a simultaneous change of sign of some variables."""

    of: tuple[str, ...]

    def __init__(self, *names: str, of: Sequence[str] = ()):
        object.__setattr__(self, "of", (*names, *of))
        _check_names(self.of, type(self).__name__)

    def names(self) -> tuple[str, ...]:
        return self.of

    def _flip(self, names: Sequence[str]) -> Float[np.ndarray, " n"]:
        return np.array([-1.0 if name in self.of else 1.0 for name in names])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.of))})"


def _check_names(names: tuple[str, ...], symmetry: str) -> None:
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(
            f"{symmetry} needs the names of columns, as in {symmetry}('x'); got {names!r}."
        )


@part
@final
@dataclass(frozen=True)
class Odd(AbstractSymmetry):
    """Symmetry f(-z) = -f(z): right-hand sides change sign when all states and inputs do.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 121)
    >>> states = np.column_stack([np.sin(t), np.cos(t)])
    >>> physics = og.Physics(symmetry=og.Odd())
    >>> og.OrthoReg("poly(2)", og.Zero(), physics=physics).fit(states, t=t).equations(2)
    ["x0' = 1.0 x1", "x1' = -1.0 x0"]
    """

    def names(self) -> tuple[str, ...]:
        return ()

    def signs(self, variables, outputs):
        return -np.ones(len(variables)), -np.ones(len(outputs))


@part
@final
@dataclass(frozen=True, init=False)
class Even(AbstractSignChange):
    """No right-hand side changes if these variables change sign together: `Even("x")`.

    Parameters
    ----------
    names
        variables.
    of
        additional variables, as a list.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 121)
    >>> physics = og.Physics(symmetry=og.Even("x0"))
    >>> model = og.OrthoReg("poly(2)", og.Zero(), physics=physics)
    >>> model.fit(np.tanh(t - 3)[:, None], t=t).equations(2)  # 1 - x0**2
    ["x0' = 1.0 - 1.0 x0**2"]
    """

    def signs(self, variables, outputs):
        return self._flip(variables), np.ones(len(outputs))


@part
@final
@dataclass(frozen=True, init=False)
class Reflection(AbstractSignChange):
    """The equations of these states change sign when the states do; other equations do not
    change.

    The mirror image of a motion is then also a motion: `Reflection("x", "v")`.

    Parameters
    ----------
    names
        states.
    of
        additional states, as a list.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 121)
    >>> states = np.column_stack([np.sin(t), np.cos(t)])
    >>> physics = og.Physics(symmetry=og.Reflection("x0", "x1"))
    >>> og.OrthoReg("poly(2)", og.Zero(), physics=physics).fit(states, t=t).equations(2)
    ["x0' = 1.0 x1", "x1' = -1.0 x0"]
    """

    def signs(self, variables, outputs):
        return self._flip(variables), self._flip(outputs)


@part
@final
@dataclass(frozen=True)
class Periodic(AbstractSymmetry):
    """The right-hand sides are periodic in a variable, such as an angle: `Periodic("theta")`.

    Parameters
    ----------
    name
        variable.
    period
        period of the variable; 2 pi by default.

    Examples
    --------
    >>> import orthoreg as og
    >>> og.Physics(symmetry=og.Periodic("theta")).symmetry[0]
    Periodic(name='theta', period=6.283185307179586)
    """

    name: str
    period: float = 2 * pi

    def __post_init__(self):
        _check_names((self.name,), "Periodic")
        if not isinstance(self.period, int | float) or not 0 < self.period < np.inf:
            raise InputError(f"Periodic(period=...) must be positive; got {self.period!r}.")

    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def signs(self, variables, outputs):
        return None

    def periods(self, variables):
        return np.array([self.period if name == self.name else 0.0 for name in variables])


@final
@dataclass(frozen=True, eq=False)
class Symmetries:
    """Symmetries f(mirrors[m] z) = parity[m] f(z) for given variables and equations.

    `periods` are the periods of the variables, or zero.
    """

    mirrors: Float[np.ndarray, "m V"]
    parity: Float[np.ndarray, "m c"]
    periods: Float[np.ndarray, " V"]

    @classmethod
    def of(
        cls,
        given: Sequence[AbstractSymmetry],
        variables: Sequence[str],
        outputs: Sequence[str],
        time_input: int | None = None,
    ) -> "Symmetries":
        """Return symmetries for these columns. Raise InputError for unknown names.

        The variable `time_input` keeps its sign.
        """
        for name in (name for symmetry in given for name in symmetry.names()):
            if name not in variables:
                raise InputError(
                    f"Physics(symmetry=...) names '{name}', which is not a column."
                    f"{suggestion(name, variables)} The columns are {quoted(variables)}."
                )
        mirrored = [
            signs for symmetry in given if (signs := symmetry.signs(variables, outputs)) is not None
        ]
        periods = np.zeros(len(variables))
        for symmetry in given:
            periods = np.maximum(periods, symmetry.periods(variables))
        mirrors = np.array([signs[0] for signs in mirrored]).reshape(len(mirrored), len(variables))
        if time_input is not None:
            mirrors[:, time_input] = 1.0
        for i, name in enumerate(variables):
            delayed = split_delayed(name)
            if delayed is not None:  # a delayed variable has the symmetry of the variable
                now = variables.index(delayed[0])
                mirrors[:, i], periods[i] = mirrors[:, now], periods[now]
        return cls(
            mirrors,
            np.array([signs[1] for signs in mirrored]).reshape(len(mirrored), len(outputs)),
            periods,
        )

    @property
    def any(self) -> bool:
        return bool(len(self.mirrors) or self.periods.any())

    def allowed(self, features: Any) -> Bool[np.ndarray, "c K"]:
        """Return a mask of the terms that each equation may have, tested at random points."""
        rng = np.random.default_rng(7)
        width, count = len(self.periods), len(features.terms)
        allowed = np.ones((self.parity.shape[1], count), dtype=bool)
        if not self.any:
            return allowed
        points = rng.uniform(0.2, 1.8, (limits.SYMMETRY_PROBES, width)) * rng.choice(
            [-1.0, 1.0], (limits.SYMMETRY_PROBES, width)
        )
        values = features.with_values(rng.uniform(0.5, 1.5, len(features.parameters)))
        original = values(points)
        for mirror, parity in zip(self.mirrors, self.parity, strict=True):
            mirrored = values(points * mirror)
            allowed &= np.stack([_equal(mirrored, sign * original) for sign in parity])
        for v in np.flatnonzero(self.periods):
            shifted = points.copy()
            shifted[:, v] += self.periods[v]
            allowed &= _equal(values(shifted), original)
        return allowed

    def images(self) -> list[tuple[Float[np.ndarray, " V"], Float[np.ndarray, " c"]]]:
        """Return the signs of variables and equations for all products of mirrors, identity
        first.
        """
        images = []
        for subset in itertools.product([False, True], repeat=len(self.mirrors)):
            factors = np.array(subset, dtype=bool)
            images.append((self.mirrors[factors].prod(axis=0), self.parity[factors].prod(axis=0)))
        return images

    def classes(self) -> Float[np.ndarray, "p m"]:
        """Return the distinct combinations of parities that occur among the equations."""
        return np.unique(self.parity.T, axis=0)


def _equal(values: np.ndarray, expected: np.ndarray) -> Bool[np.ndarray, " K"]:
    """Return a mask of the columns that agree up to rounding."""
    with np.errstate(all="ignore"):
        difference = np.abs(values - expected).max(axis=0)
        size = np.abs(expected).max(axis=0)
    return np.isfinite(difference) & (
        difference <= limits.SYMMETRY_TOLERANCE * np.maximum(size, 1e-300)
    )


_INNER = "inner."


@part
@pytree(meta=["periods"])
@final
@dataclass(frozen=True, eq=False)
class SymmetricBasis(AbstractBasis):
    """Basis functions psi, averaged over all images of a point with the signs of each class of
    equations:

        psi_p(z) = 2^-m sum_s (prod_{i in s} classes[p, i]) psi(e(mirrors_s z)),

    Here e replaces a periodic variable by its cosine and sine. `classes` contains the parities of
    the equations. The residual of an equation is a combination of the functions of its class.
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
        embedded_mask = np.concatenate([variables, variables[np.array(self.periods) > 0]])
        return replace(self, inner=self.inner.mask_inputs(embedded_mask))

    def arrays(self) -> dict[str, np.ndarray]:
        if not isinstance(self.inner, TanhLayers):
            raise InputError(
                "A model file can store symmetric residuals of tanh layers only; this residual "
                f"uses {type(self.inner).__name__}."
            )
        arrays = {"images": self.images, "signs": self.signs, "periods": np.array(self.periods)}
        return {name: np.asarray(array) for name, array in arrays.items()} | {
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
            raise InputError("The symmetries of the network have inconsistent shapes.")
        return cls(TanhLayers.from_arrays(inner), images, signs, tuple(periods.tolist()))


def basis_of(basis: AbstractBasis, symmetries: Symmetries) -> Bool[np.ndarray, "c H"] | None:
    """Return a mask of the functions that the residual of each equation may use, or None for
    all.
    """
    classes = symmetries.classes()
    if not symmetries.any or len(classes) == 1:
        return None
    same_class = (symmetries.parity.T[:, None] == classes).all(axis=2)  # (c, p)
    return np.repeat(same_class, basis.size // len(classes), axis=1)


def symmetric_basis(
    augmentation: AbstractAugmentation,
    symmetries: Symmetries,
    points: Float[np.ndarray, "N V"],
    rng: np.random.Generator,
) -> SymmetricBasis:
    """Return the functions that an augmentation draws for points and their images."""
    images = symmetries.images()
    periods = tuple(symmetries.periods.tolist())
    all_points = np.concatenate([embedded(points * signs, periods) for signs, _ in images])
    std = all_points.std(axis=0)
    inner = augmentation.init(all_points.mean(axis=0), np.where(std > 0, std, 1.0), rng=rng)
    classes = symmetries.classes()
    subsets = [
        np.array(subset, dtype=bool)
        for subset in itertools.product([False, True], repeat=len(symmetries.mirrors))
    ]
    signs = np.array([[row[subset].prod() for subset in subsets] for row in classes])
    return SymmetricBasis(inner, np.array([mirror for mirror, _ in images]), signs, periods)


def embedded(variables: Any, periods: Sequence[float], xp: Any = np) -> Any:
    """Return variables with periodic variables replaced by their cosines, followed by their
    sines.

    The shape changes from N x V to N x (V + number of periodic variables).
    """
    periodic = [i for i, period in enumerate(periods) if period > 0]
    if not periodic:
        return variables
    columns = [variables[:, i] for i in range(variables.shape[1])]
    for i in periodic:
        angle = variables[:, i] * (2 * np.pi / periods[i])
        columns[i] = xp.cos(angle)
        columns.append(xp.sin(angle))
    return xp.stack(columns, axis=1)
