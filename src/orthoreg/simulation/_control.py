"""Loops and branches written once for NumPy and JAX."""

from collections.abc import Callable
from typing import Any

import numpy as np


def put(array: Any, place: Any, value: Any, xp: Any) -> Any:
    """The array with one entry replaced; NumPy's is changed."""
    if xp is not np:
        return array.at[place].set(value)
    array[place] = value
    return array


def loop(count: int, body: Callable[[Any, Any], Any], carry: Any, xp: Any) -> Any:
    """carry = body(i, carry) for i = 0 ... count - 1."""
    if xp is not np:
        import jax

        return jax.lax.fori_loop(0, count, body, carry)
    for i in range(count):
        carry = body(i, carry)
    return carry


def repeat_while(
    goes_on: Callable[[Any], Any], body: Callable[[Any], Any], carry: Any, xp: Any
) -> Any:
    """carry = body(carry) as long as it goes on."""
    if xp is not np:
        import jax

        return jax.lax.while_loop(goes_on, body, carry)
    while goes_on(carry):
        carry = body(carry)
    return carry


def choose(
    condition: Any, yes: Callable[..., Any], no: Callable[..., Any], parts: tuple[Any, ...], xp: Any
) -> Any:
    """yes(*parts) or no(*parts); only the chosen one is computed."""
    if xp is not np:
        import jax

        return jax.lax.cond(condition, yes, no, *parts)
    return yes(*parts) if condition else no(*parts)
