"""Code for NumPy and JAX arrays alike that imports JAX only when it is needed.

Importing JAX takes longer than most fits. An annotation `Arrays` therefore checks only the shape
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

if TYPE_CHECKING:
    import jax

    Arrays: TypeAlias = np.ndarray | jax.Array
else:
    Arrays = Any

Mask = Bool[np.ndarray, "c K"]
"""Which equation may use which library term."""

Class = TypeVar("Class", bound=type)
_lock = threading.Lock()
_unregistered: list[tuple[type, Sequence[str]]] = []


def pytree(*, meta: Sequence[str] = ()) -> Callable[[Class], Class]:
    """Mark a dataclass that JAX may trace. Fields in `meta` are static, all others are traced."""

    def mark(cls: Class) -> Class:
        with _lock:
            _unregistered.append((cls, meta))
        return cls

    return mark


def register_pytrees() -> None:
    """Register all marked classes with JAX. Call this before tracing a function."""
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
        # without the constructor, because JAX also passes placeholders for the numbers
        item = object.__new__(cls)
        for name, value in zip([*data, *meta], [*values, *static], strict=True):
            object.__setattr__(item, name, value)
        return item

    register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)


def namespace(*arrays: Any) -> Any:
    """Return `jax.numpy` if one of the arrays belongs to JAX, else `numpy`."""
    if all(isinstance(array, np.ndarray | np.generic | float | int) for array in arrays):
        return np
    import jax.numpy as jnp

    return jnp
