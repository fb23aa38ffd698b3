"""Whether the data contradict what is said to be known of them."""

import warnings

import numpy as np

from .._common.errors import DataWarning
from ..moments import Moments, gather, no_basis
from ..quadratic import QuadraticProblem, independent_terms
from ..solvers import Solution, Task, squared_error
from . import _limits as limits


def warn_of_contradictions(task: Task, solution: Solution) -> None:
    """Warns of given equations, and of symmetries, that leave much of a target which the terms of
    the library, with none of this known, explain."""
    known = task.known
    if task.linear is None or not known.beyond(task.given):
        return
    library = task.library or gather(task.features, no_basis, task.linear)[0]
    terms, _ = independent_terms(library.A)
    symmetric = known.symmetries is not None and known.symmetries.any
    for c, name in enumerate(task.observed.outputs):
        size = float(library.yy[c])
        if c in task.given or size <= 0:
            continue
        free = _unexplained(library, terms, c) / size
        moments, fit = solution.result.moments, solution.result.equations[c]
        # of a training that is not at its end yet, nothing that more of it would explain
        untrained = 0.0 if solution.training is None else fit.duality_gap / float(moments.yy[c])
        if c in known.complete:
            w = known.low[c] if c in known.given_equations else solution.coefficients[c]
            left = squared_error(library, c, np.asarray(w), np.zeros(0)) / size - untrained
            is_better = free < limits.CONTRADICTION_LIBRARY_RATIO * left
            if left > limits.CONTRADICTED_EQUATION and is_better:
                _warn(f"the given equation of '{name}'", name, left, free,
                      "Check its signs and units.")  # fmt: skip
        elif symmetric:
            left = squared_error(moments, c, fit.w - fit.p, fit.v) / float(moments.yy[c])
            left -= untrained
            noise = float(task.observed.target_mse[c]) / size
            is_better = free < limits.CONTRADICTION_LIBRARY_RATIO * left
            if left > max(limits.CONTRADICTED_SYMMETRY, 4 * noise) and is_better:
                _warn("the symmetry", name, left, free, "Leave it out, or check the columns.")


def _unexplained(library: Moments, terms: np.ndarray, equation: int) -> float:
    """|y - Phi w|^2 of least squares with these terms."""
    w = np.zeros(library.n_features)
    A = library.A[np.ix_(terms, terms)]
    w[terms] = QuadraticProblem(A, library.a[terms, equation]).solve()
    return squared_error(library, equation, w, np.zeros(library.n_basis))


def _warn(what: str, name: str, left: float, free: float, advice: str) -> None:
    warnings.warn(
        f"The data contradict {what}: with it {_percent(left)} of the mean square of {name}' is "
        f"left unexplained, and by the terms of the library without it {_percent(free)}. {advice}",
        DataWarning,
        stacklevel=6,
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2g}%"
