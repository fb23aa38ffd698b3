"""`Adam`: the paper's Algorithm 1, joint gradient training of coefficients and network."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np
from jaxtyping import Float

from .._common.arrays import register_pytrees
from .._common.errors import (
    DataError,
    InputError,
    TrainingError,
    TrainingWarning,
    quoted,
    require,
)
from .._common.imports import import_cleanly
from .._common.progress import step
from .._common.registry import part
from ..data import Rows, held_out_rows
from ..field.hybrid import HybridField
from ..losses import Segments
from . import _limits as limits
from ._equation import Spectrum, objective
from ._holding import active_terms, held_by, orthogonal_to, satisfy_constraints, with_known_terms
from ._moments import Moments, gather, no_basis
from ._objective import PARTS, Held, Objective, Parameters, Weights, whitening
from ._solver import (
    AbstractSolver,
    EquationFit,
    FitResult,
    Solution,
    Task,
    Training,
    dependences,
    scales,
)
from ._system import Sizes, System, systems

if TYPE_CHECKING:
    from ._training import Loop
else:
    Loop = Any  # imported at training time, because its module imports JAX and Optax


@part
@final
@dataclass(frozen=True)
class Adam(AbstractSolver):
    """Joint training of coefficients and network by Adam, in single precision. [Algorithm 1]

    Parameters
    ----------
    epochs, learning_rate
        number of epochs and initial learning rate, as in the paper.
    decay
        final learning rate of the cosine schedule, relative to the initial rate.
    batch
        number of segments per step; None for the full batch, which `orthogonality=math.inf`
        requires.
    unbiased
        deprecated. The penalty of a batch is biased by the variance of the overlap. With this
        option, it is the product of two independent estimates.
    normalize
        whether to divide features and targets by their root mean squares, as in `Exact`.
    validation
        fraction of the runs that is held out. The state with the smallest error on these runs is
        returned. Without validation, the state with the smallest objective is returned.
    patience
        number of epochs without improvement after which training stops.
    threshold
        coefficients up to this absolute value, in units of the solver, are set to zero at the end.
    polish
        whether to solve exactly for the coefficients and the output layer at the end, for the
        trained hidden layers. A ridge of None is then zero; for noisy data, specify a ridge.

    Examples
    --------
    >>> import orthoreg as og
    >>> model = og.OrthoReg(augmentation=og.MLP(64, 2), solver=og.Adam(epochs=500, normalize=True))
    >>> model.solver.epochs
    500
    """

    epochs: int = 2000
    learning_rate: float = 0.0089
    decay: float = 1.0
    batch: int | None = None
    unbiased: bool = False
    normalize: bool = False
    validation: float = 0.0
    patience: int | None = None
    threshold: float = 1e-3
    polish: bool = False

    def __post_init__(self):
        for name, may_be_none in (("epochs", False), ("batch", True), ("patience", True)):
            value = getattr(self, name)
            is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
            if not (is_integer and value >= 1) and not (may_be_none and value is None):
                none = "None or " if may_be_none else ""
                raise InputError(
                    f"Adam({name}=...) must be {none}a whole number of at least 1; got {value!r}."
                )
        for name, low, high in (
            ("learning_rate", 0.0, math.inf), ("decay", -1e-300, 1.0),
            ("validation", -1e-300, 0.5), ("threshold", -1e-300, math.inf),
        ):  # fmt: skip
            value = getattr(self, name)
            is_number = isinstance(value, int | float | np.number) and math.isfinite(value)
            if not is_number or not low < value <= high:
                limit = "above 0" if low == 0 else "at least 0"
                upper = f" and at most {high:g}" if math.isfinite(high) else ""
                raise InputError(f"Adam({name}=...) must be {limit}{upper}; got {value!r}.")
        if self.patience is not None and self.validation == 0:
            raise InputError(
                "Adam(patience=...) stops on the error of held-out runs and needs "
                "validation=..., such as 0.2; it is 0."
            )
        if self.unbiased and self.batch is None:
            raise InputError("Adam(unbiased=True) needs batch=...; the full batch has no bias.")
        if self.unbiased:
            warnings.warn(
                "Adam(unbiased=True) is deprecated: use a larger batch, or batch=None, which has "
                "no bias.",
                DeprecationWarning,
                stacklevel=3,
            )

    @step("Fitting coefficients and residual")
    def solve_all(self, tasks: Sequence[Task]) -> list[Solution]:
        """Return a solution for each task.

        Tasks that differ only in penalties, seed and initial values are trained together.
        """
        for package in ("jax", "optax"):
            require(package, "train", "Training by Adam")
        import_cleanly("jax", "optax")
        tasks = [with_known_terms(task) for task in tasks]
        solutions: dict[int, Solution] = {}
        # all checks come before the first training
        groups = [
            (group, self.prepared([tasks[i] for i in group]))
            for group in _trainable_together(tasks)
        ]
        for group, prepared in groups:
            members = self._train([tasks[i] for i in group], *prepared)
            solutions |= dict(zip(group, members, strict=True))
        return [solutions[i] for i in range(len(tasks))]

    def prepared(self, tasks: list[Task]) -> tuple[Objective, Rows, Loop]:
        """Return the objective, the rows and the loop of tasks that are trained together."""
        observed = tasks[0].observed
        assert isinstance(observed, Rows)  # because `needs_rows` is true
        training, held_out = self._split(observed)
        setting = objective_of(tasks, training, self.normalize)
        return setting, training, self.loop(tasks, setting, training, held_out)

    def _train(
        self, tasks: list[Task], setting: Objective, rows: Rows, loop: Loop
    ) -> list[Solution]:
        import jax

        from ._training import EARLY, ending, train

        with jax.enable_x64(False):
            state = train(loop)
        validates = loop.data.validation is not None
        solutions = []
        for i, (task, parameters) in enumerate(zip(tasks, loop.best(state), strict=True)):
            message = ending(int(state.code[i]), int(state.stopped_at[i]))
            if not np.isfinite(state.best_value[i]) and len(tasks) == 1:
                raise TrainingError(f"Training {message}.{_advice(self)}")
            if message and state.code[i] != EARLY:
                warnings.warn(
                    f"Training {message}; the state of epoch {state.best_epoch[i]} is kept."
                    f"{_advice(self)}",
                    TrainingWarning,
                    stacklevel=5,
                )
            last = min(int(state.stopped_at[i]) + 1, int(self.epochs) + 1)
            training = Training(
                PARTS,
                state.history[i, :last].astype(np.float64),
                None if not validates else state.validation[i, :last].astype(np.float64),
                int(state.best_epoch[i]),
                message,
            )
            solutions.append(self._solution(task, parameters, setting, rows, training))
        return solutions

    def loop(
        self, tasks: list[Task], setting: Objective, training: Rows, held_out: Rows | None
    ) -> Loop:
        """Return the training loop: segments, initial values and settings."""
        from ._training import Loop, Pace, Schedule, TrainingData

        register_pytrees()
        task = tasks[0]
        segments = task.loss.segments(training)
        self._check(task, segments)
        validation: tuple[Any, Any] = (None, None)
        if held_out is not None:
            segments_held_out = task.loss.segments(held_out)
            validation = (segments_held_out, _theta(setting, segments_held_out, held_out))
        return Loop.of(
            setting,
            TrainingData(segments, _theta(setting, segments, training), *validation),
            [_start(member, setting) for member in tasks],
            [_weights(member) for member in tasks],
            [member.seed % 2**32 for member in tasks],
            Pace(
                epochs=int(self.epochs),
                patience=int(self.patience or self.epochs + 1),
                first_rate=float(self.learning_rate),
                last_rate=float(self.learning_rate * self.decay),
            ),
            Schedule(
                batch=int(self.batch or 0),
                unbiased=self.unbiased,
                learns_hidden=task.learns_hidden,
                learns_coefficients=task.fixed is None,
            ),
        )

    def _split(self, rows: Rows) -> tuple[Rows, Rows | None]:
        """Return training and validation rows."""
        if self.validation == 0:
            return rows, None
        held_out = held_out_rows(rows, self.validation)
        return rows.only(~held_out), rows.only(held_out)

    def _check(self, task: Task, segments: Segments) -> None:
        if self.batch is not None and self.batch > len(segments):
            what = "segments" if task.linear is None else "rows"
            raise InputError(
                f"Adam(batch={self.batch}) is larger than the data: there are {len(segments)} "
                f"{what} to train on. Choose a smaller batch, or None for the full batch."
            )
        if self.batch is not None and task.regularization.projects:
            raise InputError(
                "orthogonality=inf projects the network on all data at once, which "
                f"Adam(batch={self.batch}) cannot do; use batch=None, a finite orthogonality, or "
                "solver=Exact()."
            )
        if self.validation > 0 and task.fixed is not None:
            raise InputError(
                "Adam(validation=...) cannot validate the second of two stages, because the first "
                "stage used the rows that would be held out. Use validation=0."
            )
        if self.polish and task.linear is None:
            raise InputError(
                "Adam(polish=True) solves a linear problem; it needs loss=VectorField(). Use "
                "polish=False."
            )

    def _solution(
        self,
        task: Task,
        parameters: Parameters,
        setting: Objective,
        rows: Rows,
        training: Training,
    ) -> Solution:
        """Return the fit in double precision, from the moments of the trained network."""
        mask = task.features.mask
        sizes = (np.asarray(setting.feature_scale), np.asarray(setting.target_scale))
        held = held_by(task, sizes)
        w = np.where(mask, np.asarray(parameters.coefficients, np.float64).T, 0.0)
        w = satisfy_constraints(held, task, w, self.threshold)
        if task.fixed is not None:
            w = task.fixed * sizes[0] / sizes[1][:, None]
        v = np.asarray(held.weights(np.array(parameters.weights, np.float64), np))
        basis = task.basis
        if task.learns_hidden:
            layers: Any = parameters.basis
            weights, biases = (
                tuple(np.asarray(a, np.float64) for a in part)
                for part in (layers.weights, layers.biases)
            )
            basis = replace(basis, weights=weights, biases=biases)  # type: ignore[call-arg]
        in_units = sizes[1][:, None] / sizes[0]
        field = HybridField(
            task.features, w * in_units, basis, v * setting.target_scale, np.zeros_like(w)
        )
        observed = rows.at(task.loss.segment_rows(rows))
        (moments,) = gather(task.features, basis, observed)
        moments = moments.scaled(*sizes)
        projects = task.regularization.projects
        p = np.zeros_like(w)
        if projects:
            allowed = enumerate(orthogonal_to(task))
            p = np.stack([_projection(moments, row) @ v[:, c] for c, row in allowed])
        if task.linear is None:
            field = replace(field, correction=p * in_units)
            implied = replace(rows, targets=task.loss.targets(rows, field.values))
            observed = implied.at(task.loss.segment_rows(rows))
            (moments,) = gather(task.features, basis, observed)
            moments = moments.scaled(*sizes)
        trained = _trained_equations(task, moments, held, w, v, p)
        equations = tuple(
            trained if task.linear is None else self._with_distance(task, moments, trained, sizes)
        )
        objectives = None
        if task.linear is not None:
            objectives = tuple(
                objective(moments, c, fit, task.regularization) for c, fit in enumerate(equations)
            )
        result = FitResult(moments, mask, task.regularization, *sizes, equations, objectives)
        return Solution.of(result, basis, training)

    def _with_distance(
        self, task: Task, moments: Moments, trained: list[EquationFit], sizes: Sizes
    ) -> list[EquationFit]:
        """Return the equations with their distance from the optimum for the trained hidden layers.

        If `polish`, return this optimum. Coupled equations have a common distance.
        """
        result = list(trained)
        for system in systems(moments, task.support, task.regularization, sizes, task.known):
            best = self._optimum(task, moments, system, [trained[c] for c in system.equations])
            gap = sum(
                objective(moments, c, trained[c], task.regularization)
                - objective(moments, c, fit, task.regularization)
                for c, fit in zip(system.equations, best, strict=True)
            )
            for c, fit in zip(system.equations, best, strict=True):
                if self.polish and gap >= 0:
                    result[c] = replace(fit, dependences=trained[c].dependences)
                else:
                    result[c] = replace(trained[c], duality_gap=max(gap, 0.0) + fit.duality_gap)
        return result

    def _optimum(
        self, task: Task, moments: Moments, system: System, trained: list[EquationFit]
    ) -> list[EquationFit]:
        """Return the best coefficients and output layers for the trained hidden layers."""
        ridges = [fit.ridge for fit in trained]
        given = np.stack([fit.w for fit in trained])
        if not task.regularization.projects:
            spectrum = Spectrum.of(moments)
            if task.fixed is None:
                return system.solve(spectrum, ridges)
            return system.residual(spectrum, ridges, given)
        # the projected network has no overlap, so the coefficients are those without a network
        alone = system.symbolic(moments, float(task.regularization.sparsity))
        fits = trained if task.fixed is not None else alone
        best = []
        for problem, fit, ridge in zip(system.problems, fits, ridges, strict=True):
            M = _projection(moments, orthogonal_to(task)[problem.equation])
            weights = replace(problem.regularization, orthogonality=0.0)
            spectrum = Spectrum.of(moments.with_basis_minus(M))
            v = replace(problem, regularization=weights).residual(spectrum, ridge, fit.w).v
            gap = 0.0 if task.fixed is not None else fit.duality_gap
            best.append(replace(fit, v=v, p=M @ v, ridge=ridge, duality_gap=gap))
        return system.conserving(best)


def _trainable_together(tasks: Sequence[Task]) -> list[list[int]]:
    """Return the indices of tasks that can be trained together."""
    groups: dict[tuple, list[int]] = {}
    for i, task in enumerate(tasks):
        shapes = tuple((name, array.shape) for name, array in task.basis.arrays().items())
        key = (
            id(task.observed), task.features, task.loss, task.learns_hidden, shapes,
            task.regularization.projects, task.fixed is None,
            task.support.tobytes(), _key(task),
        )  # fmt: skip
        groups.setdefault(key, []).append(i)
    return list(groups.values())


def _key(task: Task) -> tuple:
    """Return a key of a task's knowledge, or () without knowledge."""
    known = task.known
    if not known.beyond(()):
        return ()
    arrays = (known.low, known.high, known.required, known.relations, known.values, known.conserved)
    return (known.complete, *(array.tobytes() for array in arrays))


