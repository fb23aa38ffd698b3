"""`AbstractExports`: attributes of a fitted model, and its export to other languages."""

import abc
import math
import os
from collections.abc import Mapping
from contextlib import suppress
from copy import copy
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from .. import export
from .._common.errors import InputError, UnitError, require
from .._common.files import atomic_write
from .._common.scikit import check_is_fitted
from ..data import Schema, checked_conversions, units_of
from ..export import CoefficientUnits, JaxField, units_of_field
from ..field.hybrid import HybridField
from ..fitting import Columns, Fit, Recipe, delays_in_use
from ..matching import Undetermined
from ..physics import Knowledge, constant_values, unit_algebra
from ..terms import UnitAlgebra, parameters_of, rename


class AbstractExports(abc.ABC):
    """Attributes of a fitted model, and methods that export it to other programs."""

    fit_: Fit
    _wanted_units: Mapping[str, str] = MappingProxyType({})  # units to print instead of others

    @abc.abstractmethod
    def recipe(self) -> Recipe:
        """Return the components of the model, or raise an error if any are invalid."""

    @property
    def field_(self) -> HybridField:
        return self.fit_.field

    @property
    def _columns(self) -> Columns:
        assert self.fit_.columns is not None
        return self.fit_.columns

    @property
    def schema_(self) -> Schema:
        return self._columns.schema

    @property
    def output_names_(self) -> tuple[str, ...]:
        return self._columns.outputs

    @property
    def state_range_(self) -> np.ndarray:
        """The minimum and maximum of each state in the training data."""
        return self.fit_.range[:, : len(self.state_names_)]

    @property
    def coefficients_(self) -> np.ndarray:
        return np.asarray(self.field_.coefficients)

    @property
    def feature_names_(self) -> list[str]:
        return list(self.field_.features.names)

    @property
    def support_(self) -> np.ndarray:
        return self.coefficients_ != 0

    @property
    @abc.abstractmethod
    def undetermined_(self) -> Undetermined | None:
        """Constants and hidden states of which the data determine only combinations, or None."""

    @property
    def parameters_(self) -> dict[str, float]:
        """Constants by name: in the used terms, in known equations, and delays.

        The value is NaN if the data do not determine a constant.
        """
        used = self.field_.features.only(np.flatnonzero(self.support_.any(axis=0)).tolist())
        in_use = frozenset().union(*(parameters_of(term) for term in used.terms))
        values = (
            {
                name: value
                for name, value in zip(used.parameters, used.values, strict=True)
                if name in in_use
            }
            | constant_values(self.knowledge().constants, self.coefficients_)
            | self._delay_values()
        )
        free = () if self.undetermined_ is None else self.undetermined_.constants
        return values | {name: math.nan for name in free if name in values}

    def _delay_values(self) -> dict[str, float]:
        """Return the estimated delays of the terms in use."""
        delays = self.schema_.delays
        used = delays_in_use(self.field_, delays)
        return {delay.delay: delay.value for delay in delays if delay.delay in used}

    @property
    def state_names_(self) -> tuple[str, ...]:
        return self.schema_.state_names

    @property
    def input_names_(self) -> tuple[str, ...]:
        return self.schema_.input_names

    @property
    def units_(self) -> dict[str, str]:
        return dict(self.schema_.units)

    @property
    def coefficient_units_(self) -> CoefficientUnits | None:
        """The units of coefficients and constants, or None if no column has a known unit."""
        units = units_of(self.schema_)
        if units is None:
            return None
        algebra = UnitAlgebra(units)
        with suppress(UnitError):  # an older model may have unchecked formulas
            physics = self.recipe().physics
            algebra = unit_algebra(physics, None, self.schema_, self.output_names_) or algebra
        solved = [rate for system in self.knowledge().systems for rate in system.rates]
        return units_of_field(self.field_, self.output_names_, algebra, self._wanted_units, solved)

    def in_units(self, wanted: Mapping[str, str]) -> Self:
        """Return the model with coefficients and constants printed in other units.

        The fitted numbers do not change.

        Parameters
        ----------
        wanted
            printed units by the units that they replace, such as {"rad": "deg"}.

        Returns
        -------
        model
            a copy that shares the fit of this model.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 121)
        >>> units = {"t": "s", "x": "m"}
        >>> data = og.Dataset.from_arrays(np.exp(-t)[:, None], t, names=["x"], units=units)
        >>> model = og.OrthoReg("poly(1)", og.Zero()).fit(data)
        >>> model.equations(), model.in_units({"s": "min"}).equations()
        (["x' = -1.000 [1/s] x"], ["x' = -60.00 [1/min] x"])
        """
        check_is_fitted(self)
        require("pint", "units", "The conversion of units")
        result = copy(self)
        result._wanted_units = checked_conversions(wanted)
        if result.coefficient_units_ is None:
            raise InputError(
                "in_units() needs columns with known units: give them in the header, as in "
                "'theta [rad]', or with units={'theta': 'rad'}."
            )
        self._convert_summary(result)
        return result

    @abc.abstractmethod
    def _convert_summary(self, other: Any) -> None:
        """Convert the latest summary for a copy that prints other units."""

    @property
    def columns_(self) -> dict[str, Any]:
        """The names of the time column and of the group column."""
        return {"time": self.schema_.time_name, "group": self.schema_.group_name}

    @property
    def velocity_of_(self) -> dict[str, str]:
        return dict(self.schema_.velocity_of)

    @property
    def estimated_(self) -> tuple[str, ...]:
        return self.schema_.estimated

    @property
    def clock_(self) -> str:
        """The name of the time input, or '' if there is none."""
        return self.schema_.time_input or ""

    def shown_field(self, precision: int | None = None) -> HybridField:
        """Return the field with the values of delays in the names of variables, such as u(t -
        0.35).

        Parameters
        ----------
        precision
            significant digits of the delays; ten if None.

        Returns
        -------
        field
            `field_`, with other names if the model has delays.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 121)
        >>> model = og.OrthoReg("poly(1)", og.Zero()).fit(np.exp(-t)[:, None], t=t)
        >>> model.shown_field().features.variables
        ('x0',)
        """
        if not self.schema_.delays:
            return self.field_
        if precision is not None:
            export.check_precision(precision)
        shown = {delay.name: delay.shown(precision) for delay in self.schema_.delays}
        features = self.field_.features
        names = tuple(shown.get(name, name) for name in features.variables)
        terms = tuple(rename(term, names) for term in features.terms)
        return replace(self.field_, features=replace(features, variables=names, terms=terms))

    def _printed_field(self, precision: int) -> HybridField:
        """Return the field with the numbers to print, in the requested units."""
        shown, units = self.shown_field(precision), self.coefficient_units_
        return shown if units is None else units.shown(shown)

    def printed_constants(self) -> dict[str, float]:
        """Return the estimated constants in the units in which they are printed.

        Returns
        -------
        values
            values by name, those of `parameters_` unless `in_units` set other units.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 121)
        >>> physics = og.Physics(equations={"x0": "-k*x0"})
        >>> model = og.OrthoReg(physics=physics).fit(np.exp(-t)[:, None], t=t)
        >>> round(model.printed_constants()["k"], 3)
        1.0
        """
        units, values = self.coefficient_units_, self.parameters_
        if units is None:
            return dict(values)
        return {name: value * units.factor_of_constant(name) for name, value in values.items()}

    @abc.abstractmethod
    def knowledge(self) -> Knowledge:
        """Return the prior knowledge on coefficients, as constraints."""

    def equation_labels(self) -> tuple[str, ...]:
        """Return the names of the equations for use in texts.

        Returns
        -------
        labels
            names in the order of `output_names_`: x for x' = ..., theta' for theta'' = ..., x[k+1]
            for a map.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 121)
        >>> og.OrthoReg("poly(1)", og.Zero()).fit(np.exp(-t)[:, None], t=t).equation_labels()
        ('x0',)
        """
        discrete = self.schema_.discrete
        return export.equation_names(self.output_names_, self.velocity_of_, discrete=discrete)

    def to_sympy(self, *, residual: bool = True) -> list[Any]:
        """Return one SymPy expression per equation.

        A residual is a function of all variables, `residual_<name>(...)`.

        To evaluate it with a function f, use `sympy.lambdify(symbols, expression, [{"residual_v":
        f}, "numpy"])`.

        Parameters
        ----------
        residual
            whether to include the residual.

        Returns
        -------
        expressions
            expressions in the order of `output_names_`.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 121)
        >>> model = og.OrthoReg("poly(1)", og.Zero()).fit(np.exp(-t)[:, None], t=t)
        >>> round(float(model.to_sympy()[0].diff("x0")), 3)
        -1.0
        """
        check_is_fitted(self)
        return export.to_sympy(self.shown_field(), self.output_names_, residual=residual)

    def to_latex(self, precision: int = 4) -> list[str]:
        r"""Return one line of LaTeX per equation.

        The residual is written as a function r of all variables.

        Parameters
        ----------
        precision
            significant digits of coefficients.

        Returns
        -------
        lines
            lines in the order of `output_names_`. A second-order equation is a single line.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 121)
        >>> model = og.OrthoReg("poly(1)", og.Zero()).fit(np.exp(-t)[:, None], t=t)
        >>> print(*model.to_latex())
        \dot{x}_{0} = -1.000\,x_{0}
        """
        check_is_fitted(self)
        given = self.knowledge().fixed
        return self._without_constants(export.to_latex(
            self._printed_field(precision), self.output_names_, precision, self.velocity_of_, given,
            discrete=self.schema_.discrete, units=self.coefficient_units_,
        ))  # fmt: skip

    def to_mathml(self, precision: int = 4) -> list[str]:
        """Return one MathML element per equation. The residual is written as a function r.

        Parameters
        ----------
        precision
            significant digits of coefficients.

        Returns
        -------
        elements
            MathML text in the order of `to_latex`.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 121)
        >>> model = og.OrthoReg("poly(1)", og.Zero()).fit(np.exp(-t)[:, None], t=t)
        >>> model.to_mathml()[0][:5]
        '<math'
        """
        check_is_fitted(self)
        given = self.knowledge().fixed
        return self._without_constants(export.to_mathml(
            self._printed_field(precision), self.output_names_, precision, self.velocity_of_, given,
            self._relations(precision), discrete=self.schema_.discrete,
            units=self.coefficient_units_,
        ))  # fmt: skip

    def _without_constants(self, lines: list[str]) -> list[str]:
        """Return the printed equations without those of constants per run, which do not change in
        time.
        """
        printed = export.printed_equations(self.output_names_, self.velocity_of_)
        constants = self.schema_.per_run_names
        names = [self.output_names_[c] for c in printed]
        return [line for line, name in zip(lines, names, strict=True) if name not in constants]

    def _relations(self, precision: int) -> list[export.MathEquation]:
        """Return the equations with several derivatives, typeset as the user wrote them."""
        variables = self.shown_field(precision).features.variables
        outputs = self.output_names_
        return [
            export.math_relation(rate, sides, variables, outputs)
            for system in self.knowledge().systems
            for rate, sides in system.sides(self.printed_constants(), precision).items()
        ]

    @property
    def _words(self) -> export.Wording:
        """The names that exported source code uses."""
        return export.MAP if self.schema_.discrete else export.FLOW

    def _refuse_map(self, method: str) -> None:
        """Raise an error for a map if the export supports only flows."""
        check_is_fitted(self)
        if self.schema_.discrete:
            raise InputError(
                f"{method} is for flows, but this model is a map. Python, C, Julia, MATLAB, LaTeX "
                "and SymPy support maps."
            )

    def to_python(self) -> str:
        """Return the source of a NumPy function `vector_field(variables)`, including the residual.

        For a map, the function is named `next_state`, here and in other languages.

        Returns
        -------
        source
            source code that requires only NumPy.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 121)
        >>> model = og.OrthoReg("poly(1)", og.Zero()).fit(np.exp(-t)[:, None], t=t)
        >>> names = {}
        >>> exec(model.to_python(), names)
        >>> names["vector_field"](np.array([[2.0]])).round(3).tolist()
        [[-2.0]]
        """
        check_is_fitted(self)
        return export.to_python(self.shown_field(), self.output_names_, words=self._words)

    def to_c(self) -> str:
        """Return the source of a C99 function `void vector_field(const double *z, double *dxdt)`.

        It includes the residual. `z` contains the states, then the inputs. Delayed variables are
        inputs with the delay in their names.

        Returns
        -------
        source
            source code of one file.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 121)
        >>> model = og.OrthoReg("poly(1)", og.Zero()).fit(np.exp(-t)[:, None], t=t)
        >>> "void vector_field(const double *z, double *dxdt)" in model.to_c()
        True
        """
        check_is_fitted(self)
        return export.to_c(self.shown_field(), self.output_names_, words=self._words)

    def to_julia(self) -> str:
        """Return the source of a Julia function `vector_field(z)`, including the residual.

        `z` contains the states, then the inputs. The function requires no packages.

        Returns
        -------
        source
            source code of one file.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 121)
        >>> model = og.OrthoReg("poly(1)", og.Zero()).fit(np.exp(-t)[:, None], t=t)
        >>> "function vector_field(" in model.to_julia()
        True
        """
        check_is_fitted(self)
        n_states = len(self.state_names_)
        return export.to_julia(self.shown_field(), self.output_names_, n_states, words=self._words)

    def to_matlab(self) -> str:
        """Return the source of a file vector_field.m for MATLAB and GNU Octave, including the
        residual.

        The function takes a column vector of the states, then the inputs.

        Returns
        -------
        source
            source code of one file.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 121)
        >>> model = og.OrthoReg("poly(1)", og.Zero()).fit(np.exp(-t)[:, None], t=t)
        >>> "function dxdt = vector_field(" in model.to_matlab()
        True
        """
        check_is_fitted(self)
        n_states = len(self.state_names_)
        return export.to_matlab(self.shown_field(), self.output_names_, n_states, words=self._words)

    def to_modelica(self, name: str = "HybridModel") -> str:
        """Return the source of a Modelica model, including the residual.

        The model has one variable per state, with its start in the middle of the training data, and
        one Modelica input per input.

        Parameters
        ----------
        name
            name of the model.

        Returns
        -------
        source
            source code of one file.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 121)
        >>> model = og.OrthoReg("poly(1)", og.Zero()).fit(np.exp(-t)[:, None], t=t)
        >>> model.to_modelica("Decay").splitlines()[0]
        'model Decay "Written by orthoreg"'
        """
        self._refuse_map("to_modelica()")
        return export.to_modelica(
            self.field_, self.output_names_, self._starts(name), model=name, clock=self.clock_,
            delays=self.schema_.delays,
        )  # fmt: skip

    def to_fmu(self, path: str | os.PathLike[str], name: str = "HybridModel") -> None:
        """Write a Functional Mock-up Unit (FMI 2.0, model exchange), including the residual.

        The unit is compiled for this machine and contains the C source for other machines. Its
        outputs are the states, which start in the middle of the training data. Jumps of `sign` and
        `heaviside` do not become events.

        Parameters
        ----------
        path
            file to write.
        name
            name of the model.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 121)
        >>> model = og.OrthoReg("poly(1)", og.Zero()).fit(np.exp(-t)[:, None], t=t)
        >>> model.to_fmu("decay.fmu", "Decay")  # doctest: +SKIP
        """
        self._refuse_map("to_fmu()")
        if self.schema_.delays:
            raise InputError(
                "An FMU of FMI 2.0 cannot contain a delay, and the model has "
                f"{self.schema_.delays[0].shown(4)}. Use to_modelica(), which supports delays."
            )
        contents = export.to_fmu(
            self.field_, self.output_names_, self._starts(name), name=name, clock=self.clock_
        )
        with atomic_write(Path(path)) as stream:
            stream.write(contents)

    def _starts(self, name: str) -> list[float]:
        """Return the initial states. Raise an error if other programs would reject the name."""
        check_is_fitted(self)
        self._check_equations()
        if not (name.isascii() and name.isidentifier()):
            raise InputError(
                "The name of a model must consist of letters, digits and underscores and start "
                f"with a letter, for Modelica and FMI; got {name!r}."
            )
        return self.state_range_.mean(axis=0).tolist()

    def to_jax(self) -> JaxField:
        """Return the model as a pure JAX function f(t, x, parameters, u) with its `.parameters`.

        For diffrax, use `ODETerm(model.to_jax())`. The parameters can be optimized with optax.

        Returns
        -------
        field
            a function of time, state, parameters and inputs.

        Examples
        --------
        >>> import diffrax, jax.numpy as jnp, numpy as np, orthoreg as og
        >>> x = np.random.default_rng(0).uniform(-1, 1, (100, 1))
        >>> field = og.OrthoReg(og.Polynomial(1), og.Zero()).fit(x, -x).to_jax()
        >>> solution = diffrax.diffeqsolve(
        ...     diffrax.ODETerm(field), diffrax.Tsit5(), 0.0, 1.0, 0.01, jnp.array([1.0]),
        ...     args=field.parameters)
        >>> round(float(solution.ys[-1, 0]), 4)
        0.3679
        """
        self._refuse_map("to_jax()")
        return export.to_jax(self.field_, len(self.state_names_), self.clock_)

    def to_pysindy(self) -> Any:
        """Return a fitted `pysindy.SINDy` with the same predictions.

        Its library has one function for each used term, and one function with coefficient 1 for
        each residual.

        Returns
        -------
        model
            a `pysindy.SINDy`. Requires the extra `pysindy`.

        Examples
        --------
        >>> import numpy as np, orthoreg as og
        >>> t = np.linspace(0, 6, 121)
        >>> model = og.OrthoReg("poly(1)", og.Zero()).fit(np.exp(-t)[:, None], t=t)
        >>> model.to_pysindy().predict(np.array([[2.0]])).round(3).tolist()  # doctest: +SKIP
        [[-2.0]]
        """
        self._refuse_map("to_pysindy()")
        self._check_equations()
        return export.to_pysindy(self.field_, self.output_names_)

    def _check_equations(self) -> None:
        if self.output_names_ != self.state_names_:
            raise InputError(
                f"A simulation needs one equation for each of the {len(self.state_names_)} states; "
                f"the model was fitted to {len(self.output_names_)} targets."
            )
