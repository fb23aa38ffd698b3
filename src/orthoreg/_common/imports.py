"""Imports of packages that change global state."""

import os
import random
import sys
from importlib import import_module


def import_cleanly(*names: str) -> None:
    """Import modules, then restore the environment and the global random generators.

    On import, threadpoolctl, scikit-learn and JAX set variables in `os.environ`, Rich draws from
    `random`, and JAX from `numpy.random`. Call this before the first import of such a package.
    """
    if all(name in sys.modules for name in names):
        return
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
