"""`AbstractReading`: what a fitted model says of itself, as text and as plain data."""

import abc
from dataclasses import replace
from typing import Any

import numpy as np

from . import export
from ._exporting import AbstractExports
from ._html import html_lines
from ._refining import evidence_of_trajectories, matched_for_intervals, shows_noise
from ._scikit import check_is_fitted
from .fitting import Recipe, Runs
from .libraries import quote_name
from .physics import Knowledge, constant_intervals
from .refinement import Refinement
from .selection import SelectionResult, TermEvidence, term_evidence


class AbstractReading(AbstractExports):
    """Equations, and what is known of their terms and constants: intervals, probabilities."""

    units_: dict[str, str]
    estimated_: tuple[str, ...]
    coefficients_: np.ndarray
    parameters_: dict[str, float]
    certificate_: Any
    selection_: SelectionResult | None
    refinement_: Refinement | None
    accepted_: tuple[dict[str, Any], ...]
    _parameter_ends: dict[str, tuple[float, float]]
    _evidence: TermEvidence | None
    _runs: Runs | None = None  # noisy ones, for intervals of a fit that did not follow them
    _matched: Refinement | None = None  # what these say
    _inclusion: Any = None  # how probable trajectories make each term

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
        """What scikit-learn shows in a notebook, under the equations once there are some."""
        from sklearn.utils import estimator_html_repr

        lines = self.to_mathml() if hasattr(self, "field_") else []
        return html_lines(lines) + estimator_html_repr(self)

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
        from .differentiation import Automatic
        from .summary._summarize import Subject

        recipe, known = self.recipe(), self.knowledge()
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
            evidence=self._term_evidence(),
            is_selected=recipe.selection is not None and not recipe.regularization.sparsity,
            left_out=() if self.selection_ is None else self.selection_.left_out,
            widths=getattr(getattr(self, "loss_", None), "widths", None) or (),
            accepted=tuple(f"{one['equation']}': {one['formula']}" for one in self.accepted_),
            refined="" if self.refinement_ is None else self.refinement_.status,
            knows_noise=_knows_noise(self._trajectories()),
            units=self.units_,
            paths=() if self.selection_ is None else self.selection_.paths,
            complete=known.complete,
            systems=known.systems,
        )

    def _term_evidence(self) -> TermEvidence | None:
        """What resamples and trajectories say about the terms, found once; None where no selection
        chose them, and runs are not noisy."""
        if self._evidence is None and self.selection_ is not None:
            self._evidence = term_evidence(self.selection_, self.field_.features)
        if self._evidence is None:
            return evidence_of_trajectories(self, self._trajectories())
        return self._with_noise(self._evidence)

    def _with_noise(self, found: TermEvidence) -> TermEvidence:
        """The evidence with what trajectories say, which know the noise of the measurements."""
        matched = self._trajectories()
        ends = None if matched is None else matched.coefficient_intervals()
        if np.isnan(found.interval).any() and not shows_noise(matched, self.state_range_):
            ends = None  # nor do so few rows show what exact ones leave open
        probability = found.probability if self._inclusion is None else self._inclusion
        interval = found.interval if ends is None else ends
        return replace(found, interval=interval, probability=probability)

    def _trajectories(self) -> Refinement | None:
        """What trajectories say about the constants: where the fit was refined, and else, of noisy
        runs that were kept for it, found once."""
        if self._matched is None and self._runs is not None and self.refinement_ is None:
            self._matched = matched_for_intervals(self, self._runs)
        return self.refinement_ if self._matched is None else self._matched

    @property
    def given_(self) -> tuple[str, ...]:
        """The states whose equations were given completely, numbers included."""
        check_is_fitted(self)
        names = (self.output_names_[c] for c in self.knowledge().given_equations)
        return tuple(name for name in names if name not in self.velocity_of_)

    @property
    def parameter_intervals_(self) -> dict[str, tuple[float, float]]:
        """The 95 % intervals of the constants in `parameters_`, as far as the fit knows them:
        those of refined trajectories, else of resampled runs."""
        check_is_fitted(self)
        evidence, refined = self._term_evidence(), self._trajectories()
        found = dict(self._parameter_ends)
        if evidence is not None:
            known = self.knowledge().constants
            found |= constant_intervals(known, self.coefficients_, evidence.interval)
        ends = None if refined is None else refined.interval()
        if refined is not None and ends is not None:
            inner = ends[len(refined.places) :].tolist()
            pairs = zip(refined.parameters, inner, strict=True)
            found |= {name: (low, high) for name, (low, high) in pairs}
        return {name: found[name] for name in self.parameters_ if name in found}


def _knows_noise(found: Refinement | None) -> bool:
    return found is not None and found.kept
