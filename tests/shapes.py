"""Shapes written in annotations are checked in every test, at a price that can be paid.

Checking each of a hundred thousand calls of a small function doubled the time of a test, and making
the checks of functions that nobody calls took seconds of every process. So checks are made when a
function is first called, and after the first calls in a test only some are checked. A function
that is defined within another one is checked the first time that it is defined.
"""

import functools
from collections.abc import Callable
from types import CodeType
from typing import Any

import jaxtyping

_FIRST = 5  # in each test, this many first calls of a function are checked
_THEN = 50  # later, only every nth call is checked
_each_call = jaxtyping.jaxtyped
_calls: dict[CodeType, int] = {}
_inner: set[CodeType] = set()  # the inner functions that were defined before


def watch(modules: list[str], typechecker: str) -> None:
    """Checks functions and classes of these modules when they are imported."""
    jaxtyping.jaxtyped = _jaxtyped  # the decorator that the hook writes above each function
    jaxtyping.install_import_hook(modules, typechecker)


def begin_test() -> None:
    """Start counting calls again for the next test."""
    _calls.clear()


def _jaxtyped(*, typechecker: Any) -> Callable[[Any], Any]:
    def decorated(target: Any) -> Any:
        if isinstance(target, type):
            return _each_call(typechecker=typechecker)(target)
        code, checked = target.__code__, None
        if "<locals>" in target.__qualname__:
            if code in _inner:
                return target
            _inner.add(code)

        @functools.wraps(target)
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal checked
            count = _calls[code] = _calls.get(code, 0) + 1
            if count > _FIRST and count % _THEN:
                return target(*args, **kwargs)
            if checked is None:
                checked = _each_call(typechecker=typechecker)(target)
            return checked(*args, **kwargs)

        return call

    return decorated
