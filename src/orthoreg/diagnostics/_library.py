"""How well the data tell the terms of a library apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from .._errors import DataError, InputError
from ..data import Dataset
from ..libraries import AbstractLibrary, bind
from ._certificate import condition_number

INFLATION = 100.0
"""Reported from here on: standard errors ten times those of orthogonal terms, R^2 > 0.99."""

_BLOCK = 4096
_EXACT = 1e-12  # of the smallest eigenvalue, as where a solver leaves terms out
_PART = 1e-8  # of a term's square in an exact dependence: less is rounding
_SMALL = 0.05


@final
@dataclass(frozen=True)
class NearDependence:
    """A term that the others nearly say: term ~ sum of `weights` times `others`.

    `r_squared` is the share of |term|^2_D that all other terms explain, `inflation` is
    1 / (1 - R^2): the factor by which that multiplies the variance of the term's coefficient.
    Nothing is centred: the constant is a term like the others. `others` are those whose
    contribution is at least 5 % of the largest, the largest first.
    """

    term: str
    r_squared: float
    inflation: float
    others: tuple[str, ...]
    weights: tuple[float, ...]


@final
@dataclass(frozen=True)
class LibraryCondition:
    """The condition number of the library matrix with unit columns, and its near dependences,
    the worst first."""

    condition_number: float
    near_dependences: tuple[NearDependence, ...]


def near_dependences(
    A: Float[np.ndarray, "K K"], names: Sequence[str], *, inflation: float = INFLATION
) -> tuple[NearDependence, ...]:
    """The terms whose variance inflation is at least `inflation`, the worst first.

    A = Phi'Phi / N. With unit columns the inflation of term k is (A^-1)_kk; it is infinite where
    other terms give it exactly, to a squared relative distance of 1e-12. A term that is
    zero on all data is given by none. Units do not matter.

    >>> x = np.linspace(0.9, 1.1, 50)
    >>> Phi = np.column_stack([x**0, x, x**2])
    >>> for found in near_dependences(Phi.T @ Phi / 50, ["1", "x", "x**2"]):
    ...     print(found.term, found.others, f"{found.inflation:.1e}")
    x ('x**2', '1') 4.2e+05
    x**2 ('x', '1') 1.1e+05
    1 ('x', 'x**2') 1.0e+05
    """
    if len(names) != len(A):
        raise InputError(f"names must name the {len(A)} terms of A; got {len(names)} names.")
    size = np.sqrt(np.diag(A))
    zero = [int(k) for k in np.flatnonzero(size == 0)]
    terms = [int(k) for k in np.flatnonzero(size > 0)]
    C = A[np.ix_(terms, terms)] / np.outer(size[terms], size[terms])
    values, vectors = np.linalg.eigh(C) if terms else (np.ones(0), np.zeros((0, 0)))
    null = values <= _EXACT
    nothing = vectors[:, null] @ vectors[:, null].T  # its rows are combinations that vanish
    inverse = (vectors[:, ~null] / values[~null]) @ vectors[:, ~null].T
    found = [NearDependence(names[k], 1.0, np.inf, (), ()) for k in zero]
    for i, k in enumerate(terms):
        exact = nothing[i, i] > _PART
        row = nothing[i] if exact else inverse[i]
        factor = np.inf if exact else float(row[i])
        if factor < inflation:
            continue
        share = -row / row[i]
        share[i] = 0.0
        least = max(_SMALL * float(np.abs(share).max()), 1e-300)
        others = [j for j in map(int, np.argsort(-np.abs(share))) if abs(share[j]) >= least]
        found.append(
            NearDependence(
                term=names[k],
                r_squared=1 - 1 / factor,
                inflation=factor,
                others=tuple(names[terms[j]] for j in others),
                weights=tuple(float(share[j] * size[k] / size[terms[j]]) for j in others),
            )
        )
    return tuple(sorted(found, key=lambda one: -one.inflation))


def library_condition(
    library: AbstractLibrary, data: Dataset, *, inflation: float = INFLATION
) -> LibraryCondition:
    """What the data can tell apart among the terms of a library; nothing is fitted.

    >>> from orthoreg import Polynomial
    >>> t = np.linspace(0, 6, 200)
    >>> circle = Dataset.from_arrays(np.column_stack([np.cos(t), np.sin(t)]), t, names=["x", "y"])
    >>> condition = library_condition(Polynomial(2), circle)
    >>> [found.term for found in condition.near_dependences]
    ['1', 'x**2', 'y**2']
    """
    features = bind(library, data.variable_names, data.state_names)
    A = np.zeros((len(features.terms), len(features.terms)))
    for first in range(0, data.n_samples, _BLOCK):
        values = features(data.variables[first : first + _BLOCK])
        bad = np.argwhere(~(np.abs(values) < 1e150))
        if bad.size:
            row, term = bad[0]
            raise DataError(
                f"Library term '{features.names[term]}' is {values[row, term]:g} at row "
                f"{first + row}; a term must be finite on all data."
            )
        A += values.T @ values / data.n_samples
    return LibraryCondition(
        condition_number(A), near_dependences(A, features.names, inflation=inflation)
    )
