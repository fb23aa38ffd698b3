"""Imports of packages that change global state."""

import os
import random
import sys
from importlib import import_module
from math import inf
from pathlib import Path

_JAX_ADDRESSES = 2  # GiB. With less than about 1.6 GB, JAX 0.10 aborts the process or crashes


def import_cleanly(*names: str) -> None:
    """Import modules, then restore the environment and the global random generators.

    On import, threadpoolctl, scikit-learn and JAX set variables in `os.environ`, Rich draws from
    `random`, and JAX from `numpy.random`. Call this before the first import of such a package. If
    the limit of the address space is too small for JAX, which would end the process, a MemoryError
    is raised.
    """
    if all(name in sys.modules for name in names):
        return
    if "jax" in names and not has_memory_for_jax():
        raise MemoryError(
            f"JAX needs {_JAX_ADDRESSES} GiB of addresses, more than 'ulimit -v' leaves"
        )
    environment, state = dict(os.environ), random.getstate()
    generator = getattr(sys.modules.get("numpy"), "random", None)
    numpy_state = None if generator is None else generator.get_state()
    try:
        for name in names:
            import_module(name)
    finally:
        for name in set(os.environ) - set(environment):
            del os.environ[name]
        for name, value in environment.items():
            if os.environ.get(name) != value:
                os.environ[name] = value
        random.setstate(state)
        if generator is not None and numpy_state is not None:
            generator.set_state(numpy_state)


def has_memory_for_jax() -> bool:
    """Return whether JAX is imported already, or the limit of the address space leaves enough."""
    return "jax" in sys.modules or _free_addresses() >= _JAX_ADDRESSES << 30


def _free_addresses() -> float:
    """Return the bytes of address space that this process may still reserve."""
    try:
        import resource
    except ImportError:  # Windows
        return inf
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return inf
    try:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:  # not Linux
        used = 0
    return limit - used
