"""`Knowledge`: constraints on the coefficients W (equations x terms), and named constants."""

import itertools
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int

from .._common.errors import InputError
from .._common.typing import Mask
from ..terms import FeatureMap, variables_of
from ._equations import Implicit
from ._symmetry import Symmetries

_EXPONENT_ROUNDING = 1e-9


@final
@dataclass(frozen=True)
class Constant:
    """W[equation, term] = number * prod name**exponent: what one coefficient says of constants."""

    equation: int
    term: int
    number: float
    powers: tuple[tuple[str, float], ...]

    @property
    def text(self) -> str:
        """k/m, of {"k": 1, "m": -1}."""
        above = [_power(name, e) for name, e in self.powers if e > 0]
        below = [_power(name, -e) for name, e in self.powers if e < 0]
        shown = "*".join(above) or "1"
        if not below:
            return shown
        return f"{shown}/{below[0]}" if len(below) == 1 else f"{shown}/({'*'.join(below)})"


def _power(name: str, exponent: float) -> str:
    return name if exponent == 1 else f"{name}**{exponent:g}"


def constant_values(
    constants: Sequence[Constant], coefficients: Float[np.ndarray, "c K"]
) -> dict[str, float]:
    """Each constant that the coefficients determine; of others the product that they do."""
    sizes = np.array([coefficients[one.equation, one.term] / one.number for one in constants])
    return {name: _product(sizes, weights) for name, weights in rules(constants, sizes).items()}


def constant_functions(
    constants: Sequence[Constant],
    coefficients: Float[np.ndarray, "c K"],
    places: Sequence[tuple[int, int]],
) -> dict[str, Callable[[np.ndarray], float]]:
    """Each constant as a function of the coefficients at `places`; the others stay as they are."""
    index = {place: i for i, place in enumerate(places)}
    base = np.array([coefficients[one.equation, one.term] / one.number for one in constants])

    def function(weights: np.ndarray, values: np.ndarray) -> float:
        sizes = base.copy()
        for i, one in enumerate(constants):
            place = index.get((one.equation, one.term))
            if place is not None:
                sizes[i] = values[place] / one.number
        crossed = (weights != 0) & (sizes * base <= 0)
        if (crossed & (weights < 0)).any():  # a quotient has a pole where its divisor vanishes
            return float(np.copysign(np.inf, _product(base, weights)))
        if (crossed & ((weights % 2 != 1) | (sizes == 0))).any():
            return 0.0
        return _product(sizes, weights)

    return {name: partial(function, weights) for name, weights in rules(constants, base).items()}


def rules(
    constants: Sequence[Constant], sizes: Float[np.ndarray, " m"]
) -> dict[str, Float[np.ndarray, " m"]]:
    """For each name the powers of the products' sizes that it is made of.

    The logarithms of the products are linear in those of the constants. A name that they do not
    determine, or that would be the root of a negative number, is not given; the product is.
    """
    names = sorted({name for one in constants for name, _ in one.powers})
    exponents = np.array([[dict(one.powers).get(name, 0.0) for name in names] for one in constants])
    found: dict[str, np.ndarray] = {}
    if not names:
        return found
    inverse = np.linalg.pinv(exponents)
    determined = np.isclose(np.diag(inverse @ exponents), 1.0, atol=_EXPONENT_ROUNDING)
    for i, name in enumerate(names):
        weights = np.where(np.abs(inverse[i]) > _EXPONENT_ROUNDING, inverse[i], 0.0)
        near = np.round(weights)  # whole powers, which the pseudo-inverse rounds
        weights = np.where(np.abs(weights - near) < _EXPONENT_ROUNDING, near, weights)
        if determined[i] and _has_root(weights, sizes):
            found[name] = weights
    for place, one in enumerate(constants):
        if any(name not in found for name, _ in one.powers):
            found[one.text] = np.eye(len(constants))[place]
    return found


def _has_root(weights: np.ndarray, sizes: np.ndarray) -> bool:
    return all(
        size > 0 or (size < 0 and abs(weight) % 2 == 1)
        for weight, size in zip(weights, sizes, strict=True)
        if weight
    )


def _product(sizes: np.ndarray, weights: np.ndarray) -> float:
    used = weights != 0
    sign = np.prod(np.sign(sizes[used]))
    return float(sign * np.exp(weights[used] @ np.log(np.abs(sizes[used]))))


_MOST_ATOMS = 400  # sets of related coefficients that are tried as atoms
_ROUNDING = 1e-10


