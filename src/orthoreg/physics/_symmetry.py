"""Symmetries of a vector field: signs that turn, and periods."""

import abc
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from math import pi
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float

from .._common.errors import InputError, quoted, suggestion
from .._common.registry import part

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
                    f"Physics(symmetry=...) names '{name}', which is no column."
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
