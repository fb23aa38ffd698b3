"""scikit-learn's base classes, without what they load for the sake of others.

`sklearn.base` imports scipy.stats and pandas for a few functions that no estimator here calls:
1.1 s of CPU, a quarter of a whole `orthoreg fit`. While it loads, forwarders stand in for the two;
whoever took hold of one loads the real module when the first name is read from it.
"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from types import ModuleType
from typing import Any, final


@final
class _Forwarder(ModuleType):
    """Any name of a module that is imported when the first of them is read."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


@contextmanager
def imported_later(*names: str) -> Iterator[None]:
    """Imports of these modules, within, are put off until they are used. One that is loaded
    already, or not installed, is left alone; afterwards `sys.modules` is as it was."""
    held: list[_Forwarder] = []
    for name in names:
        if name not in sys.modules and find_spec(name) is not None:
            held.append(_Forwarder(name))
            sys.modules[name] = held[-1]
    try:
        yield
    finally:
        for one in held:
            if sys.modules.get(one.__name__) is one:
                del sys.modules[one.__name__]


with imported_later("scipy.stats", "pandas"):
    from sklearn.base import BaseEstimator as BaseEstimator
    from sklearn.base import RegressorMixin as RegressorMixin
    from sklearn.base import clone as clone
    from sklearn.utils.validation import check_is_fitted as check_is_fitted
    from sklearn.utils.validation import validate_data as validate_data
