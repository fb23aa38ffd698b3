"""`AbstractWorkflow`: methods for the time after a fit, such as linearization and control."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from .. import export
from .._common.errors import InputError, quoted, suggestion
from .._common.scikit import check_is_fitted
from ..data import Dataset, as_numbers
from ..field.hybrid import switching_terms
from .reading import AbstractReading

if TYPE_CHECKING:  # imported when a method is called
    from ..control import Equilibria, LinearModel, Observer
    from ..design import Experiment


class AbstractWorkflow(AbstractReading):
    """Methods that use a fitted model: linear models, equilibria, observers and experiments."""

    def linearize(self, x: Any, u: Any = None) -> "LinearModel":
        """Return the linear model near a state and an input, with intervals.

        The derivatives of equations, residual and gate are exact. Where a term such as sign(v)
        jumps, its slope is taken as zero.

        Parameters
        ----------
        x
            state: n values, or a dict by name.
        u
            input: m values, or a dict by name. Omit it if the model has no inputs.

        Returns
        -------
        linear
            a `LinearModel` with matrices `.A`, `.B`, `.C`, `.D`, their intervals `.A_interval` and
            `.B_interval`, and `.rate`, the derivative of the state at this point. The outputs are
            the measured states. `.to_scipy()` and `.to_control()` convert the model.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 121)
        >>> states = np.column_stack([np.cos(t), -np.sin(t)])
        >>> model = og.OrthoReg("poly(1)", og.Zero()).fit(states, t=t)
        >>> A, B, C, D = model.linearize([0.0, 0.0])
        >>> A.round(3).tolist()
        [[0.0, 1.0], [-1.0, 0.0]]
        """
        from ..control import linearize, refuse_delays, refuse_time, vector

        check_is_fitted(self)
        self._check_closed("linearize()")
        schema = self.schema_
        refuse_delays(schema, "linearize()")
        refuse_time(schema, "linearize()")
        state = vector(x, schema.state_names, "x")
        inputs = vector(u, schema.measured_inputs, "u")
        return linearize(self.field_, schema, state, inputs, self.fit_.estimates)

    def equilibria(
        self, ranges: Mapping[str, tuple[float, float]] | None = None, u: Any = None
    ) -> "Equilibria":
        """Return the equilibria inside a box of states, with their stability.

        Newton's method starts from many points that are spread evenly over the box. The equilibria
        of a map are its fixed points.

        Parameters
        ----------
        ranges
            lowest and highest value of each state, by name: {"theta": (-4, 4)}. The default is the
            range of each state in the training data.
        u
            constant input: m values, or a dict by name. Omit it if the model has no inputs.

        Returns
        -------
        equilibria
            a sequence of `Equilibrium`, each with `.x`, `.eigenvalues`, `.stability` ("stable",
            "unstable" or "undecided"), `.kind` in words, `.interval` with the interval of each
            state, and `.inside`, which is true within the training data.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> x = np.linspace(-2, 2, 200)[:, None]
        >>> model = og.OrthoReg("poly(3)", og.Zero()).fit(x, x - x**3)
        >>> [(round(float(point.x[0]), 3), point.kind) for point in model.equilibria()]
        [(-1.0, 'stable node'), (0.0, 'unstable node'), (1.0, 'stable node')]
        """
        from ..control import find_equilibria, refuse_delays, refuse_time, vector

        check_is_fitted(self)
        self._check_closed("equilibria()")
        schema = self.schema_
        refuse_delays(schema, "equilibria()")
        refuse_time(schema, "equilibria()")
        jumps = switching_terms(self.field_)
        if jumps:
            raise InputError(
                f"equilibria() needs equations without jumps, but the model contains {jumps[0]}. A "
                "model with jumps can be at rest in whole ranges of states. Simulate it to see "
                "where it stops."
            )
        box = self._box(ranges)
        inputs = vector(u, schema.measured_inputs, "u")
        return find_equilibria(
            self.field_, schema, box, inputs, self.fit_.estimates, self.state_range_
        )

    def observer(
        self, data: Dataset | None = None, *, noise: Any = None, disturbance: Any = None
    ) -> "Observer":
        """Return an extended Kalman filter, which estimates all states from the measured ones.

        Before the first measurement, the mean of each state is the middle of the training data, and
        its standard deviation is half their range.

        Parameters
        ----------
        data
            runs of measured states and inputs. Noise and disturbance that are not given are
            estimated from these runs.
        noise
            standard deviations of the measured states, in order or as a dict by name. By default,
            they are estimated from `data` or taken from the fit.
        disturbance
            standard deviation of a random change of each state, per square root of time (per step
            for a map), in order or as a dict by name. By default, the likelihood of `data` is
            maximized. Without data, the disturbance is zero and the equations are treated as exact.

        Returns
        -------
        observer
            an `Observer`: `.update(y, u, dt)` takes one measurement and returns the state, and
            `.filter(data)` estimates the states of runs.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 20, 401)
        >>> rng = np.random.default_rng(0)
        >>> q = np.cos(t) + 0.05 * rng.standard_normal(401)
        >>> data = og.Dataset.from_positions(q, t, names=["q"])
        >>> observer = og.OrthoReg("poly(1)", og.Zero()).fit(data).observer(data)
        >>> for measured in q:  # the velocity is not measured
        ...     state = observer.update(measured, dt=0.05)
        >>> bool(np.abs(state - [np.cos(20), -np.sin(20)]).max() < 0.05)
        True
        """
        from .. import control

        check_is_fitted(self)
        self._check_closed("observer()")
        schema = self.schema_
        control.refuse_delays(schema, "observer()")
        control.refuse_time(schema, "observer()")
        names, kinds = schema.measured_states, self.input_interpolation_
        measured = [schema.state_names.index(name) for name in names]
        default = self._noise_of(data)
        if noise is None and default is None:
            raise InputError(
                f"observer() needs the noise of {quoted(names)}: give noise=..., or data=... from "
                f"which to estimate it."
            )
        default = np.zeros(len(names)) if default is None else default
        stds = control.stds_by_name(default if noise is None else noise, names, "noise", default)
        floor = control.MIN_NOISE * (self.state_range_[1] - self.state_range_[0])
        zero = np.zeros(len(schema.state_names))
        kalman = control.Filter(
            self.field_, tuple(measured), np.maximum(stds, floor[measured]), zero,
            control.prior_of(schema, self.state_range_), schema.discrete,
        )  # fmt: skip
        if disturbance is not None:
            given = control.stds_by_name(disturbance, schema.state_names, "disturbance", zero)
            kalman = replace(kalman, disturbance=given**2)
        elif data is not None:
            size = self.state_range_[1] - self.state_range_[0]
            kalman = replace(
                kalman,
                disturbance=control.likely_disturbance(kalman, data, schema, kinds, size),
            )
        return control.Observer(kalman, schema, kinds)

    def _noise_of(self, data: Dataset | None) -> np.ndarray | None:
        """Return the noise of the measured states, estimated from `data` if given or else by the
        fit.
        """
        names = self.schema_.measured_states
        if data is not None:
            missing = [name for name in names if name not in data.state_names]
            if missing:
                raise InputError(
                    f"The data need the columns {quoted(missing)} of the model; they have "
                    f"{quoted(data.state_names)}."
                )
            return data.plan.noise[[data.state_names.index(name) for name in names]]
        matched = self.fit_.matched
        if matched is None or matched.noise is None:
            return None
        noise = matched.noise[[self.state_names_.index(name) for name in names]]
        return noise if np.isfinite(noise).all() else None

    def next_experiment(
        self,
        starts: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        *,
        runs: int = 3,
        horizon: float = 10.0,
        step: float = 0.05,
        goal: str = "constants",
        **options: Any,
    ) -> "Experiment":
        """Return the runs to record next: the most informative initial states and input signals.

        Parameters
        ----------
        starts
            allowed range of each initial state, by name: {"theta": (-2, 2)}. Without a range, the
            velocity of a position starts at zero, and any other state starts in the middle of the
            data.
        inputs
            allowed range of each input, by name: {"u": (-1, 1)}. The bandwidth (highest frequency
            in cycles per time) and the rate (largest change per time) may be limited as well:
            {"u": {"range": (-1, 1), "bandwidth": 0.5, "rate": 2}}. Signals are multisines and
            steps, or ramps if the rate is limited. (-1, 1, 0.5) is short for a range and a
            bandwidth.
        runs
            number of runs.
        horizon, step
            duration of a run, and time between its rows.
        goal
            "constants": intervals become as narrow as possible (D-optimal). "rivals": the model and
            its rivals differ as much as possible, whatever their constants (T-optimal). "coverage":
            the runs are as far as possible from the training data.
        options
            `rivals`: other models, for the goal "rivals". `ranges`: allowed range of each state
            during the runs. `noise`: standard deviations of the noise of the measured states, by
            default those of the fit. `seed`: seed of the candidate signals.

        Returns
        -------
        experiment
            an `Experiment` with `.starts` and `.inputs`, the `.expected_shrinkage` of each interval
            or the `.separation` of the models, and `.to_csv(path)`.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 121)
        >>> noise = 0.02 * np.random.default_rng(0).standard_normal(121)
        >>> data = og.Dataset.from_arrays((np.exp(-t) + noise)[:, None], t, names=["x"])
        >>> model = og.OrthoReg("poly(1)", og.Zero()).fit(data)
        >>> next_runs = model.next_experiment({"x": (0, 5)}, runs=1, horizon=6)
        >>> next_runs.starts.round(1).tolist(), next_runs.expected_shrinkage["x': x"] < 0.3
        ([[5.0]], True)
        """
        from .designing import Request, next_experiment

        check_is_fitted(self)
        self._check_closed("next_experiment()")
        unknown = [name for name in options if name not in ("rivals", "ranges", "noise", "seed")]
        if unknown:
            raise InputError(
                f"next_experiment() has no argument '{unknown[0]}'."
                f"{suggestion(unknown[0], ('rivals', 'ranges', 'noise', 'seed'))}"
            )
        request = Request(starts or {}, inputs or {}, runs, horizon, step, goal, **options)
        return next_experiment(cast(Any, self), request)

    def to_casadi(self) -> export.CasadiModel:
        """Return the model as CasADi functions, including the residual, for optimal control.

        Returns
        -------
        model
            a `CasadiModel`: `.f(x, u)` returns the derivatives or the next state, `.trust(x, u)` is
            at most zero within the training data, and `.integrator(step)` returns a function that
            advances the flow by one step. Requires the extra `casadi`.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 121)
        >>> model = og.OrthoReg("poly(1)", og.Zero()).fit(np.exp(-t)[:, None], t=t)
        >>> round(float(model.to_casadi().f([2.0], [])), 3)  # doctest: +SKIP
        -2.0
        """
        check_is_fitted(self)
        self._check_closed("to_casadi()")
        return export.to_casadi(
            self.shown_field(), len(self.state_names_), self.fit_.range, self.schema_.step
        )

    def _box(self, ranges: Mapping[str, tuple[float, float]] | None) -> np.ndarray:
        """Return the lowest and highest values of the states, by default those of the training
        data.
        """
        names, box = self.state_names_, np.array(self.state_range_, dtype=float)
        for name, ends in (ranges or {}).items():
            if name not in names:
                raise InputError(
                    f"ranges has '{name}', which is not a state.{suggestion(name, names)} "
                    f"The states are {quoted(names)}."
                )
            pair = as_numbers(ends, f"ranges['{name}']")
            if pair.shape != (2,) or not np.isfinite(pair).all() or not pair[0] < pair[1]:
                raise InputError(
                    f"ranges['{name}'] must be a lowest and a larger highest value, such as "
                    f"(-1, 1); got {ends!r}."
                )
            box[:, names.index(name)] = pair
        return box

    def _check_closed(self, who: str) -> None:
        """Raise InputError if a state has no equation."""
        if self.output_names_ != self.state_names_:
            raise InputError(
                f"{who} needs one equation for each of the {len(self.state_names_)} states; "
                f"the model was fitted to {len(self.output_names_)} targets."
            )
