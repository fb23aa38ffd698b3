"""`AbstractReading`: equations and uncertainty of a fitted model, as text and plain data."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import export
from .._common.html import escape, html_lines
from .._common.notation import left_side, next_values
from .._common.scikit import check_is_fitted
from ..data import PURE_NUMBER
from ..diagnostics import Certificate
from ..losses import AbstractLoss
from ..matching import (
    Correlation,
    Refinement,
    Uncertainty,
    Undetermined,
    undetermined_constants,
)
from ..physics import ConstantSystem, Knowledge, constant_functions
from ..search.rows import SelectionResult
from ..solving import Training
from ..terms import quote_name
from .exporting import AbstractExports


class AbstractReading(AbstractExports):
    """The equations of a fitted model, with intervals and correlations of the constants."""

    @property
    def certificate_(self) -> Certificate:
        return self.fit_.certificate

    @property
    def training_(self) -> Training | None:
        return self.fit_.training

    @property
    def selection_(self) -> SelectionResult | None:
        return self.fit_.selection

    @property
    def refinement_(self) -> Refinement | None:
        return self.fit_.refinement

    @property
    def accepted_(self) -> tuple[Mapping[str, Any], ...]:
        """The proposals of `explain` that were accepted."""
        return self.fit_.accepted

    @property
    def loss_(self) -> AbstractLoss | None:
        """The loss of the fit with the choices it made for the data, or None if the model is from a
        file.
        """
        return self._columns.loss

    @property
    def input_interpolation_(self) -> dict[str, str]:
        return dict(self._columns.interpolation)

    def equations(self, precision: int = 4) -> list[str]:
        """Return the equations as text.

        Parameters
        ----------
        precision
            significant digits of coefficients.

        Returns
        -------
        lines
            one line per equation, with '+ residual' if the network contributes, '(given)' for given
            equations, and '(trained towards: ...)' for a network trained towards a known equation.
            A second-order equation is a single line: "theta'' = -1.000 sin(theta)". The unit of a
            coefficient follows its number if it is known: "theta'' = -1.000 [rad/s²] sin(theta)".

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 121)
        >>> model = og.OrthoReg("poly(1)", og.Zero()).fit(np.exp(-t)[:, None], t=t)
        >>> model.equations(), model.equations(2)
        (["x0' = -1.000 x0"], ["x0' = -1.0 x0"])
        """
        check_is_fitted(self)
        known = self.knowledge()
        lines = export.equations(
            self._printed_field(precision), self.output_names_, precision, self.velocity_of_,
            known.fixed, self._written(known, precision), discrete=self.schema_.discrete,
            units=self.coefficient_units_,
        )  # fmt: skip
        told = dict(
            getattr(self.recipe().loss, "known", ())
        )  # equations towards which a network is trained
        names = [self.output_names_[c] for c in self._printed_equations()]
        return [
            f"{line} (trained towards: {told[name]})" if name in told else line
            for line, name in zip(lines, names, strict=True)
            if name not in self.schema_.per_run_names
        ]

    def _left_of(self, output: str) -> str:
        """Return the left side of the equation for an output."""
        return left_side(next_values([output])[0] if self.schema_.discrete else output)

    def _written(self, known: Knowledge, precision: int) -> dict[int, str]:
        """Return the equations with several derivatives as text, with their estimated constants."""
        export.check_precision(precision)
        rates = self.equation_labels()
        names = [quote_name(name) for name in self.shown_field(precision).features.variables]
        names += [left_side(name) for name in rates]
        lines: dict[int, str] = {}
        units = self.coefficient_units_ if known.systems else None
        unit_of = None if units is None else units.of_product
        for system in known.systems:
            lines |= system.lines(self.printed_constants(), names, precision, unit_of)
        return lines

    def _printed_equations(self) -> list[int]:
        return export.printed_equations(self.output_names_, self.velocity_of_)

    def __str__(self) -> str:
        """Return the constructor call and, after a fit, the equations."""
        return "\n".join([repr(self), *(self.equations() if hasattr(self, "field_") else [])])

    def _html_repr(self) -> str:
        """Return the equations (after a fit) and the constructor call as HTML."""
        lines = self.to_mathml() if hasattr(self, "field_") else []
        return f"{html_lines(lines)}<pre>{escape(repr(self))}</pre>"

    def _repr_html_(self) -> str:
        return self._html_repr()

    def learned_equations(self) -> list[int]:
        """Return the indices of the learned equations, or of all equations if all are given.

        Returns
        -------
        indices
            indices into `output_names_`.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 121)
        >>> physics = og.Physics(equations={"x0": "x1"})
        >>> states = np.column_stack([np.sin(t), np.cos(t)])
        >>> og.OrthoReg("poly(1)", og.Zero(), physics=physics).fit(states, t=t).learned_equations()
        [1]
        """
        given = self.given_
        learned = export.learned_equations(self.output_names_, self.velocity_of_)
        constants = self.schema_.per_run_names
        learned = [c for c in learned if self.output_names_[c] not in constants]
        return [c for c in learned if self.output_names_[c] not in given] or learned

    def _subject(self) -> Any:
        """Return the parts of the model that a summary needs."""
        from ..field import Zero
        from ..findings._subject import Subject
        from ..losses import Automatic
        from .estimator import OrthoReg

        recipe, known = self.recipe(), self.knowledge()
        matched, estimates = self.fit_.matched, self.fit_.estimates
        return Subject(
            equations=tuple(self.equations()),
            outputs=self.output_names_,
            discrete=self.schema_.discrete,
            velocity_of=self.velocity_of_,
            given=self.given_,
            parameters=tuple(
                (name, value, self.parameter_intervals_.get(name))
                for name, value in self.parameters_.items()
            ),
            estimated=self.estimated_,
            field=self.field_.without_idle_basis(),
            recipe=OrthoReg(
                None if recipe.library_is_default else recipe.library,
                Zero(),
                physics=recipe.physics,
                seed=recipe.seed,
            ).recipe(),
            differentiation=getattr(recipe.loss, "differentiation", Automatic()),
            certificate=self.certificate_,
            evidence=self.fit_.evidence,
            is_selected=recipe.selection is not None and not recipe.regularization.sparsity,
            left_out=() if self.selection_ is None else self.selection_.left_out,
            widths=getattr(self.loss_, "widths", None) or (),
            correlations=self.correlations(),
            at_bounds=self._at_bounds(),
            hidden=self.schema_.hidden,
            per_run=self.schema_.per_run,
            starts=known.starts,
            undetermined=self.undetermined_,
            accepted=tuple(
                f"{self._left_of(proposal['equation'])}: {proposal['formula']}"
                for proposal in self.accepted_
            ),
            refined="" if self.refinement_ is None else self.refinement_.status,
            is_stuck=matched is not None and matched.kept and matched.uncertainty is None,
            knows_noise=estimates is not None and estimates is not self.fit_.uncertainty,
            units=self.units_,
            coefficient_units=self.coefficient_units_,
            paths=() if self.selection_ is None else self.selection_.paths,
            fixed=known.given,
            complete=known.complete,
            systems=known.systems,
            interpolation=self.input_interpolation_
            if self.output_names_ == self.state_names_
            else None,
        )

    @property
    def given_(self) -> tuple[str, ...]:
        """The states whose equations are given completely, including all numbers."""
        check_is_fitted(self)
        names = (self.output_names_[c] for c in self.knowledge().given_equations)
        return tuple(name for name in names if name not in self.velocity_of_)

    @property
    def parameter_intervals_(self) -> dict[str, tuple[float, float]]:
        """The 95% intervals of the constants in `parameters_`, if the fit determines them. All
        constants are estimated jointly, within their bounds."""
        check_is_fitted(self)
        estimates = self.fit_.estimates
        if estimates is None:
            return {}
        intervals = estimates.parameter_intervals()
        bounds = self._constant_bounds()
        for name, function in self._constant_functions(estimates).items():
            low, high = bounds.get(name, (-np.inf, np.inf))
            interval = np.clip(estimates.interval_of(function), low, high).tolist()
            intervals[name] = (interval[0], interval[1])
        if self.undetermined_ is not None:
            nothing = dict.fromkeys(self.undetermined_.constants, (-np.inf, np.inf))
            intervals |= {name: ends for name, ends in nothing.items() if name in intervals}
        return {name: intervals[name] for name in self.parameters_ if name in intervals}

    def correlations(self) -> tuple[Correlation, ...]:
        """Return pairs of strongly correlated estimates.

        Returns
        -------
        pairs
            pairs of names (`first`, `second`) with a correlation (`value`) above 0.95, strongest
            first. A coefficient is named by its equation and term, a constant in `parameters_` by
            its own name.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> rng = np.random.default_rng(0)
        >>> x = rng.uniform(9, 11, (200, 1))  # far from zero: an offset and a slope look alike
        >>> y = 9 - x + 0.1 * rng.standard_normal((200, 1))
        >>> model = og.OrthoReg("poly(1)", og.Zero()).fit(x, y)
        >>> [(pair.first, pair.second, round(pair.value, 2)) for pair in model.correlations()]
        [("x0': 1", "x0': x0", -1.0)]
        """
        check_is_fitted(self)
        estimates = self.fit_.estimates
        if estimates is None:
            return ()
        free = () if self.undetermined_ is None else self.undetermined_.constants
        named = [pair for pair in self._gradients(estimates) if pair[0] not in free]
        return estimates.correlations(named)

    @property
    def undetermined_(self) -> Undetermined | None:
        """Constants and hidden states of which the data determine only combinations.

        None if the data determine all of them, or if there are no hidden states. `parameters_` has
        NaN for these constants.
        """
        check_is_fitted(self)
        estimates = self.fit_.estimates
        if estimates is None or estimates.undetermined is None:
            return None
        system = ConstantSystem(self.knowledge().constants)
        changes = {
            name: change
            for name, change, place in zip(
                [*self._term_names(estimates), *estimates.parameters],
                estimates.undetermined,
                [*estimates.places, *((-1, -1) for _ in estimates.parameters)],
                strict=True,
            )
            if place not in system.places
        }
        changes |= {
            name: estimates.relative_changes(function)
            for name, function in self._constant_functions(estimates).items()
        }
        states = [self.state_names_[c] for c in estimates.free_states]
        free = zip(estimates.places, estimates.undetermined, strict=False)
        sums = {
            system.text(place): change for place, change in free if place in system.sums(changes)
        }
        return undetermined_constants(
            list(changes), np.array(list(changes.values())), states, system.summed_names(), sums
        )

    def _gradients(self, estimates: Uncertainty) -> list[tuple[str, np.ndarray]]:
        """Return pairs of (public name, gradient) for all estimates."""
        named = set(ConstantSystem(self.knowledge().constants).places)
        units, names = np.eye(len(estimates.values)), self._term_names(estimates)
        gradients = [
            (name, unit)
            for name, unit, index in zip(names, units, estimates.places, strict=False)
            if index not in named
        ]
        gradients += zip(estimates.parameters, units[len(names) :], strict=True)
        return gradients + [
            (name, estimates.gradient(function))
            for name, function in self._constant_functions(estimates).items()
            if name not in estimates.parameters
        ]

    def _printed_units(self, estimates: Uncertainty) -> dict[str, tuple[float, str]]:
        """Return the factor and the unit with which each estimate is printed, by public name.

        The unit is '' if it is unknown or that of a pure number.
        """
        units = self.coefficient_units_
        if units is None:
            return {}
        names = [name for name, _ in self._gradients(estimates)]
        result = {name: (units.factor_of_constant(name), units.of_constant(name)) for name in names}
        for name, (c, k) in zip(self._term_names(estimates), estimates.places, strict=False):
            if name in result:
                result[name] = units.factor(c, k), units.text(c, k)
        return {
            name: (factor, "" if unit == PURE_NUMBER else unit)
            for name, (factor, unit) in result.items()
        }

    def _constant_functions(self, estimates: Uncertainty) -> dict[str, Any]:
        known = self.knowledge().constants
        return constant_functions(known, self.coefficients_, estimates.places)

    def _constant_bounds(self) -> dict[str, tuple[float, float]]:
        """Return the bounds of named constants."""
        physics = self.recipe().physics
        given = () if physics is None else physics.bounds
        return {
            name: (-np.inf if low is None else low, np.inf if high is None else high)
            for name, (low, high) in given
            if isinstance(name, str)
        }

    def _at_bounds(self) -> tuple[str, ...]:
        """Return the names of the estimates at a bound."""
        estimates = self.fit_.estimates
        if estimates is None:
            return ()
        system = ConstantSystem(self.knowledge().constants)
        named = {place: system.text(place) for place in system.places}
        names = self._term_names(estimates)
        names = [named.get(*pair) for pair in zip(estimates.places, names, strict=True)]
        names += estimates.parameters
        return tuple(dict.fromkeys(names[i] for i in estimates.at_bound()))

    def _term_names(self, estimates: Uncertainty) -> list[str]:
        """Return the names of coefficients without a public name, such as theta': sin(theta)."""
        labels = self.equation_labels()
        return [f"{left_side(labels[c])}: {self.feature_names_[k]}" for c, k in estimates.places]
