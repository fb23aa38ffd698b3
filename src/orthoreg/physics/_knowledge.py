"""`Knowledge`: constraints on the coefficients W (equations x terms), and named constants."""

import itertools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int

from .._common.arrays import Mask
from .._common.errors import InputError
from ..terms import FeatureMap, variables_of
from . import _limits as limits
from ._constants import ConstantProduct
from ._equations import ImplicitSystem
from ._start import Starts
from ._symmetry import Symmetries


@final
@dataclass(frozen=True, eq=False)
class Group:
    """Coupled equations c with coefficients W_c = offset_c + atoms_c u, where u is free within
    `bounds`.

    `offset` contains the given coefficients. An atom is a minimal set of coefficients that can
    change together under the relations: one coefficient without relations, or two tied
    coefficients. `required` atoms are always selected.
    """

    equations: tuple[int, ...]
    atoms: Float[np.ndarray, "g K J"]
    offset: Float[np.ndarray, "g K"]
    required: Bool[np.ndarray, " J"]
    bounds: Float[np.ndarray, "2 J"]

    def coefficients(self, u: Float[np.ndarray, "*R J"]) -> Float[np.ndarray, "*R g K"]:
        """Return the coefficients W of these equations."""
        return self.offset + np.einsum("gkj,...j->...gk", self.atoms, u)

    def support(self, chosen: Bool[np.ndarray, "*R J"]) -> Bool[np.ndarray, "*R g K"]:
        """Return a mask of the terms that these atoms and the given coefficients use in each
        equation.
        """
        touched = np.einsum("gkj,...j->...gk", np.abs(self.atoms), chosen.astype(float)) > 0
        return touched | (self.offset != 0)

    def maps(self, scale: Float[np.ndarray, " g"], n_outputs: int) -> Float[np.ndarray, "g P Q"]:
        """Return the columns (u_1 ... u_J, y) of the regression in u, for each equation.

        The columns are combinations of (theta_1 ... theta_K, y_1 ... y_c). The equations are
        stacked, each divided by its `scale`, and the given part is subtracted from the target.
        """
        g, K, J = self.atoms.shape
        maps = np.zeros((g, K + n_outputs, J + 1))
        maps[:, :K, :J] = self.atoms
        maps[:, :K, J] = -self.offset
        maps[np.arange(g), K + np.array(self.equations), J] = 1.0
        return maps / scale[:, None, None]


