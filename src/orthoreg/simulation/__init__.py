"""Rollouts of a vector field from given starts."""

from ._integrate import integrate as integrate
from ._rollout import Rollout as Rollout
from ._rollout import Status as Status
