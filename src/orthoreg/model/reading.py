"""`AbstractReading`: what a fitted model says of itself, as text and as plain data."""

import abc
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import export
from .._common.html import escape, html_lines
from .._common.scikit import check_is_fitted
from ..diagnostics import Certificate
from ..fitting import Recipe
from ..losses import AbstractLoss
from ..matching import Correlation, Refinement, Uncertainty
from ..physics import Knowledge, constant_functions
from ..search.rows import SelectionResult
from ..solving import Training
from ..terms import quote_name
from .exporting import AbstractExports


class AbstractReading(AbstractExports):
    """Equations, and what is known of their terms and constants: intervals, probabilities."""

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
        """The loss that made rows of the data, with what it decided on them; None in a model from
        a file."""
        return self._columns.loss

    @property
    def input_interpolation_(self) -> dict[str, str]:
        return dict(self._columns.interpolation)

    @abc.abstractmethod
    def recipe(self) -> Recipe:
        """The parts; refuses those that are none."""

    def equations(self, precision: int = 4) -> list[str]:
        """The equations as people read them.

        Parameters
        ----------
        precision
            significant digits of coefficients.

        Returns
        -------
        lines
            one per equation; '+ residual' where the network adds something, '(given)' after what
            was, '(told: ...)' where a network was drawn towards a known equation. One of second
            order is one line: "theta'' = -1.000 sin(theta)".

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
            self.field_, self.output_names_, precision, self.velocity_of_, known.fixed,
            self._written(known, precision),
        )  # fmt: skip
        told = dict(getattr(self.recipe().loss, "known", ()))  # what a network was drawn towards
        names = [self.output_names_[c] for c in self._printed_equations()]
        return [
            f"{line} (told: {told[name]})" if name in told else line
            for line, name in zip(lines, names, strict=True)
        ]

    def _written(self, known: Knowledge, precision: int) -> dict[int, str]:
        """Equations with several derivatives, with the constants that were estimated."""
        export.check_precision(precision)
        rates = export.equation_names(self.output_names_, self.velocity_of_)
        names = [quote_name(name) for name in self.field_.features.variables]
        names += [f"{name}'" for name in rates]
        lines: dict[int, str] = {}
        for system in known.systems:
            lines |= system.lines(self.parameters_, names, precision)
        return lines

    def _printed_equations(self) -> list[int]:
        return export.printed_equations(self.output_names_, self.velocity_of_)

    def __str__(self) -> str:
        """The constructor's call and, once fitted, the equations. `repr` is the call alone."""
        return "\n".join([repr(self), *(self.equations() if hasattr(self, "field_") else [])])

    def _html_repr(self) -> str:
        """What a notebook shows: the equations once there are some, and the constructor's call."""
        lines = self.to_mathml() if hasattr(self, "field_") else []
        return f"{html_lines(lines)}<pre>{escape(repr(self))}</pre>"

    def _repr_html_(self) -> str:
        return self._html_repr()

    def learned_equations(self) -> list[int]:
        """The places of the equations that were not given; of those that were, if all were.

        Returns
        -------
        places
            in the order of `output_names_`.

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
        return [c for c in learned if self.output_names_[c] not in given] or learned

    def _subject(self) -> Any:
        """What a summary is made of."""
        from ..findings._summarize import Subject
        from ..losses import Automatic

        recipe, known = self.recipe(), self.knowledge()
        found, estimates = self.fit_.matched, self.fit_.estimates
        return Subject(
            equations=tuple(self.equations()),
            outputs=self.output_names_,
            velocity_of=self.velocity_of_,
            given=self.given_,
            parameters=tuple(
                (name, value, self.parameter_intervals_.get(name))
                for name, value in self.parameters_.items()
            ),
            estimated=self.estimated_,
            field=self.field_.without_idle_basis(),
            library=recipe.library,
            differentiation=getattr(recipe.loss, "differentiation", Automatic()),
            certificate=self.certificate_,
            evidence=self.fit_.evidence,
            is_selected=recipe.selection is not None and not recipe.regularization.sparsity,
            left_out=() if self.selection_ is None else self.selection_.left_out,
            widths=getattr(self.loss_, "widths", None) or (),
            correlations=self.correlations(),
            at_bounds=self._at_bounds(),
            accepted=tuple(f"{one['equation']}': {one['formula']}" for one in self.accepted_),
            refined="" if self.refinement_ is None else self.refinement_.status,
            is_stuck=found is not None and found.kept and found.uncertainty is None,
            knows_noise=estimates is not None and estimates is not self.fit_.uncertainty,
            units=self.units_,
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
        """The states whose equations were given completely, numbers included."""
        check_is_fitted(self)
        names = (self.output_names_[c] for c in self.knowledge().given_equations)
        return tuple(name for name in names if name not in self.velocity_of_)

    @property
    def parameter_intervals_(self) -> dict[str, tuple[float, float]]:
        """The 95% intervals of the constants in `parameters_`, as far as the fit knows them: joint
        intervals, in which all constants are estimated at once, within their bounds."""
        check_is_fitted(self)
        estimates = self.fit_.estimates
        if estimates is None:
            return {}
        found = estimates.parameter_intervals()
        bounds = self._constant_bounds()
        for name, function in self._constant_functions(estimates).items():
            low, high = bounds.get(name, (-np.inf, np.inf))
            ends = np.clip(estimates.interval_of(function), low, high).tolist()
            found[name] = (ends[0], ends[1])
        return {name: found[name] for name in self.parameters_ if name in found}

    def correlations(self) -> tuple[Correlation, ...]:
        """Pairs of estimates that depend on each other.

        Returns
        -------
        pairs
            each with the two names (`first`, `second`) and the correlation (`value`), strongest
            first; only where it is beyond 0.95. A coefficient is called by its equation and term,
            a constant of `parameters_` by its name.

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
        return () if estimates is None else estimates.correlations(self._gradients(estimates))

    def _gradients(self, estimates: Uncertainty) -> list[tuple[str, np.ndarray]]:
        """Of everything that was estimated, under the names that users know."""
        constants = self.knowledge().constants
        named = {(one.equation, one.term) for one in constants}
        units, names = np.eye(len(estimates.values)), self._term_names(estimates)
        found = [
            (name, unit)
            for name, unit, place in zip(names, units, estimates.places, strict=False)
            if place not in named
        ]
        found += zip(estimates.parameters, units[len(names) :], strict=True)
        return found + [
            (name, estimates.gradient(function))
            for name, function in self._constant_functions(estimates).items()
            if name not in estimates.parameters
        ]

    def _constant_functions(self, estimates: Uncertainty) -> dict[str, Any]:
        known = self.knowledge().constants
        return constant_functions(known, self.coefficients_, estimates.places)

    def _constant_bounds(self) -> dict[str, tuple[float, float]]:
        """What is known of constants by their names."""
        physics = self.recipe().physics
        given = () if physics is None else physics.bounds
        return {
            name: (-np.inf if low is None else low, np.inf if high is None else high)
            for name, (low, high) in given
            if isinstance(name, str)
        }

    def _at_bounds(self) -> tuple[str, ...]:
        """The names of the estimates that a bound holds."""
        estimates = self.fit_.estimates
        if estimates is None:
            return ()
        named = {(one.equation, one.term): one.text for one in self.knowledge().constants}
        names = self._term_names(estimates)
        names = [named.get(*pair) for pair in zip(estimates.places, names, strict=True)]
        names += estimates.parameters
        return tuple(dict.fromkeys(names[i] for i in estimates.at_bound()))

    def _term_names(self, estimates: Uncertainty) -> list[str]:
        """What each coefficient is called where it has no name of its own: theta': sin(theta)."""
        labels = export.equation_names(self.output_names_, self.velocity_of_)
        return [f"{labels[c]}': {self.feature_names_[k]}" for c, k in estimates.places]
