"""Cost of constraints in `Exact`, in the quadratic problem alone, and in a whole fit."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import orthoreg as og
from benchmarks._known_systems import KNOWN_OF_PENDULUM, lorenz, swings
from benchmarks.measurements._line import Line
from orthoreg.fitting import prepare
from orthoreg.model.validation import run_rows
from orthoreg.solving import Bounds, Equalities, QuadraticProblem, fold_moments

_KNOWN_OF_LORENZ = {
    "one equation given": og.Physics(equations={"x": "10*(y - x)"}),
    "a relation": og.Physics(relations=["coef(x, x) = -coef(x, y)"]),
    "a relation between equations": og.Physics(relations=["coef(y, x*z) = -coef(z, x*y)"]),
    "bounds, none active": og.Physics(bounds={(c, c): (None, 0) for c in "xyz"}),
    "bounds, all active": og.Physics(
        bounds={("x", "x"): (-5, 0), ("y", "y"): (0, None), ("z", "z"): (None, -3)}
    ),
}


def _solver_lines() -> list[Line]:
    """Measure 20 terms in each Lorenz equation, with and without a residual and an L1 norm."""
    data, solver, lines = lorenz(), og.Exact(normalize=True), []
    for residual, augmentation in (("", og.Zero()), ("residual, ", og.RandomFeatures(100))):
        for l1 in (0.0, 0.1):
            tasks = {}
            for label, physics in (("nothing", None), *_KNOWN_OF_LORENZ.items()):
                model = og.OrthoReg(
                    og.Polynomial(3), augmentation, sparsity=l1, orthogonality=10.0, solver=solver,
                    physics=physics,
                )  # fmt: skip
                recipe = model.recipe()
                task = prepare(recipe, run_rows(data, recipe.loss)[0])
                # the pass over the data was done before
                folds = fold_moments(task, task.linear_rows("Exact()"))
                tasks[label] = replace(task, folds=folds, library=sum(folds[1:], folds[0]))
            times = dict.fromkeys(tasks, np.inf)
            for _ in range(9):  # alternating, so that other processes affect all tasks equally
                for label, task in tasks.items():
                    start = time.process_time()
                    solver.solve_all([task])
                    times[label] = min(times[label], time.process_time() - start)
            free = times.pop("nothing")
            what = f"{residual}{'L1, ' if l1 else ''}"
            lines += [
                Line(f"Exact, {what}{label}", [seconds / free], f"times {1e3 * free:.0f} ms", 2)
                for label, seconds in times.items()
            ]
    return lines


def solves() -> list[Line]:
    """The table shows times with constraints relative to times without: first those of `Exact`
    with given moments, then those of the quadratic problem alone, which is a single LAPACK call
    without constraints. Each time is the minimum of several repetitions in one process."""
    lines = _solver_lines()
    for l1 in (0.0, 0.1):
        for size in (10, 30, 100):
            for label, ties, bounds, at in (
                ("3 equalities", 3, 0, 0.0), ("5 bounds, none active", 0, 5, -100.0),
                ("3 equalities, 5 bounds", 3, 5, 0.0),
            ):  # fmt: skip
                free, held = _problems(size, l1, ties, bounds, at)
                free_time, held_time = _fastest(free.solve), _fastest(held.solve)
                what = f"{size} terms, {'L1, ' if l1 else ''}{label}"
                lines.append(
                    Line(what, text=f"{held_time / free_time:.1f} times {1e6 * free_time:.0f} us")
                )
    times = []
    for physics in (None, KNOWN_OF_PENDULUM):
        model, data = og.OrthoReg(physics=physics), swings(0.0, 0)
        start = time.process_time()
        model.fit(data)
        times.append(time.process_time() - start)
    return [*lines, Line("whole fit of a pendulum: g and theta' given, relative to nothing given",
                         [times[1] / times[0]], "", 2)]  # fmt: skip


def _problems(
    size: int, l1: float, ties: int, bounds: int, at: float
) -> tuple[QuadraticProblem, QuadraticProblem]:
    """Return a random problem without and with constraints."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((4 * size, size))
    y = X @ rng.standard_normal(size) + 0.3 * rng.standard_normal(4 * size)
    Q, r = X.T @ X / len(X), X.T @ y / len(X)
    E = np.zeros((ties, size))
    for row in E:
        row[rng.choice(size, 2, replace=False)] = 1, -1
    low, high = np.full(size, -np.inf), np.full(size, np.inf)
    low[rng.choice(size, bounds, replace=False)] = at
    held = QuadraticProblem(Q, r, l1, Equalities(E, np.zeros(ties)), Bounds(low, high))
    return QuadraticProblem(Q, r, l1), held


def _fastest(solve: Callable[[], Any], repeats: int = 60, each: int = 10) -> float:
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(each):
            solve()
        best = min(best, (time.perf_counter() - start) / each)
    return float(best)
