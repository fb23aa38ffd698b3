"""`Relation`: a constant per run as a function of covariates, which are constant within a run."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, final

import numpy as np
from jaxtyping import Float

Form = Literal["power", "free power", "linear", "exponential"]


@final
@dataclass(frozen=True)
class Relation:
    """A constant per run as a function of `covariates` z.

    The forms are a*z1**p1*z2**p2 with given `exponents` ("power"), a*z**b ("free power"), a + b*z
    ("linear") and a*exp(b*z) ("exponential").

    Parameters
    ----------
    form, covariates, exponents
        see above.
    values, intervals, covariance
        a and b, their 95% intervals and their covariance.
    scatter
        standard deviation of the constant (of its logarithm if `is_relative`) around the relation.
        Zero if the intervals of the runs explain all deviations.
    chi_squared, degrees_of_freedom, probability
        sum of squared deviations in standard errors of the runs, assuming no scatter; the expected
        value of this sum; and the probability of a larger sum if the relation is exact.
    left_out_error, spread
        root mean square errors of predictions of runs that are left out one at a time, by the
        relation and by the mean of the other runs, relative to the mean size of the constant.
    """

    form: Form
    covariates: tuple[str, ...]
    exponents: tuple[float, ...]
    values: tuple[float, ...]
    intervals: tuple[tuple[float, float], ...]
    covariance: tuple[tuple[float, ...], ...]
    scatter: float
    is_relative: bool
    chi_squared: float
    degrees_of_freedom: int
    probability: float
    left_out_error: float
    spread: float

    @property
    def is_exact(self) -> bool:
        """Whether the intervals of the runs explain all deviations."""
        return self.scatter == 0

    @property
    def text(self) -> str:
        """The relation as a formula, such as 9.81/L."""
        a, *others = (f"{value:.4g}" for value in self.values)
        name = self.covariates[0]
        if self.form == "linear":
            sign, size = ("-", others[0][1:]) if others[0].startswith("-") else ("+", others[0])
            return f"{a} {sign} {size}*{name}"
        if self.form == "exponential":
            return f"{a}*exp({others[0]}*{name})"
        exponents = self.exponents if self.form == "power" else (self.values[1],)
        pairs = list(zip(self.covariates, exponents, strict=True))
        above = [_power(name, p) for name, p in pairs if p > 0]
        below = [_power(name, -p) for name, p in pairs if p < 0]
        text = "*".join([a, *above])
        if not below:
            return text
        return f"{text}/{below[0]}" if len(below) == 1 else f"{text}/({'*'.join(below)})"

    def at(
        self, covariates: Float[np.ndarray, "R q"]
    ) -> tuple[Float[np.ndarray, " R"], Float[np.ndarray, " R"]]:
        """Return the constant for these covariates, and its standard deviation.

        The standard deviation includes the uncertainty of the relation. Both are NaN if a covariate
        is unknown.
        """
        value, slopes = evaluate_relation(
            self.form, self.exponents, np.array(self.values), covariates
        )
        variance = np.einsum("rk,kl,rl->r", slopes, np.array(self.covariance), slopes)
        scatter = self.scatter * (np.abs(value) if self.is_relative else 1.0)
        return value, np.sqrt(variance + scatter**2)

    def to_dict(self) -> dict[str, Any]:
        """Return the relation as plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Relation":
        """Return the relation from the output of `to_dict`."""
        numbers = {
            name: float(values[name])
            for name in ("scatter", "chi_squared", "probability", "left_out_error", "spread")
        }
        form = values["form"]
        if form not in ("power", "free power", "linear", "exponential"):
            raise ValueError(f"'{form}' is not a form of a relation")
        return cls(
            form=form,
            covariates=tuple(map(str, values["covariates"])),
            exponents=tuple(map(float, values["exponents"])),
            values=tuple(map(float, values["values"])),
            intervals=tuple((float(low), float(high)) for low, high in values["intervals"]),
            covariance=tuple(tuple(map(float, row)) for row in values["covariance"]),
            is_relative=bool(values["is_relative"]),
            degrees_of_freedom=int(values["degrees_of_freedom"]),
            **numbers,
        )


def evaluate_relation(
    form: Form,
    exponents: Sequence[float],
    values: Float[np.ndarray, " k"],
    z: Float[np.ndarray, "R q"],
) -> tuple[Float[np.ndarray, " R"], Float[np.ndarray, "R k"]]:
    """Return the values of a relation at these covariates, and their derivatives with respect to a
    and b.
    """
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        if form == "power":
            shape = np.prod(z ** np.array(exponents), axis=1)
            return values[0] * shape, shape[:, None]
        a, b = values
        x = z[:, 0]
        if form == "linear":
            return a + b * x, np.column_stack([np.ones_like(x), x])
        shape, factor = (np.exp(b * x), x) if form == "exponential" else (x**b, np.log(x))
        return a * shape, np.column_stack([shape, a * shape * factor])


def _power(name: str, exponent: float) -> str:
    if exponent == 1:
        return name
    if exponent == 0.5:
        return f"sqrt({name})"
    if math.isclose(3 * exponent, round(3 * exponent)) and exponent % 1:
        return f"{name}**({round(3 * exponent)}/3)"
    return f"{name}**{exponent:.4g}"
