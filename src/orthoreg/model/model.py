"""`AbstractModel`: the scikit-learn contract, simulation and files.

Its methods call the lower layers.
"""

import os
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._common.errors import InputError
from .._common.imports import import_cleanly
from .._common.parallel import one_thread
from .._common.scikit import AbstractEstimator, check_is_fitted
from .._persistence import write_model
from ..data import ChunkedDataset, Dataset
from ..findings import Summary
from ..fitting import (
    Columns,
    Drift,
    Fit,
    TrainingRuns,
    knowledge_of,
)
from ..physics import Knowledge, with_rates
from ..simulation import (
    Rollout,
)
from ..terms import FeatureMap
from . import _limits as limits
from .parts import model_params, model_parts, restored, restored_summary
from .simulating import forecasts_of, simulated
from .validation import (
    in_states_of,
    known_dataset,
    known_variables,
    training_rows,
)
from .workflow import AbstractWorkflow

if TYPE_CHECKING:  # imported by `explain`, which is rarely called
    from ..search.formulas import Atom
    from .explanation import Explanation


class AbstractModel(AbstractWorkflow, AbstractEstimator):
    """A model that can be fitted, simulated, explained and saved. A final class adds a constructor
    and `recipe`."""

    seed: Any
    feature_names_in_: Any  # scikit-learn's attribute, set after a fit to a frame with column names
    n_features_in_: int
    _summary: Summary | None = None  # the latest summary; model files store it

    # -- learning ------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, *, t: Any = None, u: Any = None) -> Self:
        """Fit the model to data and return the model.

        Parameters
        ----------
        X
            a `Dataset` or `ChunkedDataset`; or states with times `t`, as one array (T, n) or a list
            of arrays; or states (N, n) with derivatives `y`, as in scikit-learn.
        y
            derivatives at the rows of `X`, (N, n).
        t
            times of the rows, or the time step between them.
        u
            inputs at the rows, (T, m) or a list of arrays.

        Returns
        -------
        model
            this model, fitted. Learned attributes end in `_`.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 200)
        >>> og.OrthoReg(og.Polynomial(1)).fit(np.exp(-t)[:, None], t=t).equations()
        ["x0' = -1.000 x0"]
        """
        from .learning import fit_together

        return fit_together([self], X, y, t=t, u=u)[0]

    def _learn(self, fit: Fit, columns: Columns, runs: TrainingRuns | None = None) -> Self:
        """Store a fit. `runs` are given if their trajectories were not matched."""
        recipe, known = self.recipe(), self._knowledge(fit.field.features, columns)
        bounds = recipe.parameter_bounds(known)
        return self._hold(fit.with_columns(columns, known, bounds, runs))

    def _hold(self, fit: Fit) -> Self:
        """Store a complete fit and return the model."""
        assert fit.columns is not None
        self.fit_ = fit
        self._summary = None
        self.n_features_in_ = len(fit.columns.schema.state_names)
        if fit.columns.feature_names is not None:
            self.feature_names_in_ = fit.columns.feature_names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def adapt(self, X: Any, y: Any = None, *, t: Any = None, u: Any = None) -> Self:
        """Return a new model for a similar system.

        The terms and the residual are kept, and the coefficients are refitted to new data. This
        model does not change.

        The method assumes that coefficients change by a fraction of their size. It estimates this
        fraction from the new data, as well as the errors of the changes, by run or stretch because
        errors of neighbouring rows are correlated. A change that the data determine equals the
        least-squares change, a change that they do not determine is zero, and other changes are in
        between. A few rows are therefore sufficient.

        The new `certificate_` is evaluated on the new data. It contains no bound, because the
        residual is orthogonal only on the old data.

        Parameters
        ----------
        X, y, t, u
            the new data, as for `fit`.

        Returns
        -------
        model
            a new model.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 200)
        >>> model = og.OrthoReg(og.Polynomial(1)).fit(np.exp(-t)[:, None], t=t)
        >>> model.equations(), model.adapt(np.exp(-1.2 * t)[:30, None], t=t[:30]).equations()
        (["x0' = -1.000 x0"], ["x0' = -1.200 x0"])
        """
        check_is_fitted(self)
        from .learning import adapted

        return copy(self)._hold(self.fit_.with_field(*adapted(self, X, y, t, u)))

    def refine(self, X: Any, *, t: Any = None, u: Any = None) -> Self:
        """Return a new model with the same terms, and with constants that fit whole trajectories.

        This model does not change.

        Coefficients, parameters inside terms, weights of the residual and initial states are
        estimated jointly, first on short and then on longer segments, without smoothing or finite
        differences. The new constants are kept only if they forecast held-out runs, or the end of a
        single run, at least as well. `refinement_` describes the gain (`.status`) and the
        uncertainty of the constants (`.covariance`, `.interval()`); `bootstrap` and the summary
        then show this uncertainty. Wrong terms are not corrected.

        Parameters
        ----------
        X, t, u
            runs in time: a `Dataset`, or states with times and inputs, as for `fit`.

        Returns
        -------
        model
            a new model.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 200)
        >>> x = np.exp(-t) + 0.02 * np.random.default_rng(0).standard_normal(200)
        >>> model = og.OrthoReg(og.Polynomial(1), og.Zero()).fit(np.exp(-1.1 * t)[:, None], t=t)
        >>> model.equations(3), model.refine(x[:, None], t=t).equations(3)
        (["x0' = -1.10 x0"], ["x0' = -0.989 x0"])
        """
        check_is_fitted(self)
        self._check_equations()
        from .learning import refinement_of

        refinement, certificate = refinement_of(self, X, t, u)
        fit = replace(
            self.fit_, field=refinement.field, certificate=certificate, refinement=refinement,
            stored_evidence=self.fit_.evidence,
        )  # fmt: skip
        return copy(self)._hold(fit)

    def update(
        self, X: Any, y: Any = None, *, t: Any = None, u: Any = None, forgetting: float = 1.0
    ) -> Self:
        """Return a new model with new data added.

        The old data are not needed, and this model does not change.

        The constants are those of a fit to all data. The old data are represented by sums over
        their rows or, if the constants were matched to trajectories, by the covariance of the
        constants. The terms, the residual, its gate and, in fits from rows, inner parameters do not
        change. `drift_` of the new model states whether the new data still follow the old
        constants.

        Parameters
        ----------
        X, y, t, u
            the new data, as for `fit`.
        forgetting
            factor by which each new row reduces the weight of the old rows. With 0.99, rows lose
            half of their weight after 69 new rows. With 1, they keep their weight.

        Returns
        -------
        model
            a new model.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> x = np.random.default_rng(0).uniform(-1, 1, (300, 1))
        >>> y = -x + 0.1 * np.random.default_rng(1).standard_normal(x.shape)
        >>> model = og.OrthoReg("x0", og.Zero()).fit(x[:100], y[:100])
        >>> both = model.update(x[100:], y[100:])
        >>> both.equations() == og.OrthoReg("x0", og.Zero()).fit(x, y).equations()
        True
        >>> both.drift_.detected, both.update(x, 1.2 * y).drift_.detected
        (False, True)
        """
        check_is_fitted(self)
        from .updating import updated_fit

        return copy(self)._hold(updated_fit(self, X, y, t, u, forgetting))

    @property
    def drift_(self) -> Drift | None:
        """Whether the data of the last `update` followed the previous constants.

        None if there was no update.
        """
        return self.fit_.drift

    @property
    def drift(self) -> Drift | None:
        """Alias of `drift_`."""
        return self.fit_.drift

    def explain(
        self,
        X: Any,
        y: Any = None,
        *,
        t: Any = None,
        u: Any = None,
        atoms: "Sequence[Atom]" = (),
        functions_of_time: bool = False,
        minutes: float | None = None,
    ) -> "Explanation":
        """Search for formulas that the model's library lacks.

        Formulas from a catalogue are fitted together with the library's terms, so coefficients may
        change when a formula is added. There are no proposals unless a formula clearly improves the
        library. Proposals satisfy the model's physics. This model does not change.

        Parameters
        ----------
        X, y, t, u
            the data, as for `fit`.
        atoms
            additional formulas.
        functions_of_time
            whether oscillations and trends in time are candidates.
        minutes
            time limit in minutes. The search then returns the best proposals so far.

        Returns
        -------
        found
            an `Explanation`. `.proposals` are ranked formulas with their evidence, and `.accept(i)`
            returns a new model with the terms of proposal i.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> x = np.random.default_rng(0).uniform(-2, 2, (300, 1))
        >>> model = og.OrthoReg(og.Polynomial(1), og.Zero()).fit(x, -x + 0.5 * np.sin(3 * x))
        >>> found = model.explain(x, -x + 0.5 * np.sin(3 * x))
        >>> found.proposals[0].formula, found.accept(0).equations()
        ('sin(3*x0)', ["x0' = -1.000 x0 + 0.5000 sin(3*x0)"])
        """
        check_is_fitted(self)
        from .explaining import explanation_of

        return explanation_of(self, X, y, t, u, atoms, minutes, functions_of_time)

    def knowledge(self) -> Knowledge:
        """Return the prior knowledge on coefficients, as constraints.

        Returns
        -------
        knowledge
            `.fixed` marks the given coefficients, and `.values` contains their values.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 121)
        >>> model = og.OrthoReg("poly(1)", og.Zero()).fit(np.exp(-t)[:, None], t=t)
        >>> bool(model.knowledge().fixed.any())
        False
        """
        check_is_fitted(self)
        assert self.fit_.knowledge is not None
        return self.fit_.knowledge

    def _knowledge(self, features: FeatureMap, columns: Columns) -> Knowledge:
        """Return the prior knowledge on coefficients for these terms and columns."""
        schema, outputs = columns.schema, columns.outputs
        given = {
            outputs.index(position): schema.state_names.index(velocity)
            for position, velocity in dict(schema.velocity_of).items()
        }
        recipe = self.recipe()
        if recipe.physics is None:
            return with_rates(Knowledge.none(features.mask.shape), features, given)
        clock = features.variables.index(schema.time_input) if schema.time_input else None
        return knowledge_of(recipe, features.variables, outputs, given, clock)

    # -- use -----------------------------------------------------------------------------

    def predict(self, X: Any, u: Any = None) -> np.ndarray:
        """Return the derivatives at the given states, or the next states of a map.

        Parameters
        ----------
        X
            states (N, n), a frame with their names, or a `Dataset`.
        u
            inputs (N, m), if the model has inputs and `X` does not contain them.

        Returns
        -------
        values
            derivatives or next states (N, n), in the order of `output_names_`.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 121)
        >>> model = og.OrthoReg("poly(1)", og.Zero()).fit(np.exp(-t)[:, None], t=t)
        >>> model.predict([[2.0], [3.0]]).round(3).tolist()
        [[-2.0], [-3.0]]
        """
        if not hasattr(self, "field_"):
            check_is_fitted(self)  # this check takes longer than the prediction of one row
        return self._shaped(self.field_.values(known_variables(self, X, u)))

    def decompose(self, X: Any, u: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the two parts of `predict(X, u)`.

        Parameters
        ----------
        X, u
            states and inputs, as for `predict`.

        Returns
        -------
        symbolic, neural
            contributions of the equations and of the residual, (N, n) each.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 121)
        >>> model = og.OrthoReg("poly(1)", og.Zero()).fit(np.exp(-t)[:, None], t=t)
        >>> symbolic, neural = model.decompose([[2.0]])
        >>> symbolic.round(3).tolist(), neural.tolist()
        ([[-2.0]], [[0.0]])
        """
        check_is_fitted(self)
        variables = known_variables(self, X, u)
        field = self.field_
        return self._shaped(field.symbolic(variables)), self._shaped(field.neural(variables))

    def distance(self, X: Any, u: Any = None) -> np.ndarray:
        """Return the distance of each state from the training data, in units of the gate.

        Parameters
        ----------
        X, u
            states and inputs, as for `predict`.

        Returns
        -------
        distance
            distances (N,): 1 at the edge of the training data, smaller inside.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 121)
        >>> model = og.OrthoReg("poly(1)").fit(np.exp(-t)[:, None], t=t)
        >>> (model.distance([[0.5], [5.0]]) > 1).tolist()
        [False, True]
        """
        check_is_fitted(self)
        if self.field_.region is None:
            raise InputError(
                "Only models with a gate can measure distance; fit a model with gate=Gate()."
            )
        return self.field_.region.distance(known_variables(self, X, u))

    def _shaped(self, values: np.ndarray) -> np.ndarray:
        return values[:, 0] if self._columns.target_is_flat else values

    def score(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, t: Any = None, u: Any = None
    ) -> float:
        """Return R^2 of the predicted derivatives (next states for a map), averaged over learned
        equations.

        Parameters
        ----------
        X, y, t, u
            data, as for `fit`.
        sample_weight
            weights of the rows, if `X` and `y` are arrays.

        Returns
        -------
        r2
            1 for perfect predictions, 0 for predictions of the mean.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 121)
        >>> model = og.OrthoReg("poly(1)", og.Zero()).fit(np.exp(-t)[:, None], t=t)
        >>> round(model.score(3 * np.exp(-t)[:, None], t=t), 3)
        1.0
        """
        import_cleanly("sklearn.metrics")
        from sklearn.metrics import r2_score

        check_is_fitted(self)
        data = known_dataset(self, X, y, t, u)
        if data is not None:
            learned = self.learned_equations()
            targets, found = (
                values[:, learned] for values in (self.target_derivatives(data), self.predict(data))
            )
            return float(r2_score(targets, found, sample_weight=sample_weight))
        return float(r2_score(y, self.predict(X, u), sample_weight=sample_weight))

    def per_run(self, data: Dataset) -> dict[str, dict[str, tuple[float, float, float]]]:
        """Return the constants that differ between runs.

        Parameters
        ----------
        data
            runs of the fit or new runs. A run with few rows gets a value near the median over the
            runs of the fit.

        Returns
        -------
        constants
            for each name and run label, the value and the ends of its 95% interval.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 3, 61)
        >>> data = og.Dataset.from_arrays([np.exp(-k * t)[:, None] for k in (1, 2)], t, names=["x"])
        >>> physics = og.Physics(equations={"x": "-k*x"}, per_run=["k"])
        >>> model = og.OrthoReg(physics=physics).fit(data)
        >>> {run: round(k[0], 3) for run, k in model.per_run(data)["k"].items()}
        {'0': 1.0, '1': 2.0}
        """
        check_is_fitted(self)
        data = in_states_of(self, data)
        first = data.offsets[:-1]
        std = np.zeros_like(data.states) if data.state_std is None else data.state_std
        result = {}
        for constant in self.schema_.per_run:
            j = data.state_names.index(constant.name)
            values, reach = data.states[first, j], limits.NORMAL_95 * std[first, j]
            ends = np.exp(np.outer(reach / values, (-1, 1))) if constant.is_log else None
            low, high = (values - reach, values + reach) if ends is None else values * ends.T
            rows = zip(values.tolist(), low.tolist(), high.tolist(), strict=True)
            result[constant.name] = dict(zip(data.labels, rows, strict=True))
        return result

    def target_derivatives(self, data: Dataset) -> np.ndarray:
        """Return the derivatives with which the model's loss compares predictions, or the next
        states of a map.

        Parameters
        ----------
        data
            runs.

        Returns
        -------
        derivatives
            measured or estimated derivatives (N, n), or next states of a map. The last row of a run
            has no next state; its value is the model's prediction.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 121)
        >>> data = og.Dataset.from_arrays(np.exp(-t)[:, None], t)
        >>> model = og.OrthoReg("poly(1)", og.Zero()).fit(data)
        >>> bool(abs(model.target_derivatives(data) + data.states).max() < 1e-3)
        True
        """
        check_is_fitted(self)
        loss = self.recipe().loss
        return loss.derivatives(in_states_of(self, data), self.field_.values)

    def simulate(
        self,
        x0: Any = None,
        t: Any = None,
        u: Any = None,
        *,
        from_data: Dataset | None = None,
        interpolation: Any = None,
        history: Any = None,
        throw: bool = False,
        rtol: float = 1e-8,
    ) -> Rollout:
        """Return the trajectory from one initial state, or from several at once.

        Parameters
        ----------
        x0
            state at the first time, (n,), or several states, (B, n). Omit it if `from_data` is
            given.
        t
            increasing times, (T,); for a map, multiples of its step after the first one.
        u
            inputs: their values at `t`, (T, m) or (B, T, m); a function of time that returns m
            values; or a pandas Series or frame indexed by time.
        from_data
            one run of past samples, from which the state at the first time is estimated, with
            hidden states and constants per run, as in `forecast`. The first time must lie within
            the run; without inputs, it may be later. Delayed inputs are read from its past inputs.
        interpolation
            interpolation of inputs between samples, for all inputs or as a dict by input: "cubic"
            (a smooth curve), "linear" or "hold" (the last value). `input_interpolation_` if None.
        history
            for models with delayed states, the states before the first time: a `Dataset` of one
            run, or a function of time that returns n values. If None, the history is `from_data`
            or, without it, constant at `x0`. Sampled inputs are constant before their first time.
        throw
            whether to raise an error if a rollout does not complete.
        rtol
            relative tolerance of the integration.

        Returns
        -------
        rollout
            a `Rollout` with states `.x` (T, n) or (B, T, n). Divergence does not raise an error:
            `.status` states how the rollout ended, `.stopped_at` when, and `.message` where, with
            the dominant term. With a gate, `.left_at` is the first of the times `t` at which the
            state is outside the training data. `.reliable_until` is the time after which a chaotic
            system cannot be predicted, if it is before the last time.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 121)
        >>> model = og.OrthoReg("poly(1)", og.Zero()).fit(np.exp(-t)[:, None], t=t)
        >>> forecast = model.simulate([2.0], [0.0, 1.0, 2.0])
        >>> forecast.status, forecast.x[:, 0].round(3).tolist(), forecast.left_at
        (<Status.completed: 'completed'>, [2.0, 0.736, 0.271], 0.0)
        """
        check_is_fitted(self)
        self._check_equations()
        rollout = simulated(
            self, x0, t, u, from_data=from_data, interpolation=interpolation, history=history,
            rtol=rtol,
        )  # fmt: skip
        if throw:
            rollout.raise_unless_completed()
        return rollout

    def forecast(
        self, data: Dataset, *, interpolation: Any = None, rtol: float | None = None
    ) -> list[Rollout]:
        """Simulate each run from its first row, at its times and with its inputs.

        Parameters
        ----------
        data
            runs. For a noisy run, the initial state is the one whose trajectory best fits the first
            rows: a tenth of the rows, at least 10 and at most 50, or all rows if there are hidden
            states. With delayed variables, a run starts at its first row with a history, and the
            history comes from the data.
        interpolation
            interpolation of inputs, as in `simulate`.
        rtol
            relative tolerance of the integration: by default 1e-8, or 1e-6 for noisy runs.

        Returns
        -------
        rollouts
            one rollout per run.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 121)
        >>> data = og.Dataset.from_arrays([np.exp(-t)[:, None], 2 * np.exp(-t)[:, None]], t)
        >>> model = og.OrthoReg("poly(1)", og.Zero()).fit(data)
        >>> [round(float(one.x[20, 0]), 3) for one in model.forecast(data)]
        [0.368, 0.736]
        """
        check_is_fitted(self)
        self._check_equations()
        return forecasts_of(self, data, interpolation, rtol)

    # -- summary -------------------------------------------------------------------------

    @one_thread()
    def _convert_summary(self, other: "AbstractModel") -> None:
        from ..findings._summarize import in_units_of

        if self._summary is not None:
            other._summary = in_units_of(self._summary, self._subject(), other._subject())

    def summary(
        self,
        X: Any = None,
        y: Any = None,
        *,
        t: Any = None,
        u: Any = None,
        forecasts: Sequence[Rollout] | None = None,
    ) -> Summary:
        """Return a summary of the model on these data, with advice on next steps.

        Print the summary, or use `.verdict`, `.advice`, `.scores`, `.terms` and `.to_dict()`. At
        most 256 runs are forecast.

        Parameters
        ----------
        X, y, t, u
            data, as for `fit`. Without data, the latest summary is returned, which model files
            contain too, or a summary of the fit if there is none.
        forecasts
            forecasts of `orthoreg.findings.forecast_sample(data)`, if already computed.

        Returns
        -------
        summary
            the findings as plain data.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 20, 400)
        >>> x = np.cos(t)[:, None]  # the velocity is missing
        >>> summary = og.OrthoReg(og.Polynomial(1)).fit(x, t=t).summary(x, t=t)
        >>> summary.verdict.code, [one.code for one in summary.advice]
        ('not-explained', ['second-order', 'explain'])
        """
        from ..findings import forecast_sample
        from ..findings._summarize import summarize

        check_is_fitted(self)
        if X is None:
            return self._summary or summarize(self._subject())
        data = known_dataset(self, X, y, t, u)
        rows = None
        known_variables(self, X if data is None else data, u if data is None else None)
        if data is None:
            rows, _ = training_rows(self, self.recipe().loss, X, y, t, u)
        elif forecasts is None and self.output_names_ == self.state_names_:
            forecasts = self.forecast(forecast_sample(data))
        found = summarize(self._subject(), data, rows, forecasts)
        if isinstance(X, ChunkedDataset):
            notes = (*found.notes, *(note.text for note in X.notes if note.code == "chunked"))
            found = replace(found, runs=X.n_runs, samples=X.n_samples, notes=notes)
        if data is not None and data.derivatives is None:
            from .measuring import with_next_runs

            found = with_next_runs(self, data, found)
        self._summary = found
        return found

    # -- files ---------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to an `.orthoreg` file, which contains JSON and arrays but no code.

        The file includes the latest summary and, if a selection chose the terms, their intervals
        and probabilities.

        Parameters
        ----------
        path
            path of the file; an existing file is replaced. Read it with `orthoreg.load`.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 121)
        >>> model = og.OrthoReg("poly(1)", og.Zero()).fit(np.exp(-t)[:, None], t=t)
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/decay.orthoreg")
        ...     og.load(f"{folder}/decay.orthoreg").equations()
        ["x0' = -1.000 x0"]
        """
        check_is_fitted(self)
        write_model(path, *model_parts(self, self.fit_, self._summary))

    @classmethod
    def _loaded(cls, manifest: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        model = cls(**model_params(manifest, cls._get_param_names()))
        fit, columns, accepted = restored(manifest, arrays)
        model._learn(fit, columns)
        model.fit_ = replace(model.fit_, accepted=accepted)
        from ..findings._summarize import with_fit

        stored = restored_summary(manifest)
        model._summary = None if stored is None else with_fit(stored, model._subject())
        return model
