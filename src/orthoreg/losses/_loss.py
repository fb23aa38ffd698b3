"""Losses convert runs to rows or segments, and measure the error of a field on them.

`VectorField` compares a field with derivatives of the states. [eq:fit_loss_vf] `Informed` adds
known equations as a soft constraint, as in the loss of a PINN.
"""

import abc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, final

import numpy as np
from jaxtyping import Bool, Float, Int

from .._common.arrays import Arrays, pytree
from .._common.errors import DataError, InputError, quoted, suggestion
from .._common.registry import part
from ..data import Dataset, Rows
from ..terms import evaluate, parse
from . import _limits as limits
from ._differentiators import (
    AbstractDifferentiator,
    Automatic,
    ResolvedDifferentiator,
    check_lengths,
)

Field = Callable[[Any], Any]
"""A function from variables (B x V) to derivatives (B x c)."""


@pytree()
@final
@dataclass(frozen=True, eq=False)
class Segments:
    """B segments of runs, each with P observed points of state space.

    `targets` belong to the points: derivatives or, for a prediction in time, the following states.
    For a prediction, `steps` are the times until these states, and `inputs_after` are the inputs
    there.
    """

    points: Float[Arrays, "B P V"]
    targets: Float[Arrays, "B P _"]
    steps: Float[Arrays, "B _"]
    inputs_after: Float[Arrays, "B _ m"]

    def __len__(self) -> int:
        return len(self.points)


class AbstractLoss(abc.ABC):
    """A data-fit term: the regression targets observed in runs, and the error of a field."""

    is_linear: ClassVar[bool]
    """Whether the loss is a linear least-squares problem on its rows."""

    def rule(self, data: Dataset) -> "AbstractLoss":
        """Return the loss used for these data. By default, this is the loss itself."""
        return self

    def resolved(self, data: Dataset) -> Callable[[Dataset], Rows]:
        """Return `observe` with all choices made on these runs, so that it can be applied to any
        chunk.
        """
        return self.observe

    @abc.abstractmethod
    def observe(self, data: Dataset) -> Rows:
        """Return the rows of the runs, each with its target."""

    @abc.abstractmethod
    def segments(self, observed: Rows) -> Segments:
        """Return the segments to which a field is fitted by gradients."""

    @abc.abstractmethod
    def segment_rows(self, observed: Rows) -> Int[np.ndarray, " M"]:
        """Return the indices of the rows that are points of the segments, concatenated."""

    @abc.abstractmethod
    def errors(
        self,
        field: Field,
        values: Float[Arrays, "B P c"],
        segments: Segments,
        scale: Float[Arrays, " c"],
    ) -> Float[Arrays, " B"]:
        """Return the squared error of each segment.

        `values` are the values of the field at the points. Errors of each equation are divided by
        `scale`.
        """

    @abc.abstractmethod
    def targets(self, observed: Rows, field: Field) -> Float[np.ndarray, "N c"]:
        """Return the derivative at each row with which this fitted field is compared."""

    @abc.abstractmethod
    def derivatives(self, data: Dataset, field: Field) -> Float[np.ndarray, "N c"]:
        """Return the derivative at each row of the data with which this field is compared."""


class AbstractRowLoss(AbstractLoss):
    """The mean of |y_i - f(x_i)|^2 over rows.

    It is a least-squares problem that is linear in coefficients and output weights.

    Subclasses define the rows.
    """

    is_linear = True

    def segments(self, observed) -> Segments:
        """Return each row as a segment."""
        if observed.windows is not None:
            raise InputError(
                "loss=Weak() is a linear problem without individual points for training; use "
                "solver=Exact(), or a gradient solver with loss=VectorField() or MultiStep(10)."
            )
        n, empty = len(observed.targets), np.zeros((len(observed.targets), 0))
        return Segments(
            observed.variables[:, None], observed.targets[:, None], empty, empty.reshape(n, 0, 0)
        )

    def segment_rows(self, observed) -> Int[np.ndarray, " M"]:
        return np.arange(len(observed.targets))

    def errors(self, field, values, segments, scale):
        return (((segments.targets - values) / scale) ** 2).sum((1, 2))

    def targets(self, observed, field) -> Float[np.ndarray, "N c"]:
        return observed.targets