@final
@dataclass(frozen=True, eq=False)
class Group:
    """W_c = offset_c + atoms_c u for each of its equations c: u is free, within `bounds`.

    What is given is in `offset`. An atom is a smallest set of coefficients that the relations let
    move together: one coefficient that none of them names, two that are tied. `required` atoms
    are in every choice of terms.
    """

    equations: tuple[int, ...]
    atoms: Float[np.ndarray, "g K J"]
    offset: Float[np.ndarray, "g K"]
    required: Bool[np.ndarray, " J"]
    bounds: Float[np.ndarray, "2 J"]

    def coefficients(self, u: Float[np.ndarray, "*R J"]) -> Float[np.ndarray, "*R g K"]:
        """W of these equations."""
        return self.offset + np.einsum("gkj,...j->...gk", self.atoms, u)

    def support(self, chosen: Bool[np.ndarray, "*R J"]) -> Bool[np.ndarray, "*R g K"]:
        """The terms that these atoms, and what is given, put into each equation."""
        touched = np.einsum("gkj,...j->...gk", np.abs(self.atoms), chosen.astype(float)) > 0
        return touched | (self.offset != 0)

    def maps(self, scale: Float[np.ndarray, " g"], n_outputs: int) -> Float[np.ndarray, "g P Q"]:
        """For each equation, the columns (u_1 ... u_J, y) of the problem in u as combinations of
        (theta_1 ... theta_K, y_1 ... y_c): the equations one under the other, each divided by its
        `scale`, and what is given subtracted from the target."""
        g, K, J = self.atoms.shape
        found = np.zeros((g, K + n_outputs, J + 1))
        found[:, :K, :J] = self.atoms
        found[:, :K, J] = -self.offset
        found[np.arange(g), K + np.array(self.equations), J] = 1.0
        return found / scale[:, None, None]


