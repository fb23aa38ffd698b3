"""Vector-field regression with partly known equations as a soft constraint: a PINN's loss."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from .._errors import InputError, quoted, suggestion
from .._registry import part
from ..data import Dataset, Rows
from ..differentiation import AbstractDifferentiator, Automatic
from ..libraries import evaluate, parse
from ._loss import AbstractSegmentLoss, Segments
from ._vector_field import VectorField


@part
@final
@dataclass(frozen=True, init=False)
class Informed(AbstractSegmentLoss):
    """1/N sum_i |y_i - f(x_i)|^2 + weight/N sum_i |g(x_i) - f(x_i)|^2 with g the known equations.

    `known` gives g as formulas by state, numbers included: {"omega": "-sin(theta) - 0.2*omega"}.
    Equations that it does not name are not constrained.
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
        """Targets are the derivatives, then g, then the weight of g, equation by equation."""
        equations = observed.outputs
        g, weight = np.zeros_like(observed.targets), np.zeros_like(observed.targets)
        for name, formula in self.known:
            if name not in equations:
                raise InputError(
                    f"The known equations name '{name}', which is no equation."
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