class AbstractSegmentLoss(AbstractLoss):
    """A loss that compares a field with segments of runs, for use with gradient solvers."""

    is_linear = False

    def derivatives(self, data: Dataset, field) -> Float[np.ndarray, "N c"]:
        return self.targets(self.observe(data), field)


@part
@final
@dataclass(frozen=True)
class VectorField(AbstractRowLoss):
    """The mean squared error 1/N sum_i |y_i - f(x_i)|^2, where y are given or estimated
    derivatives.

    The derivative of a position is its velocity. If a state changes only by rounding over the
    longest run, its derivative is zero.

    Parameters
    ----------
    differentiation
        method that estimates derivatives. The default is a sliding polynomial chosen by the data.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 121)
    >>> model = og.OrthoReg("poly(1)", og.Zero(), loss=og.VectorField())
    >>> model.fit(np.exp(-t)[:, None], t=t).equations(2)
    ["x0' = -1.0 x0"]
    """

    differentiation: AbstractDifferentiator = field(default_factory=Automatic)

    def resolved(self, data: Dataset) -> Callable[[Dataset], Rows]:
        refuse_map(data, "VectorField()")
        if data.derivatives is not None:
            return self.observe
        check_lengths(data, self.differentiation.min_points, self.differentiation)
        return VectorField(ResolvedDifferentiator.on(self.differentiation, data)).observe

    def observe(self, data: Dataset) -> Rows:
        """Return a target for each row."""
        if data.n_samples == 0:
            raise DataError(f"{data.source} has no runs; at least one is needed.")
        refuse_map(data, "VectorField()")
        targets, error = data.derivatives, np.zeros(data.n_states)
        if targets is None:
            check_lengths(data, self.differentiation.min_points, self.differentiation)
            rule = self.differentiation.rule(data)
            targets = rule.slopes(data)
            error = rule.systematic_error(data, targets)
        is_constant = _is_rounding(data, targets)
        return Rows(
            data.variables,
            np.where(is_constant, 0.0, targets) if is_constant.any() else targets,
            data.run_of_row,
            error,
            data.variable_names,
            data.state_names,
            data.times,
            time_index=data.schema.time_index,
        ).with_given(data.given_rates)

    def derivatives(self, data: Dataset, field) -> np.ndarray:
        return self.observe(data).targets


@part
@final
@dataclass(frozen=True)
class NextState(AbstractRowLoss):
    """The mean squared error 1/N sum_k |x[k+1] - f(x[k], u[k])|^2 over the rows of a map.

    A row is left out if it, or the next row, contains a value that was filled in.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> data = og.Dataset.from_arrays(0.5 ** np.arange(20.0)[:, None], discrete=True)
    >>> og.OrthoReg("poly(1)", og.Zero(), loss=og.NextState()).fit(data).equations(2)
    ['x0[k+1] = 0.50 x0']
    """

    def observe(self, data: Dataset) -> Rows:
        """Return a target for each row of the data that has a next row."""
        if not data.discrete:
            raise InputError(
                "loss=NextState() is for maps: read the data with discrete=True, or use the "
                "default loss."
            )
        rows = data.rows_with_next()
        if not len(rows):
            raise DataError(
                f"{data.source} has no two measured rows one after the other, which a map needs; "
                f"measure longer runs."
            )
        return Rows(
            data.variables[rows],
            data.states[rows + 1],
            data.run_of_row[rows],
            np.zeros(data.n_states),
            data.variable_names,
            data.state_names,
            data.times[rows],
            time_index=data.schema.time_index,
            all_runs=data.n_runs,
        )

    def derivatives(self, data: Dataset, field) -> Float[np.ndarray, "N n"]:
        """Return the next state of each row, or that of the field if the next state is unknown."""
        rows = data.rows_with_next()
        result = np.array(field(data.variables))
        result[rows] = data.states[rows + 1]
        return result


