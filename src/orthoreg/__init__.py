"""Hybrid symbolic-neural system identification: dx/dt = equations + an orthogonal residual.

A name is imported when it is first used, so that `import orthoreg` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import presets as presets
    from ._bootstrap import bootstrap as bootstrap
    from ._discovering import discover as discover
    from ._errors import DataError as DataError
    from ._errors import DataWarning as DataWarning
    from ._errors import InputError as InputError
    from ._errors import ModelFileError as ModelFileError
    from ._errors import OrthoregError as OrthoregError
    from ._errors import SimulationError as SimulationError
    from ._errors import TrainingError as TrainingError
    from ._errors import TrainingWarning as TrainingWarning
    from ._estimator import OrthoReg as OrthoReg
    from ._gate import Gate as Gate
    from ._load import load as load
    from ._model import fit_together as fit_together
    from ._parallel import cluster as cluster
    from ._pysindy import from_pysindy as from_pysindy
    from ._tune import tune as tune
    from .augmentations import MLP as MLP
    from .augmentations import RandomFeatures as RandomFeatures
    from .augmentations import Zero as Zero
    from .baselines import PINN as PINN
    from .baselines import STLSQ as STLSQ
    from .baselines import UniversalODE as UniversalODE
    from .data import ChunkedDataset as ChunkedDataset
    from .data import Dataset as Dataset
    from .data import read_table as read_table
    from .differentiation import Automatic as Automatic
    from .differentiation import FiniteDifference as FiniteDifference
    from .differentiation import LocalPolynomial as LocalPolynomial
    from .differentiation import SavitzkyGolay as SavitzkyGolay
    from .differentiation import SmoothedFiniteDifference as SmoothedFiniteDifference
    from .differentiation import SmoothingSpline as SmoothingSpline
    from .explanation import Atom as Atom
    from .libraries import Fourier as Fourier
    from .libraries import Neighbors as Neighbors
    from .libraries import PerState as PerState
    from .libraries import Polynomial as Polynomial
    from .libraries import Terms as Terms
    from .losses import Measured as Measured
    from .losses import MultiStep as MultiStep
    from .losses import OneStep as OneStep
    from .losses import VectorField as VectorField
    from .losses import Weak as Weak
    from .physics import Even as Even
    from .physics import Odd as Odd
    from .physics import Periodic as Periodic
    from .physics import Physics as Physics
    from .physics import Reflection as Reflection
    from .reporting import report as report
    from .selection import CrossValidation as CrossValidation
    from .selection import Extrapolation as Extrapolation
    from .selection import InformationCriterion as InformationCriterion
    from .selection import StabilitySelection as StabilitySelection
    from .solvers import Adam as Adam
    from .solvers import Exact as Exact

__version__ = "0.2.0"

# the block above, for the interpreter; a test compares the two
_NAMES = {
    "._bootstrap": ("bootstrap",),
    "._discovering": ("discover",),
    "._errors": (
        "DataError", "DataWarning", "InputError", "ModelFileError", "OrthoregError",
        "SimulationError", "TrainingError", "TrainingWarning",
    ),
    "._estimator": ("OrthoReg",),
    "._gate": ("Gate",),
    "._load": ("load",),
    "._model": ("fit_together",),
    "._parallel": ("cluster",),
    "._pysindy": ("from_pysindy",),
    "._tune": ("tune",),
    ".augmentations": ("MLP", "RandomFeatures", "Zero"),
    ".baselines": ("PINN", "STLSQ", "UniversalODE"),
    ".data": ("ChunkedDataset", "Dataset", "read_table"),
    ".differentiation": (
        "Automatic", "FiniteDifference", "LocalPolynomial", "SavitzkyGolay",
        "SmoothedFiniteDifference", "SmoothingSpline",
    ),
    ".explanation": ("Atom",),
    ".libraries": ("Fourier", "Neighbors", "PerState", "Polynomial", "Terms"),
    ".losses": ("Measured", "MultiStep", "OneStep", "VectorField", "Weak"),
    ".physics": ("Even", "Odd", "Periodic", "Physics", "Reflection"),
    ".reporting": ("report",),
    ".selection": (
        "CrossValidation", "Extrapolation", "InformationCriterion", "StabilitySelection",
    ),
    ".solvers": ("Adam", "Exact"),
}  # fmt: skip
_HOMES = {name: home for home, names in _NAMES.items() for name in names}
__all__ = ["__version__", "presets", *_HOMES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """A public name, or a public folder such as `orthoreg.plotting`."""
    if name in _HOMES:
        value = globals()[name] = getattr(import_module(_HOMES[name], __name__), name)
        return value
    if not name.startswith("_"):
        try:
            return import_module(f".{name}", __name__)
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
