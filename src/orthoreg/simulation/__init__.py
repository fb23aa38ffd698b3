"""Rollouts of a vector field from given starts. Diffrax is loaded with the first of them."""

from typing import TYPE_CHECKING, Any

from ._rollout import Rollout as Rollout
from ._rollout import Status as Status

if TYPE_CHECKING:
    from ._integrate import integrate as integrate


def __getattr__(name: str) -> Any:
    if name != "integrate":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from ._integrate import integrate

    return integrate
