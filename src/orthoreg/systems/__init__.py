"""Benchmark systems with known truth."""

from ._pendulum import DIFFICULTIES as DIFFICULTIES
from ._pendulum import Pendulum as Pendulum
from ._system import AbstractSystem as AbstractSystem
from ._system import Split as Split
from ._system import generate as generate
from ._system import true_derivatives as true_derivatives
