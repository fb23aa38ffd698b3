"""Symmetries of a vector field, and residuals that have them."""

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
from ..field import AbstractAugmentation, AbstractBasis, TanhLayers

_PROBES = 24  # points at which the symmetry of a term is tried
_ALIKE = 1e-9
_SEED = 7


class AbstractSymmetry(abc.ABC):
    """A symmetry that the right-hand sides have."""

    @abc.abstractmethod
    def names(self) -> tuple[str, ...]:
        """The variables that it names."""

    @abc.abstractmethod
    def signs(
        self, variables: Sequence[str], outputs: Sequence[str]
    ) -> tuple[Float[np.ndarray, " V"], Float[np.ndarray, " c"]] | None:
        """By what variables and right-hand sides are multiplied: f(a z) = b f(z); None for one
        that turns no sign."""

    def periods(self, variables: Sequence[str]) -> Float[np.ndarray, " V"]:
        """The period in each variable, zero where there is none."""
        return np.zeros(len(variables))


def _named(names: tuple[str, ...], who: str) -> None:
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(f"{who} needs the names of columns, as in {who}('x'); got {names!r}.")


@part
@final
@dataclass(frozen=True)
class Odd(AbstractSymmetry):
    """f(-z) = -f(z): when all states and inputs change sign, so do all right-hand sides.

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
class Even(AbstractSymmetry):
    """No right-hand side changes when these variables change sign together: `Even("x")`.

    Parameters
    ----------
    names
        the variables.
    of
        further ones, as a list.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 121)
    >>> physics = og.Physics(symmetry=og.Even("x0"))
    >>> model = og.OrthoReg("poly(2)", og.Zero(), physics=physics)
    >>> model.fit(np.tanh(t - 3)[:, None], t=t).equations(2)  # 1 - x0**2
    ["x0' = 1.0 - 1.0 x0**2"]
    """

    of: tuple[str, ...]

    def __init__(self, *names: str, of: Sequence[str] = ()):
        object.__setattr__(self, "of", (*names, *of))
        _named(self.of, "Even")

    def names(self) -> tuple[str, ...]:
        return self.of

    def signs(self, variables, outputs):
        return np.array([-1.0 if name in self.of else 1.0 for name in variables]), np.ones(
            len(outputs)
        )

    def __repr__(self) -> str:
        return f"Even({', '.join(map(repr, self.of))})"


@part
@final
@dataclass(frozen=True, init=False)
class Reflection(AbstractSymmetry):
    """The mirror image of a motion is one: when these states change sign together, so do their
    equations, and the others stay. `Reflection("x", "v")`.

    Parameters
    ----------
    names
        the states.
    of
        further ones, as a list.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 121)
    >>> states = np.column_stack([np.sin(t), np.cos(t)])
    >>> physics = og.Physics(symmetry=og.Reflection("x0", "x1"))
    >>> og.OrthoReg("poly(2)", og.Zero(), physics=physics).fit(states, t=t).equations(2)
    ["x0' = 1.0 x1", "x1' = -1.0 x0"]
    """

    of: tuple[str, ...]

    def __init__(self, *names: str, of: Sequence[str] = ()):
        object.__setattr__(self, "of", (*names, *of))
        _named(self.of, "Reflection")

    def names(self) -> tuple[str, ...]:
        return self.of

    def signs(self, variables, outputs):
        turned = [
            np.array([-1.0 if name in self.of else 1.0 for name in names])
            for names in (variables, outputs)
        ]
        return turned[0], turned[1]

    def __repr__(self) -> str:
        return f"Reflection({', '.join(map(repr, self.of))})"


@part
@final
@dataclass(frozen=True)
class Periodic(AbstractSymmetry):
    """The right-hand sides are the same one period further: `Periodic("theta")` is an angle.

    Parameters
    ----------
    name
        the variable.
    period
        of it; one turn in radians if not given.

    Examples
    --------
    >>> import orthoreg as og
    >>> og.Physics(symmetry=og.Periodic("theta")).symmetry[0]
    Periodic(name='theta', period=6.283185307179586)
    """

    name: str
    period: float = 2 * pi

    def __post_init__(self):
        _named((self.name,), "Periodic")
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
    """Symmetries in certain variables and equations: f(mirrors[m] z) = parity[m] f(z), and the
    periods of variables, zero where there is none."""

    mirrors: Float[np.ndarray, "m V"]
    parity: Float[np.ndarray, "m c"]
    periods: Float[np.ndarray, " V"]

    @classmethod
    def of(
        cls,
        given: Sequence[AbstractSymmetry],
        variables: Sequence[str],
        outputs: Sequence[str],
        clock: int | None = None,
    ) -> "Symmetries":
        """Those that were given, for these columns; refuses names that are none. Time, the
        variable `clock`, keeps its sign."""
        for name in (name for one in given for name in one.names()):
            if name not in variables:
                raise InputError(
                    f"Physics(symmetry=...) names '{name}', which is not a column."
                    f"{suggestion(name, variables)} The columns are {quoted(variables)}."
                )
        turned = [signs for one in given if (signs := one.signs(variables, outputs)) is not None]
        periods = np.zeros(len(variables))
        for one in given:
            periods = np.maximum(periods, one.periods(variables))
        mirrors = np.array([signs[0] for signs in turned]).reshape(len(turned), len(variables))
        if clock is not None:
            mirrors[:, clock] = 1.0
        return cls(
            mirrors,
            np.array([signs[1] for signs in turned]).reshape(len(turned), len(outputs)),
            periods,
        )

    @property
    def any(self) -> bool:
        return bool(len(self.mirrors) or self.periods.any())

    def allowed(self, features: Any) -> Bool[np.ndarray, "c K"]:
        """Which equation may have which term, tried at random points."""
        rng = np.random.default_rng(_SEED)
        width, count = len(self.periods), len(features.terms)
        found = np.ones((self.parity.shape[1], count), dtype=bool)
        if not self.any:
            return found
        points = rng.uniform(0.2, 1.8, (_PROBES, width)) * rng.choice([-1.0, 1.0], (_PROBES, width))
        values = features.with_values(rng.uniform(0.5, 1.5, len(features.parameters)))
        here = values(points)
        for mirror, parity in zip(self.mirrors, self.parity, strict=True):
            there = values(points * mirror)
            found &= np.stack([_alike(there, sign * here) for sign in parity])
        for v in np.flatnonzero(self.periods):
            moved = points.copy()
            moved[:, v] += self.periods[v]
            found &= _alike(values(moved), here)
        return found

    def images(self) -> list[tuple[Float[np.ndarray, " V"], Float[np.ndarray, " c"]]]:
        """Every product of mirrors, the identity first: signs of variables and of equations."""
        found = []
        for chosen in itertools.product([False, True], repeat=len(self.mirrors)):
            used = np.array(chosen, dtype=bool)
            found.append((self.mirrors[used].prod(axis=0), self.parity[used].prod(axis=0)))
        return found

    def classes(self) -> Float[np.ndarray, "p m"]:
        """The different combinations of parities that equations have."""
        return np.unique(self.parity.T, axis=0)


def _alike(one: np.ndarray, other: np.ndarray) -> Bool[np.ndarray, " K"]:
    with np.errstate(all="ignore"):
        apart = np.abs(one - other).max(axis=0)
        size = np.abs(other).max(axis=0)
    return np.isfinite(apart) & (apart <= _ALIKE * np.maximum(size, 1e-300))


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