def particular(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The smallest solution of the relations; zero for homogeneous ones."""
    if not right.any():
        return np.zeros(matrix.shape[1])
    return np.linalg.lstsq(matrix, right, rcond=None)[0]


def atoms_of(matrix: Float[np.ndarray, "q m"]) -> Float[np.ndarray, "J m"]:
    """The smallest sets of coefficients that can move while the relations hold, and how.

    Where there are too many of them, a basis of what can move.
    """
    n = matrix.shape[1]
    found: list[np.ndarray] = []
    for part in _parts(matrix):
        rows = matrix[(matrix[:, part] != 0).any(axis=1)][:, part]
        if not len(rows):
            found += [_placed(np.ones(1), part[[i]], n) for i in range(len(part))]
            continue
        found += [_placed(move, part, n) for move in _circuits(rows)]
    order = sorted(range(len(found)), key=lambda i: np.flatnonzero(found[i]).tolist())
    return np.array([found[i] for i in order]).reshape(len(found), n)


def _parts(matrix: np.ndarray) -> list[np.ndarray]:
    """Coefficients that no relation names, together; then those that relations connect."""
    named = (matrix != 0).any(axis=0)
    parts = [{int(i)} for i in np.flatnonzero(named)]
    for row in matrix != 0:
        mine = set(np.flatnonzero(row).tolist())
        joined = [part for part in parts if part & mine]
        if len(joined) > 1:
            parts = [part for part in parts if part not in joined] + [set().union(*joined)]
    return [np.flatnonzero(~named), *(np.array(sorted(part)) for part in parts)]


def _circuits(rows: Float[np.ndarray, "q m"]) -> list[np.ndarray]:
    rank, m = int(np.linalg.matrix_rank(rows)), rows.shape[1]
    sizes = range(1, min(rank + 1, m) + 1)
    subsets = [chosen for size in sizes for chosen in itertools.combinations(range(m), size)]
    if len(subsets) > _MOST_ATOMS:
        return list(null_space(rows))
    found: list[np.ndarray] = []
    for chosen in subsets:
        if any(set(np.flatnonzero(move).tolist()) <= set(chosen) for move in found):
            continue
        moves = null_space(rows[:, list(chosen)])
        if len(moves) == 1:
            found.append(_placed(moves[0], np.array(chosen), m))
    return found


def null_space(rows: Float[np.ndarray, "q m"]) -> Float[np.ndarray, "d m"]:
    """A basis of the moves that change no row's sum, with a one in front, by elimination."""
    reduced, pivots = _echelon(rows[:, ::-1])  # later coefficients follow earlier ones
    m = rows.shape[1]
    free = [j for j in range(m) if j not in pivots]
    found = np.zeros((len(free), m))
    for i, j in enumerate(free):
        found[i, j] = 1.0
        for row, pivot in enumerate(pivots):
            found[i, pivot] = -reduced[row, j]
    return found[::-1, ::-1]


def _echelon(rows: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """The reduced echelon form, and its pivots."""
    matrix = rows.astype(float).copy()
    size = max(float(np.abs(matrix).max(initial=0.0)), 1e-300)
    pivots: list[int] = []
    for column in range(matrix.shape[1]):
        row = len(pivots)
        if row == len(matrix):
            break
        best = row + int(np.abs(matrix[row:, column]).argmax())
        if abs(matrix[best, column]) <= _ROUNDING * size:
            continue
        matrix[[row, best]] = matrix[[best, row]]
        matrix[row] /= matrix[row, column]
        others = np.arange(len(matrix)) != row
        matrix[others] -= np.outer(matrix[others, column], matrix[row])
        pivots.append(column)
    return matrix, pivots


def _placed(values: np.ndarray, places: np.ndarray, size: int) -> np.ndarray:
    found = np.zeros(size)
    found[places] = values
    return found


def required_atoms(atoms: np.ndarray, needed: np.ndarray) -> np.ndarray:
    """The atoms that are in every choice: for each required coefficient the first that moves it."""
    found = np.zeros(len(atoms), dtype=bool)
    for i in np.flatnonzero(needed):
        mine = np.flatnonzero(atoms[:, i])
        if len(mine) and not found[mine].any():
            found[mine[0]] = True
    return found


def atom_bounds(atoms: np.ndarray, low: np.ndarray, high: np.ndarray) -> Float[np.ndarray, "2 J"]:
    """The ends of each atom, of coefficients that no other atom moves."""
    ends = np.tile([[-np.inf], [np.inf]], len(atoms))
    alone = (atoms != 0).sum(axis=0) == 1
    for j, atom in enumerate(atoms):
        for i in np.flatnonzero((atom != 0) & alone):
            one, other = sorted([low[i] / atom[i], high[i] / atom[i]])
            ends[:, j] = max(ends[0, j], one), min(ends[1, j], other)
    return ends


@final
@dataclass(frozen=True, eq=False)
class Knowledge:
    """low <= W <= high, sum_ck relations[q, c, k] W[c, k] = values[q], conserved f = 0.

    A coefficient with low = high is given. `required` terms are in every choice. `complete` are
    the equations that have no residual. `conserved` holds for the residual what the relations
    hold for the coefficients. `constants` says which named numbers the coefficients stand for,
    `parameter_bounds` between which ends those inside terms lie. `words` says each relation as it
    was written. `parametric` terms have parameters inside. `systems` are the equations with several
    derivatives that some right-hand sides follow from.
    """

    required: Mask
    low: Float[np.ndarray, "c K"]
    high: Float[np.ndarray, "c K"]
    relations: Float[np.ndarray, "q c K"]
    values: Float[np.ndarray, " q"]
    conserved: Float[np.ndarray, "m c"]
    complete: tuple[int, ...] = ()
    constants: tuple[Constant, ...] = ()
    parameter_bounds: dict[str, tuple[float, float]] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    symmetries: Symmetries | None = None
    parametric: Bool[np.ndarray, " K"] | bool = False
    systems: tuple[Implicit, ...] = ()

    @classmethod
    def none(cls, shape: tuple[int, int]) -> "Knowledge":
        """Nothing is known."""
        return cls(
            np.zeros(shape, dtype=bool),
            np.full(shape, -np.inf),
            np.full(shape, np.inf),
            np.zeros((0, *shape)),
            np.zeros(0),
            np.zeros((0, shape[0])),
        )

    @cached_property
    def given(self) -> Mask:
        """The coefficients that are known."""
        return self.low == self.high

    @cached_property
    def related(self) -> Mask:
        """The coefficients that some relation names."""
        return (self.relations != 0).any(axis=0)

    @cached_property
    def fixed(self) -> Mask:
        """The coefficients that are known, of terms without numbers to be estimated inside."""
        return self.given & ~(self.parametric & (self.low != 0))

    @property
    def given_equations(self) -> list[int]:
        """The equations in which nothing is left to learn."""
        return [c for c in self.complete if self.fixed[c].all()]

    def named(self, features: FeatureMap) -> Bool[np.ndarray, " K"]:
        """The terms that were named, or are of a variable with a period: candidates in any case."""
        named = (self.required | self.related | np.isfinite(self.low) & (self.low != 0)).any(axis=0)
        named |= (np.isfinite(self.high) & (self.high != 0)).any(axis=0)
        if self.symmetries is not None:
            angles = set(np.flatnonzero(self.symmetries.periods).tolist())
            named |= np.array([bool(variables_of(term) & angles) for term in features.terms])
        return named

    def beyond(self, equations: Collection[int]) -> bool:
        """Whether anything is known beside these equations."""
        others = [c for c in range(len(self.low)) if c not in equations]
        bounded = np.isfinite(self.low[others]) | np.isfinite(self.high[others])
        symmetric = self.symmetries is not None and self.symmetries.any
        return bool(
            bounded.any() or self.required.any() or len(self.relations) or len(self.conserved)
            or symmetric or set(self.complete) - set(equations)
        )  # fmt: skip

    def touches(self, mask: Mask) -> list[int]:
        """The equations of which something is known, among these terms."""
        bounded = np.isfinite(self.low) | np.isfinite(self.high)
        nonzero = bounded & ~(self.given & (self.low == 0))
        known = mask & (nonzero | self.required | self.related)
        return np.flatnonzero(known.any(axis=1)).tolist()

    def with_support(self, support: Mask) -> Mask:
        """These terms, those that are required or given, and those that relations tie to a term
        which could not be there without them."""
        support = support | self.required | (self.given & (self.low != 0))
        support &= ~(self.given & (self.low == 0))
        open_ = ~(self.given & (self.low == 0))
        while True:
            tied = np.zeros_like(support)
            for relation in self.relations != 0:
                if (relation & support).sum() == 1:
                    tied |= relation & open_
            if not (tied & ~support).any():
                return support
            support = support | tied

    def rounded(self, coefficients: Float[np.ndarray, "c K"]) -> Float[np.ndarray, "c K"]:
        """Coefficients that meet all constraints to the last digit, of such that nearly do."""
        found = np.clip(coefficients, self.low, self.high)
        rows, columns = np.nonzero((found != 0) & self.related & ~self.given)
        given = np.where(self.given, self.low, 0.0)
        if len(rows) and not (self.values - np.einsum("qck,ck->q", self.relations, given)).any():
            moves = null_space(self.relations[:, rows, columns])
            lead = [int(np.flatnonzero(move)[0]) for move in moves]
            found[rows, columns] = moves.T @ found[rows, columns][lead]
        return found

    def coupled(self, equations: Iterable[int], mask: Mask) -> list[tuple[int, ...]]:
        """These equations in groups that relations or a conserved quantity couple."""
        groups = [{c} for c in equations]
        links = [np.flatnonzero((one != 0).any(axis=1)) for one in self.relations * mask]
        links += [np.flatnonzero(row) for row in self.conserved]
        for link in links:
            joined = [group for group in groups if group & set(link.tolist())]
            if len(joined) > 1:
                groups = [group for group in groups if group not in joined]
                groups.append(set().union(*joined))
        return [tuple(sorted(group)) for group in sorted(groups, key=min)]

    def groups(self, mask: Mask) -> list[Group]:
        """The equations of which something is known, with the terms of `mask` to choose from."""
        return [
            self._group(equations, mask) for equations in self.coupled(self.touches(mask), mask)
        ]

    def _group(self, equations: tuple[int, ...], mask: Mask) -> Group:
        rows = list(equations)
        shape = (len(rows), mask.shape[1])
        offset = np.where(self.given[rows], self.low[rows], 0.0)
        free = mask[rows] & ~self.given[rows]
        places = np.argwhere(free)
        relations = self.relations[:, rows]
        matrix = relations[:, places[:, 0], places[:, 1]]
        right = self.values - np.einsum("qgk,gk->q", relations, offset)
        self._check(matrix, right)
        moved = particular(matrix, right)
        offset[places[:, 0], places[:, 1]] += moved
        atoms = atoms_of(matrix)
        full = np.zeros((*shape, len(atoms)))
        full[places[:, 0], places[:, 1]] = atoms.T
        low, high = (
            ends[rows][places[:, 0], places[:, 1]] - moved for ends in (self.low, self.high)
        )
        needed = self.required[rows][places[:, 0], places[:, 1]]
        return Group(
            equations, full, offset, required_atoms(atoms, needed), atom_bounds(atoms, low, high)
        )

    def _check(self, matrix: np.ndarray, right: np.ndarray) -> None:
        """Refuses relations that nothing meets."""
        left = right - matrix @ particular(matrix, right)
        wrong = np.flatnonzero(np.abs(left) > _ROUNDING * (1 + np.abs(right)))
        if len(wrong):
            raise contradiction(self.words[int(wrong[0])])

    def constraints(
        self, equations: Sequence[int], terms: Sequence[Int[np.ndarray, " _"]]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """E, e, low and high for the coefficients of these terms, equation after equation."""
        rows = np.concatenate(
            [np.full(len(own), c) for c, own in zip(equations, terms, strict=True)]
        )
        columns = np.concatenate(list(terms))
        rows = rows.astype(int)
        matrix = self.relations[:, rows, columns]
        kept = (matrix != 0).any(axis=1)
        return (
            matrix[kept],
            self.values[kept],
            self.low[rows, columns],
            self.high[rows, columns],
        )


def contradiction(words: str) -> InputError:
    return InputError(
        f"physics=... contradicts itself: no coefficients meet {words} together with what else is "
        f"given, bounded or forbidden. Drop one of them, or widen a bound."
    )