def particular(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the minimum-norm solution of the relations, which is zero for homogeneous
    relations.
    """
    if not right.any():
        return np.zeros(matrix.shape[1])
    return np.linalg.lstsq(matrix, right, rcond=None)[0]


def atoms_of(matrix: Float[np.ndarray, "q m"]) -> Float[np.ndarray, "J m"]:
    """Return the minimal sets of coefficients that can change while the relations hold.

    If there are too many such sets, return a basis of the possible changes.
    """
    n = matrix.shape[1]
    atoms: list[np.ndarray] = []
    for part in _parts(matrix):
        rows = matrix[(matrix[:, part] != 0).any(axis=1)][:, part]
        if not len(rows):
            atoms += [_placed(np.ones(1), part[[i]], n) for i in range(len(part))]
            continue
        atoms += [_placed(move, part, n) for move in _circuits(rows)]
    order = sorted(range(len(atoms)), key=lambda i: np.flatnonzero(atoms[i]).tolist())
    return np.array([atoms[i] for i in order]).reshape(len(atoms), n)


def _parts(matrix: np.ndarray) -> list[np.ndarray]:
    """Return the coefficients without relations, then the sets of coefficients that relations
    connect.
    """
    named = (matrix != 0).any(axis=0)
    parts = [{int(i)} for i in np.flatnonzero(named)]
    for row in matrix != 0:
        members = set(np.flatnonzero(row).tolist())
        joined = [part for part in parts if part & members]
        if len(joined) > 1:
            parts = [part for part in parts if part not in joined] + [set().union(*joined)]
    return [np.flatnonzero(~named), *(np.array(sorted(part)) for part in parts)]


def _circuits(rows: Float[np.ndarray, "q m"]) -> list[np.ndarray]:
    rank, m = int(np.linalg.matrix_rank(rows)), rows.shape[1]
    sizes = range(1, min(rank + 1, m) + 1)
    subsets = [subset for size in sizes for subset in itertools.combinations(range(m), size)]
    if len(subsets) > limits.MAX_SUBSETS:
        return list(null_space(rows))
    circuits: list[np.ndarray] = []
    for subset in subsets:
        if any(set(np.flatnonzero(move).tolist()) <= set(subset) for move in circuits):
            continue
        moves = null_space(rows[:, list(subset)])
        if len(moves) == 1:
            circuits.append(_placed(moves[0], np.array(subset), m))
    return circuits


def null_space(rows: Float[np.ndarray, "q m"]) -> Float[np.ndarray, "d m"]:
    """Return a basis of the changes that satisfy the relations, by elimination.

    The first nonzero entry of each basis vector is one.
    """
    # reversed, so that later coefficients are functions of earlier ones
    reduced, pivots = _echelon(rows[:, ::-1])
    m = rows.shape[1]
    free = [j for j in range(m) if j not in pivots]
    basis = np.zeros((len(free), m))
    for i, j in enumerate(free):
        basis[i, j] = 1.0
        for row, pivot in enumerate(pivots):
            basis[i, pivot] = -reduced[row, j]
    return basis[::-1, ::-1]


def _echelon(rows: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """Return the reduced row echelon form and its pivots."""
    matrix = rows.astype(float).copy()
    size = max(float(np.abs(matrix).max(initial=0.0)), 1e-300)
    pivots: list[int] = []
    for column in range(matrix.shape[1]):
        row = len(pivots)
        if row == len(matrix):
            break
        best = row + int(np.abs(matrix[row:, column]).argmax())
        if abs(matrix[best, column]) <= limits.EQUALITY_ROUNDING * size:
            continue
        matrix[[row, best]] = matrix[[best, row]]
        matrix[row] /= matrix[row, column]
        others = np.arange(len(matrix)) != row
        matrix[others] -= np.outer(matrix[others, column], matrix[row])
        pivots.append(column)
    return matrix, pivots


def _placed(values: np.ndarray, indices: np.ndarray, size: int) -> np.ndarray:
    result = np.zeros(size)
    result[indices] = values
    return result


def required_atoms(atoms: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """Return a mask with the first atom of each required coefficient."""
    required = np.zeros(len(atoms), dtype=bool)
    for i in np.flatnonzero(coefficients):
        candidates = np.flatnonzero(atoms[:, i])
        if len(candidates) and not required[candidates].any():
            required[candidates[0]] = True
    return required


def atom_bounds(atoms: np.ndarray, low: np.ndarray, high: np.ndarray) -> Float[np.ndarray, "2 J"]:
    """Return bounds on the atoms, from coefficients that no other atom changes."""
    bounds = np.tile([[-np.inf], [np.inf]], len(atoms))
    unique = (atoms != 0).sum(axis=0) == 1
    for j, atom in enumerate(atoms):
        for i in np.flatnonzero((atom != 0) & unique):
            lower, upper = sorted([low[i] / atom[i], high[i] / atom[i]])
            bounds[:, j] = max(bounds[0, j], lower), min(bounds[1, j], upper)
    return bounds


@final
@dataclass(frozen=True, eq=False)
class Knowledge:
    """Constraints low <= W <= high, sum_ck relations[q, c, k] W[c, k] = values[q], conserved f =
    0.

    A coefficient with low = high is given. `required` terms are always selected. `complete`
    equations have no residual. `conserved` is the condition on the residual that corresponds to the
    relations between coefficients. `constants` are the summands of coefficients that contain named
    constants, and `parameter_bounds` are bounds on constants inside terms. `words` are the texts of
    the relations. `parametric` marks terms with parameters. `systems` are the equations with
    several derivatives from which some right-hand sides were derived. `starts` are the rules for
    the first row of each run.
    """

    required: Mask
    low: Float[np.ndarray, "c K"]
    high: Float[np.ndarray, "c K"]
    relations: Float[np.ndarray, "q c K"]
    values: Float[np.ndarray, " q"]
    conserved: Float[np.ndarray, "m c"]
    complete: tuple[int, ...] = ()
    constants: tuple[ConstantProduct, ...] = ()
    parameter_bounds: dict[str, tuple[float, float]] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    symmetries: Symmetries | None = None
    parametric: Bool[np.ndarray, " K"] | bool = False
    systems: tuple[ImplicitSystem, ...] = ()
    starts: Starts | None = None

    @classmethod
    def none(cls, shape: tuple[int, int]) -> "Knowledge":
        """Return knowledge without constraints."""
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
        """Mask of the given coefficients."""
        return self.low == self.high

    @cached_property
    def related(self) -> Mask:
        """Mask of the coefficients that occur in relations."""
        return (self.relations != 0).any(axis=0)

    @cached_property
    def fixed(self) -> Mask:
        """Mask of the given coefficients, except nonzero ones of terms with parameters."""
        return self.given & ~(self.parametric & (self.low != 0))

    @property
    def given_equations(self) -> list[int]:
        """Indices of the equations without unknown coefficients and without residual."""
        return [c for c in self.complete if self.fixed[c].all()]

    def named(self, features: FeatureMap) -> Bool[np.ndarray, " K"]:
        """Return a mask of the terms that are always candidates.

        These are terms that the user named, and terms of periodic variables.
        """
        named = (self.required | self.related | np.isfinite(self.low) & (self.low != 0)).any(axis=0)
        named |= (np.isfinite(self.high) & (self.high != 0)).any(axis=0)
        if self.symmetries is not None:
            angles = set(np.flatnonzero(self.symmetries.periods).tolist())
            named |= np.array([bool(variables_of(term) & angles) for term in features.terms])
        return named

    def beyond(self, equations: Collection[int]) -> bool:
        """Return whether there is knowledge about any equation not in `equations`."""
        others = [c for c in range(len(self.low)) if c not in equations]
        bounded = np.isfinite(self.low[others]) | np.isfinite(self.high[others])
        symmetric = self.symmetries is not None and self.symmetries.any
        return bool(
            bounded.any() or self.required.any() or len(self.relations) or len(self.conserved)
            or symmetric or set(self.complete) - set(equations)
        )  # fmt: skip

    def touches(self, mask: Mask) -> list[int]:
        """Return the equations with constraints on the coefficients of these terms."""
        bounded = np.isfinite(self.low) | np.isfinite(self.high)
        nonzero = bounded & ~(self.given & (self.low == 0))
        known = mask & (nonzero | self.required | self.related)
        return np.flatnonzero(known.any(axis=1)).tolist()

    def with_support(self, support: Mask) -> Mask:
        """Return a mask of the terms with required, given and related terms added.

        A related term is added if another term of its relation would have to vanish without it.
        """
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
        """Return the coefficients, changed so that all constraints hold without rounding errors."""
        result = np.clip(coefficients, self.low, self.high)
        rows, columns = np.nonzero((result != 0) & self.related & ~self.given)
        given = np.where(self.given, self.low, 0.0)
        if len(rows) and not (self.values - np.einsum("qck,ck->q", self.relations, given)).any():
            basis = null_space(self.relations[:, rows, columns])
            lead = [int(np.flatnonzero(direction)[0]) for direction in basis]
            result[rows, columns] = basis.T @ result[rows, columns][lead]
        return result

    def coupled(self, equations: Iterable[int], mask: Mask) -> list[tuple[int, ...]]:
        """Return these equations in groups that are coupled by relations or conserved
        quantities.
        """
        groups = [{c} for c in equations]
        links = [np.flatnonzero((relation != 0).any(axis=1)) for relation in self.relations * mask]
        links += [np.flatnonzero(row) for row in self.conserved]
        for link in links:
            joined = [group for group in groups if group & set(link.tolist())]
            if len(joined) > 1:
                groups = [group for group in groups if group not in joined]
                groups.append(set().union(*joined))
        return [tuple(sorted(group)) for group in sorted(groups, key=min)]

    def groups(self, mask: Mask) -> list[Group]:
        """Return the equations with prior knowledge, in coupled groups, for the candidates
        `mask`.
        """
        coupled = self.coupled(self.touches(mask), mask)
        return [self._group(equations, mask) for equations in coupled]

    def _group(self, equations: tuple[int, ...], mask: Mask) -> Group:
        rows = list(equations)
        shape = (len(rows), mask.shape[1])
        offset = np.where(self.given[rows], self.low[rows], 0.0)
        free = mask[rows] & ~self.given[rows]
        indices = np.argwhere(free)
        relations = self.relations[:, rows]
        matrix = relations[:, indices[:, 0], indices[:, 1]]
        targets = self.values - np.einsum("qgk,gk->q", relations, offset)
        self._check(matrix, targets)
        shift = particular(matrix, targets)
        offset[indices[:, 0], indices[:, 1]] += shift
        atoms = atoms_of(matrix)
        expanded = np.zeros((*shape, len(atoms)))
        expanded[indices[:, 0], indices[:, 1]] = atoms.T
        low, high = (
            limits[rows][indices[:, 0], indices[:, 1]] - shift for limits in (self.low, self.high)
        )
        required = self.required[rows][indices[:, 0], indices[:, 1]]
        return Group(
            equations,
            expanded,
            offset,
            required_atoms(atoms, required),
            atom_bounds(atoms, low, high),
        )

    def _check(self, matrix: np.ndarray, targets: np.ndarray) -> None:
        """Raise InputError if the relations have no solution."""
        residual = targets - matrix @ particular(matrix, targets)
        violated = np.flatnonzero(
            np.abs(residual) > limits.EQUALITY_ROUNDING * (1 + np.abs(targets))
        )
        if len(violated):
            raise contradiction(self.words[int(violated[0])])

    def constraints(
        self, equations: Sequence[int], terms: Sequence[Int[np.ndarray, " _"]]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the constraints E, e, low and high on these terms' coefficients, equation by
        equation.
        """
        rows = np.repeat(np.array(equations, dtype=int), [len(chosen) for chosen in terms])
        columns = np.concatenate(list(terms))
        matrix = self.relations[:, rows, columns]
        used = (matrix != 0).any(axis=1)
        return matrix[used], self.values[used], self.low[rows, columns], self.high[rows, columns]


def contradiction(words: str) -> InputError:
    return InputError(
        f"physics=... contradicts itself: no coefficients satisfy {words} together with the other "
        "given, bounded or forbidden coefficients. Drop one of them, or widen a bound."
    )