def objective_of(tasks: list[Task], rows: Rows, normalize: bool) -> Objective:
    """Return the objective with its constants in double precision."""
    task = tasks[0]
    steps = task.loss.segments(rows).steps  # raise an error for unusable rows
    observed = rows.at(task.loss.segment_rows(rows))
    (moments,) = gather(task.features, no_basis, observed)
    feature_scale, target_scale = scales(moments, normalize)
    scaled = moments.scaled(feature_scale, target_scale)
    time_factor = 1.0
    if normalize and steps.size:  # factor from the error of a derivative to the error of a state
        time_factor = float(np.sqrt(np.mean(np.cumsum(steps, axis=1) ** 2)))
    weights = np.array([[getattr(_weights(member), name) for name in ("mu", "lam", "lam2", "rho")]
                        for member in tasks])  # fmt: skip
    projects = task.regularization.projects
    allowed = orthogonal_to(task)
    return Objective(
        features=task.features,
        loss=task.loss,
        feature_scale=feature_scale,
        target_scale=target_scale,
        error_scale=target_scale * time_factor,
        allowed=allowed,
        whitening=whitening(scaled.A, allowed, min_share=limits.MIN_EIGENVALUE_SINGLE)
        if projects
        else None,
        counted=(True, *np.any(weights > 0, axis=0).tolist()),
        held=held_by(task, (feature_scale, target_scale)) if _key(task) else None,
        term_parameters=np.array(task.features.values),
    )


