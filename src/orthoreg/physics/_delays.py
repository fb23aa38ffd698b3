"""Find the delayed variables in a library and in known equations."""

import itertools
import math

from .._common.errors import InputError
from ..data import Dataset, Delay, delays_in
from ..terms import AbstractLibrary, Terms, all_parts
from ._physics import Physics


def requested_delays(
    library: AbstractLibrary, physics: Physics | None, data: Dataset
) -> tuple[Delay, ...]:
    """Return the delayed variables in the library and in known equations.

    A delay that must be estimated has the value NaN.
    """
    texts = [formula for part in all_parts(library) if isinstance(part, Terms)
             for formula in part.formulas]  # fmt: skip
    values: dict[str, float] = {}
    if physics is not None:
        values = dict(physics.values)
        texts += [side for pair in physics.equations for side in pair]
        pairs = itertools.chain(physics.required, physics.forbidden)
        texts += [text for _, terms in pairs for text in terms]
        texts += [key[1] for key, _ in physics.bounds if not isinstance(key, str)]
    found: dict[str, Delay] = {}
    for written in itertools.chain(*map(delays_in, texts)):
        variable = written.variable
        if written.has_prime:
            variable = dict(data.velocity_of).get(variable, "")
        if variable not in data.variable_names or written.time not in ("t", data.time_name):
            continue
        if variable == data.time_input:
            continue
        if written.delay in data.variable_names:
            raise InputError(
                f"The delay in '{variable}(t - {written.delay})' must be a constant; "
                f"'{written.delay}' is a column. Give the constant another name."
            )
        value = values.get(written.delay, math.nan)
        if not written.delay.isidentifier():
            value = float(written.delay)
        if value < 0:
            raise InputError(
                f"A delay must not be negative; Physics(values=...) gives {written.delay} = "
                f"{value:g}."
            )
        if data.discrete:
            raise InputError(
                f"'{variable}(t - {written.delay})' is a delay of a flow, but discrete=True reads "
                "the data as a map. Add the earlier value as a column."
            )
        delay = Delay(variable, written.delay, value, written.delay in values)
        found[delay.name] = delay
    return tuple(found.values())
