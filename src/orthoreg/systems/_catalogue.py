"""All benchmark systems by the names of the command line."""

from ._duffing import Duffing
from ._lotka_volterra import LotkaVolterra
from ._pendulum import Pendulum
from ._sir import SIR
from ._system import AbstractSystem

SYSTEMS: dict[str, type[AbstractSystem]] = {
    "pendulum": Pendulum,
    "duffing": Duffing,
    "lotka-volterra": LotkaVolterra,
    "sir": SIR,
}