def _theta(setting: Objective, segments: Segments, rows: Rows) -> np.ndarray:
    """Return scaled features at the points of the segments, in a range for single precision."""
    points = np.asarray(segments.points).reshape(-1, segments.points.shape[-1])
    theta = setting.features(points) / setting.feature_scale
    largest = np.abs(theta).max(axis=0, initial=0.0)
    if (largest > limits.MAX_SINGLE_PRECISION).any():
        worst = int(np.argmax(largest))
        raise DataError(
            f"Library term '{setting.features.names[worst]}' reaches {largest[worst]:.1e} on the "
            f"data, too large for Adam's single precision. Use Adam(normalize=True), rescale the "
            f"data, or use solver=Exact()."
        )
    sizes = [np.abs(part).max(initial=0.0) for part in (points, segments.targets)]
    if segments.steps.size:  # predictions use unscaled terms
        sizes.append(float(np.max(setting.feature_scale, initial=0.0)))
    if (
        max(sizes) > limits.MAX_SINGLE_PRECISION
        or np.min(setting.target_scale) < 1 / limits.MAX_SINGLE_PRECISION
    ):
        raise DataError(
            f"The data ({quoted(rows.names)}) or their derivatives are too large or too small "
            f"for Adam's single precision. Rescale them or use solver=Exact()."
        )
    return theta


