"""`AbstractModel`: what every estimator here can do, thin methods over the layers below."""

import abc
import os
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from . import export
from ._adapt import adapted
from ._door import (
    as_dataset,
    generator,
    known_variables,
    simulation_arrays,
    training_samples,
)
from ._errors import InputError, ModelFileError
from ._field import HybridField
from ._persistence import (
    check_array,
    decode,
    encode,
    encode_library,
    evidence_from_parts,
    evidence_parts,
    field_from_parts,
    field_parts,
    write_model,
)
from ._plan import Plan
from ._rollouts import rollouts
from .data import Dataset, Samples
from .diagnostics import Certificate, certify
from .libraries import bind
from .selection import Selected, TermEvidence, select, term_evidence
from .simulation import Rollout
from .solvers import Solution, Task, Training
from .summary import Summary


class AbstractModel(RegressorMixin, BaseEstimator):
    """What every model can do once it knows its parts: the scikit-learn contract, derivatives,
    simulations, equations and files. A final class adds its constructor and `_plan`."""

    seed: Any
    feature_names_in_: Any  # scikit-learn's: set when a frame with column names was fitted
    state_names_: tuple[str, ...]
    input_names_: tuple[str, ...]
    output_names_: tuple[str, ...]
    units_: dict[str, str]
    columns_: dict[str, Any]
    target_is_flat_: bool
    training_: Training | None
    selection_: Selected | None
    _evidence: TermEvidence | None
    _summary: Summary | None

    @abc.abstractmethod
    def _plan(self) -> Plan:
        """The parts; refuses those that are none."""

    # -- learning ------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, *, t: Any = None, u: Any = None) -> Self:
        """Learns from a `Dataset`, from states `X` with times `t`, or from states and
        derivatives `X, y`. `u` holds inputs; several runs are lists of arrays."""
        return fit_together([self], X, y, t=t, u=u)[0]

    def _task(self, plan: Plan, samples: Samples, learned: dict[str, Any]) -> Task:
        """What the solver is asked for."""
        rng = generator(self.seed)
        names = learned["state_names_"] + learned["input_names_"]
        features = bind(plan.library, names, learned["output_names_"])
        variables = samples.variables
        varies = np.ptp(variables, axis=0) > 0
        spread = np.where(varies, variables.std(axis=0), 1.0)
        basis = plan.augmentation.init(variables.mean(axis=0), spread, rng=rng).blind_to(~varies)
        if basis.composed and len(names) != len(learned["output_names_"]):
            raise InputError(
                f"A Composed network needs as many variables as equations; there are {len(names)} "
                f"and {len(learned['output_names_'])}."
            )
        return Task(
            features=features,
            basis=basis,
            learns_hidden=plan.augmentation.learns_hidden,
            ridge=plan.augmentation.ridge,
            strengths=plan.strengths,
            loss=plan.loss,
            samples=samples,
            seed=int(self.seed),
            allowed=features.mask,
        )

    def _learn(
        self,
        task: Task,
        solution: Solution,
        learned: dict[str, Any],
        plan: Plan,
        selected: Selected | None = None,
    ) -> Self:
        """Takes over what was found."""
        result = solution.result
        certificate = certify(
            result if selected is None else result.within(task.features.mask),
            learned["output_names_"],
            task.features.names,
            normalized=plan.solver.normalize,
        )
        for name, value in learned.items():
            if value is not None:
                setattr(self, name, value)
            elif hasattr(self, name):
                delattr(self, name)
        self.field_ = HybridField(
            task.features,
            result.coefficients,
            solution.basis,
            result.weights,
            result.correction,
            None if plan.gate is None else plan.gate(task.samples.variables, task.samples.folds(5)),
        )
        self.certificate_ = certificate
        self.training_ = solution.training
        self.selection_ = selected
        self._evidence = self._summary = None
        states = task.samples.variables[:, : len(self.state_names_)]
        self.state_range_ = np.stack([states.min(axis=0), states.max(axis=0)])
        self._publish()
        return self

    def adapt(self, X: Any, y: Any = None, *, t: Any = None, u: Any = None) -> Self:
        """A new model for another system of the same make: terms and residual stay, coefficients
        are refitted to the new data, which are given as to `fit`. This model does not change.

        Coefficients are expected to differ from the old ones by some share of their size. How
        large a share is usual is estimated from the new data, and so is how far their errors let
        a change be trusted, with errors counted by run or stretch, as neighbouring rows err alike.
        A change that the data establish is taken in full, as least squares has it; one that they
        leave open is not made; between, it is made in part. So a few rows are enough.

        The new `certificate_` is evaluated on the new data. No bound is claimed there: the residual
        was made orthogonal on the old ones.

        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 200)
        >>> model = og.OrthoReg(og.Polynomial(1)).fit(np.exp(-t)[:, None], t=t)
        >>> model.equations(), model.adapt(np.exp(-1.2 * t)[:30, None], t=t[:30]).equations()
        (["x0' = -1.000 x0"], ["x0' = -1.200 x0"])
        """
        check_is_fitted(self)
        plan = self._plan()
        samples, given = training_samples(self, plan.loss, X, y, t, u)
        if t is None:
            self._variables(X, u)  # refuses other names
        for what, names in (("states", "state_names_"), ("inputs", "input_names_"),
                            ("targets", "output_names_")):  # fmt: skip
            known, found = len(getattr(self, names)), len(given[names])
            if known != found:
                raise InputError(f"The model has {known} {what}; the new data have {found}.")
        targets = plan.loss.targets(samples, self.field_.values)
        result = adapted(self.field_, replace(samples, targets=targets))
        model = copy(self)
        model.field_ = replace(self.field_, coefficients=result.coefficients)
        model.certificate_ = certify(
            result, self.output_names_, self.field_.features.names,
            normalized=plan.solver.normalize,
        )  # fmt: skip
        model.training_ = model._evidence = model._summary = None
        if self.selection_ is not None:  # its evidence is about the old system
            model.selection_ = replace(self.selection_, evidence=None)
        model._publish()
        return model

    def _publish(self) -> None:
        """The learned values that users read, from the fitted field."""
        self.coefficients_ = np.asarray(self.field_.coefficients)
        self.feature_names_ = list(self.field_.features.names)
        self.support_ = self.coefficients_ != 0
        self.n_features_in_ = len(self.state_names_)

    # -- using ---------------------------------------------------------------------------

    def predict(self, X: Any, u: Any = None) -> np.ndarray:
        """Derivatives at states (N, n); the rows of a `Dataset` are taken one after the other."""
        if not hasattr(self, "field_"):
            check_is_fitted(self)  # costs more than the prediction of one row
        return self._shaped(self.field_.values(self._variables(X, u)))

    def decompose(self, X: Any, u: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """(symbolic, neural): the two parts of `predict(X)`."""
        check_is_fitted(self)
        variables = self._variables(X, u)
        field = self.field_
        return self._shaped(field.symbolic(variables)), self._shaped(field.neural(variables))

    def distance(self, X: Any, u: Any = None) -> np.ndarray:
        """How far each state is from the training data, as `Gate` measures it: 1 is their edge."""
        check_is_fitted(self)
        if self.field_.region is None:
            raise InputError("The model has no gate, which is what measures distance; fit one "
                             "with gate=Gate().")  # fmt: skip
        return self.field_.region.distance(self._variables(X, u))

    def _shaped(self, values: np.ndarray) -> np.ndarray:
        return values[:, 0] if self.target_is_flat_ else values

    def _variables(self, X: Any, u: Any) -> np.ndarray:
        return known_variables(self, X, u)

    def score(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, t: Any = None, u: Any = None
    ) -> float:
        """R^2 of the predicted derivatives, the mean over equations."""
        from sklearn.metrics import r2_score

        check_is_fitted(self)
        data = as_dataset(X, y, t, u)
        if data is not None:
            targets = self.target_derivatives(data)
            return float(r2_score(targets, self.predict(data), sample_weight=sample_weight))
        return float(r2_score(y, self.predict(X, u), sample_weight=sample_weight))

    def target_derivatives(self, data: Dataset) -> np.ndarray:
        """The derivatives at the rows of a dataset that the model's loss measures it against."""
        check_is_fitted(self)
        loss = self._plan().loss
        return loss.targets(loss.samples(data), self.field_.values)

    def simulate(
        self, x0: Any, t: Any, u: Any = None, *, throw: bool = False, rtol: float = 1e-8
    ) -> Rollout:
        """The trajectory from `x0` (n,) at times `t` (T,), or one for each row of `x0` (B, n).

        `u` holds the inputs at `t`, (T, m) or (B, T, m), interpolated linearly. Divergence does
        not raise: `.status` says how the rollout ended, `.stopped_at` when, and `.message` where
        and which term dominated there. `throw=True` raises it. With a gate, `.left_at` is the
        first of the times `t` at which the state is outside the training data.
        """
        check_is_fitted(self)
        self._check_equations()
        n = len(self.state_names_)
        starts, times, inputs, single = simulation_arrays(x0, t, u, n, len(self.input_names_))
        rollout = self._rollouts(starts, np.tile(times, (len(starts), 1)), inputs, rtol)
        rollout = rollout.runs()[0] if single else replace(rollout, times=times)
        if throw:
            rollout.raise_unless_completed()
        return rollout

    def forecast(self, data: Dataset, *, rtol: float = 1e-8) -> list[Rollout]:
        """For each run, the trajectory from its first row over its own times and inputs."""
        check_is_fitted(self)
        self._check_equations()
        self._variables(data, None)
        last = np.maximum.reduceat(np.arange(data.n_samples), data.offsets[:-1])
        columns = np.arange(data.run_lengths.max())
        rows = np.minimum(data.offsets[:-1, None] + columns, last[:, None])
        rollout = self._rollouts(
            data.states[data.offsets[:-1]],
            data.times[rows],
            None if data.inputs is None else data.inputs[rows],
            rtol,
        )
        return [
            replace(one, times=one.times[:length], x=one.x[:length])
            for one, length in zip(rollout.runs(), data.run_lengths, strict=True)
        ]

    def _check_equations(self) -> None:
        if self.output_names_ != self.state_names_:
            raise InputError(
                f"A simulation needs one equation for each of the {len(self.state_names_)} states; "
                f"the model was fitted to {len(self.output_names_)} targets."
            )

    def _rollouts(
        self, starts: np.ndarray, times: np.ndarray, inputs: np.ndarray | None, rtol: float
    ) -> Rollout:
        return rollouts(
            self.field_, self.state_range_, self.state_names_, starts, times, inputs, rtol
        )

    # -- reading -------------------------------------------------------------------------

    def equations(self, precision: int = 4) -> list[str]:
        """One line per equation; '+ residual' where the network adds something."""
        check_is_fitted(self)
        return export.equations(self.field_, self.output_names_, precision)

    def to_sympy(self) -> list[Any]:
        """The symbolic part as SymPy expressions, one per equation, without the residual."""
        check_is_fitted(self)
        return export.to_sympy(self.field_)

    def to_latex(self, precision: int = 4) -> list[str]:
        """One line of LaTeX per equation."""
        check_is_fitted(self)
        return export.to_latex(self.field_, self.output_names_, precision)

    def to_python(self) -> str:
        """Source of a NumPy function `vector_field(variables)`, the residual included."""
        check_is_fitted(self)
        return export.to_python(self.field_, self.output_names_)

    def summary(
        self,
        X: Any = None,
        y: Any = None,
        *,
        t: Any = None,
        u: Any = None,
        forecasts: Sequence[Rollout] | None = None,
    ) -> Summary:
        """What the model is worth on these data, given as to `fit`, and what to try next: print
        it, or take `.verdict`, `.advice`, `.scores`, `.terms`, `.to_dict()`.

        Without data it is the last summary that was made, which a model file keeps, or else one
        of the fit alone. `forecasts` are those of `orthoreg.summary.forecast_sample(data)`, where
        they are there already; at most 256 runs are forecast.

        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 20, 400)
        >>> x = np.cos(t)[:, None]  # the velocity is missing
        >>> summary = og.OrthoReg(og.Polynomial(1)).fit(x, t=t).summary(x, t=t)
        >>> summary.verdict.code, [one.code for one in summary.advice]
        ('not-explained', ['second-order'])
        """
        from .summary import forecast_sample
        from .summary._summarize import summarize

        check_is_fitted(self)
        if X is None:
            return self._summary or summarize(self._subject())
        data = as_dataset(X, y, t, u)
        samples = None
        self._variables(X if data is None else data, u if data is None else None)
        if data is None:
            samples, _ = training_samples(self, self._plan().loss, X, y, t, u)
        elif forecasts is None and self.output_names_ == self.state_names_:
            forecasts = self.forecast(forecast_sample(data))
        self._summary = summarize(self._subject(), data, samples, forecasts)
        return self._summary

    def _subject(self) -> Any:
        """What a summary is made of."""
        from .differentiation import Automatic
        from .summary._summarize import Subject

        plan = self._plan()
        return Subject(
            equations=tuple(self.equations()),
            outputs=self.output_names_,
            field=self.field_.without_idle_basis(),
            library=plan.library,
            differentiation=getattr(plan.loss, "differentiation", Automatic()),
            certificate=self.certificate_,
            evidence=self._term_evidence(),
            is_selected=plan.selection is not None,
        )

    def _term_evidence(self) -> TermEvidence | None:
        """What resamples say about the terms, found once; None where no selection chose them."""
        if self._evidence is None and self.selection_ is not None:
            self._evidence = term_evidence(self.selection_, self.field_.features)
        return self._evidence

    # -- files ---------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model to one `.orthoreg` file: JSON and arrays, no code.

        With it go the intervals and probabilities of its terms, where a selection chose them, and
        the last summary that was made.
        """
        check_is_fitted(self)
        entries, arrays = field_parts(self.field_)
        evidence, evidence_arrays = evidence_parts(self._term_evidence())
        params = {
            name: encode_library(value, self.field_.features.variables)
            if name == "library"
            else encode(value)
            for name, value in self.get_params(deep=False).items()
        }
        write_model(
            path,
            {
                "estimator": type(self).__name__,
                "params": params,
                "field": entries,
                "states": list(self.state_names_),
                "inputs": list(self.input_names_),
                "outputs": list(self.output_names_),
                "units": encode(self.units_),
                "columns": encode(self.columns_),
                "target_is_flat": self.target_is_flat_,
                "has_feature_names": hasattr(self, "feature_names_in_"),
                "certificate": encode(self.certificate_.as_dict()),
                "evidence": evidence,
                "summary": None if self._summary is None else encode(self._summary.to_dict()),
            },
            {**arrays, **evidence_arrays, "state_range": self.state_range_},
        )

    @classmethod
    def _loaded(cls, manifest: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        params = decode(manifest["params"])
        if "gate" in cls._get_param_names():
            params = {"gate": None} | params  # a file from before there were gates
        model = cls(**params)
        model.field_ = field_from_parts(manifest["field"], arrays)
        model.state_names_ = tuple(manifest["states"])
        model.input_names_ = tuple(manifest["inputs"])
        model.output_names_ = tuple(manifest["outputs"])
        model.units_ = decode(manifest["units"])
        model.columns_ = decode(manifest["columns"])
        model.target_is_flat_ = bool(manifest["target_is_flat"])
        model.certificate_ = Certificate.from_dict(decode(manifest["certificate"]))
        model.state_range_ = arrays["state_range"]
        check_array("state_range", model.state_range_, (2, len(model.state_names_)))
        names = (model.state_names_ + model.input_names_, len(model.output_names_))
        if names != (model.field_.features.variables, len(model.field_.features.allowed)):
            raise ModelFileError("The model file is inconsistent: its names do not fit together.")
        model.training_ = model.selection_ = None
        shape = model.field_.coefficients.shape
        model._evidence = evidence_from_parts(manifest["evidence"], arrays, shape)
        kept = decode(manifest["summary"])
        model._summary = None if kept is None else Summary.from_dict(kept)
        model._publish()
        if manifest["has_feature_names"]:
            model.feature_names_in_ = np.array(model.state_names_, dtype=object)
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


Model = TypeVar("Model", bound=AbstractModel)


def fit_together(
    models: Sequence[Model], X: Any, y: Any = None, *, t: Any = None, u: Any = None
) -> list[Model]:
    """Fits several models to the same data, as `fit` does; returns them.

    Models that differ only in their strengths and seeds share the samples, and a gradient solver
    trains them in one batch. All must have the same loss, and the same solver.
    """
    if not models:
        raise InputError("fit_together needs at least one model; the list is empty.")
    for model in models:
        if not isinstance(model, AbstractModel):
            raise InputError(f"fit_together takes models such as OrthoReg(); got {model!r}.")
    plans = [model._plan() for model in models]
    first, plan = models[0], plans[0]
    for other in plans[1:]:
        if (other.loss, other.solver) != (plan.loss, plan.solver):
            raise InputError(
                f"Models that are fitted together need the same loss and solver; got "
                f"{plan.loss!r}, {plan.solver!r} and {other.loss!r}, {other.solver!r}."
            )
    samples, learned = training_samples(first, plan.loss, X, y, t, u)
    if len(samples.targets) < 2:
        raise InputError("A fit needs at least 2 samples; the data hold 1.")
    tasks = [model._task(one, samples, learned) for model, one in zip(models, plans, strict=True)]
    found = [_chosen(one, task) for one, task in zip(plans, tasks, strict=True)]
    tasks = [
        task if selected is None else _narrowed(task, selected)
        for task, selected in zip(tasks, found, strict=True)
    ]
    solutions = plan.solver.fit_all(tasks)
    # only now, so that a fit that fails leaves an earlier one whole
    for model, task, solution, one, selected in zip(
        models, tasks, solutions, plans, found, strict=True
    ):
        model._learn(task, solution, learned, one, selected)
    return list(models)


def _chosen(plan: Plan, task: Task) -> Selected | None:
    """What the plan's selection finds among the terms that the task allows."""
    if plan.selection is None:
        return None
    return select(plan.selection, task.features, task.samples, task.allowed)


def _narrowed(task: Task, selected: Selected) -> Task:
    """The task with the chosen terms only, and without the L1 norm that would choose again."""
    strengths = replace(task.strengths, sparsity=0.0)
    return replace(task, allowed=selected.support, strengths=strengths, is_chosen=True)


def prepared(model: AbstractModel, X: Any, y: Any = None, *, t: Any = None, u: Any = None) -> Task:
    """What `fit` would ask the solver for."""
    plan = model._plan()
    samples, learned = training_samples(model, plan.loss, X, y, t, u)
    return model._task(plan, samples, learned)
