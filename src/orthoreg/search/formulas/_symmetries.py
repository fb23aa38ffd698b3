"""Which formulas have the symmetries that are known."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Bool

from ...physics import Symmetries
from ...terms import variables_of
from ._shapes import Shape

_PROBES = 40
_SAME = 1e-9


def symmetric(shapes: Sequence[Shape], symmetries: Symmetries | None, output: int) -> list[Shape]:
    """The shapes that have the symmetries; where only certain values of the parameters have them,
    as whole frequencies have a period, these are held."""
    found: list[Shape] = []
    for one in shapes:
        sound = symmetric_values(one, symmetries, output)
        found += [one] if sound.all() else [held(one, row) for row in one.grid[sound].tolist()]
    return found


def symmetric_values(
    one: Shape, symmetries: Symmetries | None, output: int
) -> Bool[np.ndarray, " g"]:
    """With which rows of its grid a shape has the symmetries: all or none where these are mirrors
    alone, which no number inside a formula makes."""
    if symmetries is None or not symmetries.any:
        return np.ones(len(one.grid), dtype=bool)
    sound = _has(one, symmetries, output)
    return sound if sound.all() or symmetries.periods.any() else np.zeros_like(sound)


def held(one: Shape, values: Sequence[float]) -> Shape:
    """The shape with these numbers in the place of its parameters."""
    none = np.zeros((1, 0))
    return replace(
        one, expression=one.at(values), parameters=(), grid=none, low=(), high=(), widths=()
    )


def _has(one: Shape, symmetries: Symmetries, output: int) -> Bool[np.ndarray, " g"]:
    """Whether the shape has all symmetries, for each row of its grid, tried at random points."""
    rng = np.random.default_rng(0)
    width = max(len(symmetries.periods), 1 + max(variables_of(one.expression), default=0))
    points = rng.uniform(0.2, 1.8, (_PROBES, width))
    further = np.ones(width - len(symmetries.periods))  # time, which no symmetry moves
    here = one.columns(points, one.grid)
    sound = np.ones(here.shape[1], dtype=bool)
    moved = [
        (points * np.append(mirror, further), float(sign[output]))
        for mirror, sign in zip(symmetries.mirrors, symmetries.parity, strict=True)
    ]
    moved += [
        (points + symmetries.periods[v] * np.eye(width)[v], 1.0)
        for v in np.flatnonzero(symmetries.periods)
    ]
    for place, sign in moved:
        there = one.columns(place, one.grid)
        apart = np.abs(there - sign * here).max(axis=0)
        sound &= apart <= _SAME * np.maximum(np.abs(here).max(axis=0), 1e-300)
    return sound