def _is_rounding(data: Dataset, slopes: Float[np.ndarray, "N n"]) -> Bool[np.ndarray, " n"]:
    """Return a mask of the states whose derivatives sum to no more than rounding over the longest
    run.
    """
    longest = np.max(data.step_of_run() * (data.run_lengths - 1))
    change, size = (np.sqrt(np.vecdot(values.T, values.T)) for values in (slopes, data.states))
    return (change * longest <= limits.CONSTANT_STATE_CHANGE * size) & (longest > 0)


def refuse_map(data: Dataset, loss: str) -> None:
    """Raise an error if the data are a map but the loss needs derivatives."""
    if data.discrete:
        raise InputError(
            f"loss={loss} is for flows, but these data were read as a map (discrete=True), which "
            "has no derivatives. Use loss=NextState() or the default, or read them without "
            "discrete."
        )


@part
@final
@dataclass(frozen=True, init=False)
class Informed(AbstractSegmentLoss):
    """The loss 1/N sum_i |y_i - f(x_i)|^2 + weight/N sum_i |g(x_i) - f(x_i)|^2 with known equations
    g.

    `known` gives g as formulas by state, with numerical constants:
    {"omega": "-sin(theta) - 0.2*omega"}. Other equations are not constrained.
    """

    known: tuple[tuple[str, str], ...]
    weight: float
    differentiation: AbstractDifferentiator

    def __init__(
        self,
        known: Mapping[str, str] | Sequence[tuple[str, str]],
        weight: float = 1.0,
        differentiation: AbstractDifferentiator | None = None,
    ):
        if not isinstance(weight, int | float) or not 0 <= weight < np.inf:
            raise InputError(f"Informed(weight=...) must be finite and at least 0; got {weight!r}.")
        if isinstance(known, str) or not known:
            raise InputError(
                f"Informed needs the known equations by state, such as {{'x': 'v'}}; got {known!r}."
            )
        object.__setattr__(self, "known", tuple((k, v) for k, v in dict(known).items()))
        object.__setattr__(self, "weight", float(weight))
        object.__setattr__(self, "differentiation", differentiation or Automatic())

    def observe(self, data: Dataset) -> Rows:
        return VectorField(self.differentiation).observe(data)

    def segments(self, observed) -> Segments:
        """Return segments whose targets contain, by equation, the derivative, g and the weight of
        g.
        """
        equations = observed.outputs
        g, weight = np.zeros_like(observed.targets), np.zeros_like(observed.targets)
        for name, formula in self.known:
            if name not in equations:
                raise InputError(
                    f"The known equations refer to '{name}', which is not an equation."
                    f"{suggestion(name, equations)} The equations are {quoted(equations)}."
                )
            column = equations.index(name)
            with np.errstate(all="ignore"):
                g[:, column] = evaluate(
                    parse(formula, observed.names), list(observed.variables.T), np
                )
            weight[:, column] = self.weight
            if not np.isfinite(g).all():
                raise InputError(
                    f"The known equation '{formula}' of '{name}' is not finite on the data."
                )
        plain = VectorField(self.differentiation).segments(observed)
        return replace(
            plain, targets=np.concatenate([observed.targets, g, weight], axis=1)[:, None]
        )

    def segment_rows(self, observed) -> np.ndarray:
        return np.arange(len(observed.targets))

    def errors(self, field, values, segments, scale):
        c = values.shape[2]
        y, g, weight = (segments.targets[:, :, i * c : (i + 1) * c] for i in range(3))
        return ((((y - values) / scale) ** 2) + weight * ((g - values) / scale) ** 2).sum((1, 2))

    def targets(self, observed, field) -> np.ndarray:
        return observed.targets
