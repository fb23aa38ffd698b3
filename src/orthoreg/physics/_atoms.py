"""How coefficients can move while relations between them hold."""

import itertools

import numpy as np
from jaxtyping import Float

_MOST_ATOMS = 400  # sets of related coefficients that are tried as atoms
_ROUNDING = 1e-10


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