def _start(task: Task, setting: Objective) -> Parameters:
    """Return the initial values: zero or fixed coefficients, and a random output layer."""
    shape = (task.basis.size, len(setting.target_scale))
    weights = np.zeros(shape)
    if task.learns_hidden:
        std = np.sqrt(2 / sum(shape))
        weights = std * np.random.default_rng([task.seed, 1]).standard_normal(shape)
        weights[-1] = 0.0
    w = np.zeros((len(setting.target_scale), len(setting.feature_scale)))
    if task.fixed is not None:
        w = task.fixed * setting.feature_scale / setting.target_scale[:, None]
    elif setting.held is not None:
        w = satisfy_constraints(setting.held, task, w, 0.0)
    return Parameters(w.T, task.basis, weights)


def _weights(task: Task) -> Weights:
    lam = float(task.regularization.orthogonality)
    return Weights(
        mu=float(task.regularization.sparsity) if task.fixed is None else 0.0,
        lam=0.0 if math.isinf(lam) else lam,
        lam2=float(task.regularization.magnitude),
        rho=float(task.ridge or 0.0),
    )


def _trained_equations(
    task: Task,
    moments: Moments,
    held: Held,
    w: Float[np.ndarray, "c K"],
    v: Float[np.ndarray, "H c"],
    p: Float[np.ndarray, "c K"],
) -> list[EquationFit]:
    """Return the trained equations, without their distance from the optimum."""
    trained = []
    for c, allowed in enumerate(orthogonal_to(task)):
        terms, no_residual = np.flatnonzero(allowed), c in task.known.complete
        trained.append(
            EquationFit(
                terms=terms, w=w[c], v=v[:, c], p=p[c],
                sparsity=float(task.regularization.sparsity),
                ridge=math.inf if no_residual else float(task.ridge or 0.0),
                duality_gap=math.nan, dependences=dependences(moments, terms),
                active=active_terms(held, w[c], c),
            )
        )  # fmt: skip
    return trained


def _projection(moments: Moments, allowed: np.ndarray) -> Float[np.ndarray, "K H"]:
    """Return M = A^+ B on the allowed terms: theta M is the projection of psi."""
    (R,) = whitening(moments.A, allowed[None])
    return R @ (R.T @ moments.B)


def _advice(solver: Adam) -> str:
    scale = "" if solver.normalize else ", Adam(normalize=True)"
    return f" Try a lower learning_rate than {solver.learning_rate:g}{scale} or solver=Exact()."
