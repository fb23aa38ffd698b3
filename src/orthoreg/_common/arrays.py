"""Code for NumPy and JAX arrays alike that does not import JAX before it is used.

Importing JAX takes longer than most fits. So an annotation of either kind of array checks shape
and element type only, and a class that JAX is to trace through is noted here and made known to
JAX by the first function that traces.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

if TYPE_CHECKING:
    import jax

    Arrays: TypeAlias = np.ndarray | jax.Array
else:
    Arrays = Any

Class = TypeVar("Class", bound=type)
_lock = threading.Lock()
_waiting: list[tuple[type, Sequence[str]]] = []


def pytree(*, meta: Sequence[str] = ()) -> Callable[[Class], Class]:
    """Marks a dataclass that JAX may trace through: the fields `meta` are compiled in, all others
    are traced."""

    def note(cls: Class) -> Class:
        with _lock:
            _waiting.append((cls, meta))
        return cls

    return note


def register_pytrees() -> None:
    """Makes the classes marked so far known to JAX. Called before anything of ours is traced."""
    with _lock:
        while _waiting:
            _register(*_waiting.pop())


def _register(cls: type, meta: Sequence[str]) -> None:
    from jax.tree_util import GetAttrKey, register_pytree_with_keys

    data = [field.name for field in fields(cls) if field.name not in meta]

    def flatten(item: Any) -> tuple[list[Any], tuple[Any, ...]]:
        return [getattr(item, name) for name in data], tuple(getattr(item, name) for name in meta)

    def flatten_with_keys(item: Any) -> tuple[list[Any], tuple[Any, ...]]:
        values, fixed = flatten(item)
        return [(GetAttrKey(k), value) for k, value in zip(data, values, strict=True)], fixed

    def unflatten(fixed: Any, values: Any) -> Any:
        # not by the constructor: JAX also puts placeholders where the numbers were
        item = object.__new__(cls)
        for name, value in zip([*data, *meta], [*values, *fixed], strict=True):
            object.__setattr__(item, name, value)
        return item

    register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)


def namespace(*arrays: Any) -> Any:
    """The module that computes with these arrays: `numpy`, or `jax.numpy` if one is JAX's."""
    if all(isinstance(array, np.ndarray | np.generic | float | int) for array in arrays):
        return np
    import jax.numpy as jnp

    return jnp
