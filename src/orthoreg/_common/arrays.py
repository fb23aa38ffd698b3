"""Code for NumPy and JAX arrays that imports JAX only when it is needed.

Importing JAX takes longer than most fits. The annotation `Arrays` therefore checks only the shape
and the element type, and `pytree` only records a class. `register_pytrees` registers the recorded
classes with JAX before a function is traced.

Letters in shapes, which the tests check at run time: N samples, n states, m inputs, V variables
(states and inputs), c outputs, K library features, H basis functions of the augmentation, T times,
R runs, B rows of a block or starts of a batch.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from jaxtyping import Bool

from .imports import import_cleanly

if TYPE_CHECKING:
    import jax

    Arrays: TypeAlias = np.ndarray | jax.Array
else:
    Arrays = Any

Mask = Bool[np.ndarray, "c K"]
"""Mask (equations x terms) of the library terms that each equation may use."""

Class = TypeVar("Class", bound=type)
_lock = threading.Lock()
_unregistered: list[tuple[type, Sequence[str]]] = []


def pytree(*, meta: Sequence[str] = ()) -> Callable[[Class], Class]:
    """Mark a dataclass as traceable by JAX. Fields in `meta` are static, all others are traced."""

    def mark(cls: Class) -> Class:
        with _lock:
            _unregistered.append((cls, meta))
        return cls

    return mark


def register_pytrees() -> None:
    """Register all marked classes with JAX. Call this before tracing a function."""
    import_cleanly("jax")
    with _lock:
        while _unregistered:
            _register(*_unregistered.pop())


def _register(cls: type, meta: Sequence[str]) -> None:
    from jax.tree_util import GetAttrKey, register_pytree_with_keys

    data = [field.name for field in fields(cls) if field.name not in meta]

    def flatten(item: Any) -> tuple[list[Any], tuple[Any, ...]]:
        return [getattr(item, name) for name in data], tuple(getattr(item, name) for name in meta)

    def flatten_with_keys(item: Any) -> tuple[list[Any], tuple[Any, ...]]:
        values, static = flatten(item)
        return [(GetAttrKey(k), value) for k, value in zip(data, values, strict=True)], static

    def unflatten(static: Any, values: Any) -> Any:
        # the constructor is not called, because JAX also passes placeholders for numbers
        item = object.__new__(cls)
        for name, value in zip([*data, *meta], [*values, *static], strict=True):
            object.__setattr__(item, name, value)
        return item

    register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)


def namespace(*arrays: Any) -> Any:
    """Return `jax.numpy` if any of the arrays is a JAX array, otherwise `numpy`."""
    if all(isinstance(array, np.ndarray | np.generic | float | int) for array in arrays):
        return np
    import jax.numpy as jnp

    return jnp


# -- control flow: `xp` is `numpy` or `jax.numpy` ---------------------------------------------


def put(array: Any, index: Any, value: Any, xp: Any) -> Any:
    """Return the array with one entry replaced. A NumPy array is changed in place."""
    if xp is not np:
        return array.at[index].set(value)
    array[index] = value
    return array


def loop(count: int, body: Callable[[Any, Any], Any], carry: Any, xp: Any) -> Any:
    """Return `carry` after the updates carry = body(i, carry) for i = 0 ... count - 1."""
    if xp is not np:
        import jax

        return jax.lax.fori_loop(0, count, body, carry)
    for i in range(count):
        carry = body(i, carry)
    return carry


def repeat_while(
    should_continue: Callable[[Any], Any], body: Callable[[Any], Any], carry: Any, xp: Any
) -> Any:
    """Return `carry` after the updates carry = body(carry) while `should_continue(carry)` is
    true."""
    if xp is not np:
        import jax

        return jax.lax.while_loop(should_continue, body, carry)
    while should_continue(carry):
        carry = body(carry)
    return carry


def choose(
    condition: Any, yes: Callable[..., Any], no: Callable[..., Any], parts: tuple[Any, ...], xp: Any
) -> Any:
    """Return yes(*parts) or no(*parts). Only the chosen function is evaluated."""
    if xp is not np:
        import jax

        return jax.lax.cond(condition, yes, no, *parts)
    return yes(*parts) if condition else no(*parts)
