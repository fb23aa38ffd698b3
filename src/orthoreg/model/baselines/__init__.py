"""Other methods behind the interface of `OrthoReg`, to compare with."""

from ._networks import PINN as PINN
from ._networks import UniversalODE as UniversalODE
from ._stlsq import STLSQ as STLSQ
