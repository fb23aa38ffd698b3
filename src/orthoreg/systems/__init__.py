"""Benchmark systems with known truth."""

from ._system import AbstractSystem as AbstractSystem
from ._system import Sampling as Sampling
from ._system import Split as Split
from ._system import generate as generate
from ._system import true_derivatives as true_derivatives
from ._systems import DIFFICULTIES as DIFFICULTIES
from ._systems import SIR as SIR
from ._systems import SYSTEMS as SYSTEMS
from ._systems import Duffing as Duffing
from ._systems import LotkaVolterra as LotkaVolterra
from ._systems import Pendulum as Pendulum
