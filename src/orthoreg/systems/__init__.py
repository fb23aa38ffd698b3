"""Benchmark systems with known truth."""

from ._catalogue import SYSTEMS as SYSTEMS
from ._duffing import Duffing as Duffing
from ._lotka_volterra import LotkaVolterra as LotkaVolterra
from ._pendulum import DIFFICULTIES as DIFFICULTIES
from ._pendulum import Pendulum as Pendulum
from ._sir import SIR as SIR
from ._system import AbstractSystem as AbstractSystem
from ._system import Sampling as Sampling
from ._system import Split as Split
from ._system import generate as generate
from ._system import true_derivatives as true_derivatives
