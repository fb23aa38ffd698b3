"""`linearize`: the linear model of a field near a state and an input, with intervals."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, final

import numpy as np
from jaxtyping import Float

from .._common.errors import require
from ..data import Schema
from ..field.hybrid import HybridField
from ..matching import Uncertainty
from ._constants import intervals_of
from ._jacobian import jacobian


@final
@dataclass(frozen=True, eq=False)
class LinearModel:
    """The model x' = rate + A (x - x0) + B (u - u0), y = C x + D u near the state x0 and the input
    u0.

    The outputs y are the measured states. Constants per run are not states of the linear model.
    `A_interval` and `B_interval` contain the 95% interval of each element, computed from the joint
    covariance of the constants. They are None if the fit has no intervals. For a map, x' is the
    state at the next row, and `dt` is the step of the map; otherwise `dt` is None. Unpacking gives
    A, B, C, D.
    """

    A: Float[np.ndarray, "n n"]
    B: Float[np.ndarray, "n m"]
    C: Float[np.ndarray, "p n"]
    D: Float[np.ndarray, "p m"]
    A_interval: Float[np.ndarray, "n n 2"] | None
    B_interval: Float[np.ndarray, "n m 2"] | None
    x0: Float[np.ndarray, " n"]
    u0: Float[np.ndarray, " m"]
    rate: Float[np.ndarray, " n"]
    state_names: tuple[str, ...]
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    dt: float | None = None

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter((self.A, self.B, self.C, self.D))

    @property
    def eigenvalues(self) -> np.ndarray:
        """The eigenvalues of A, sorted by decreasing real part."""
        values = np.linalg.eigvals(self.A)
        return values[np.lexsort((values.imag, -values.real))]

    def to_scipy(self) -> Any:
        """Return a `scipy.signal.StateSpace`."""
        from scipy.signal import StateSpace

        matrices = self._with_inputs()
        return StateSpace(*matrices) if self.dt is None else StateSpace(*matrices, dt=self.dt)

    def to_control(self) -> Any:
        """Return a `control.StateSpace` with the names of the variables.

        Requires the extra `control`.
        """
        require("control", "control", "to_control()")
        # a plain import would make the type checker read untyped source, on which it fails
        return import_module("control").ss(
            *self._with_inputs(), 0 if self.dt is None else self.dt,
            states=list(self.state_names), inputs=list(self.input_names) or ["no input"],
            outputs=list(self.output_names),
        )  # fmt: skip

    def _with_inputs(self) -> tuple[np.ndarray, ...]:
        """Return the matrices.

        A model without inputs gets an input without effect, because SciPy and python-control
        require one.
        """
        if self.input_names:
            return tuple(self)
        return self.A, np.zeros((len(self.A), 1)), self.C, np.zeros((len(self.C), 1))

    def __str__(self) -> str:
        names = self.state_names + self.input_names
        lines = []
        for i, name in enumerate(self.state_names):
            row = np.concatenate([self.A[i], self.B[i]])
            parts = " ".join(f"{value:+.4g} {names[j]}" for j, value in enumerate(row) if value)
            lines.append(f"{name}{'[k+1]' if self.dt is not None else chr(39)}: {parts or '0'}")
        return "\n".join(lines)


def linearize(
    field: HybridField,
    schema: Schema,
    x: Float[np.ndarray, " n"],
    u: Float[np.ndarray, " m"],
    estimates: Uncertainty | None,
) -> LinearModel:
    """Return the linear model of a field that has no delays and does not depend on time."""
    z = np.concatenate([x, u])[None]
    states = [
        i for i, name in enumerate(schema.state_names) if name not in schema.per_run_names
    ]  # fmt: skip
    inputs = list(range(len(x), len(x) + len(u)))
    columns = states + inputs

    def slopes(changed: HybridField) -> np.ndarray:
        return jacobian(changed, z)[0][states][:, columns].ravel()

    n = len(states)
    both = slopes(field).reshape(n, -1)
    intervals = intervals_of(field, estimates, slopes)
    if intervals is not None:
        intervals = intervals.reshape(n, -1, 2)
    names = tuple(schema.state_names[i] for i in states)
    outputs = [i for i, name in enumerate(names) if name in schema.measured_states]
    C = np.eye(n)[outputs]
    return LinearModel(
        A=both[:, :n],
        B=both[:, n:],
        C=C,
        D=np.zeros((len(C), len(u))),
        A_interval=None if intervals is None else intervals[:, :n],
        B_interval=None if intervals is None else intervals[:, n:],
        x0=x[states],
        u0=u,
        rate=field.values(z)[0][states],
        state_names=names,
        input_names=schema.measured_inputs,
        output_names=tuple(names[i] for i in outputs),
        dt=schema.step,
    )
