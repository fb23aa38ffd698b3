"""Hybrid symbolic-neural system identification: dx/dt = equations + an orthogonal residual.

Names are imported when they are first used, so that `import orthoreg` takes almost no time.
"""

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import presets as presets
    from ._common.errors import DataError as DataError
    from ._common.errors import DataWarning as DataWarning
    from ._common.errors import InputError as InputError
    from ._common.errors import ModelFileError as ModelFileError
    from ._common.errors import OrthoregError as OrthoregError
    from ._common.errors import SimulationError as SimulationError
    from ._common.errors import TrainingError as TrainingError
    from ._common.errors import TrainingWarning as TrainingWarning
    from ._common.parallel import cluster as cluster
    from .data import ChunkedDataset as ChunkedDataset
    from .data import Dataset as Dataset
    from .data import read_table as read_table
    from .field import MLP as MLP
    from .field import RandomFeatures as RandomFeatures
    from .field import Zero as Zero
    from .field.gate import Gate as Gate
    from .losses import Auto as Auto
    from .losses import Automatic as Automatic
    from .losses import FiniteDifference as FiniteDifference
    from .losses import LocalPolynomial as LocalPolynomial
    from .losses import Measured as Measured
    from .losses import MultiStep as MultiStep
    from .losses import NextState as NextState
    from .losses import OneStep as OneStep
    from .losses import SavitzkyGolay as SavitzkyGolay
    from .losses import SmoothedFiniteDifference as SmoothedFiniteDifference
    from .losses import SmoothingSpline as SmoothingSpline
    from .losses import VectorField as VectorField
    from .losses import Weak as Weak
    from .model.baselines import PINN as PINN
    from .model.baselines import STLSQ as STLSQ
    from .model.baselines import UniversalODE as UniversalODE
    from .model.bootstrap import bootstrap as bootstrap
    from .model.discovery import discover as discover
    from .model.estimator import OrthoReg as OrthoReg
    from .model.learning import fit_together as fit_together
    from .model.load import load as load
    from .model.pysindy import from_pysindy as from_pysindy
    from .model.tune import tune as tune
    from .physics import Even as Even
    from .physics import Odd as Odd
    from .physics import Periodic as Periodic
    from .physics import Physics as Physics
    from .physics import Reflection as Reflection
    from .reporting import report as report
    from .search.formulas import Atom as Atom
    from .search.rows import CrossValidation as CrossValidation
    from .search.rows import Extrapolation as Extrapolation
    from .search.rows import InformationCriterion as InformationCriterion
    from .search.rows import StabilitySelection as StabilitySelection
    from .solving import Adam as Adam
    from .solving import Exact as Exact
    from .terms import Fourier as Fourier
    from .terms import Neighbors as Neighbors
    from .terms import PerState as PerState
    from .terms import Polynomial as Polynomial
    from .terms import Terms as Terms

__version__ = "0.2.0"

# must list the imports above; a test compares the two
_NAMES = {
    ".model.bootstrap": ("bootstrap",),
    ".model.discovery": ("discover",),
    "._common.errors": (
        "DataError", "DataWarning", "InputError", "ModelFileError", "OrthoregError",
        "SimulationError", "TrainingError", "TrainingWarning",
    ),
    ".model.estimator": ("OrthoReg",),
    ".field.gate": ("Gate",),
    ".model.load": ("load",),
    ".model.learning": ("fit_together",),
    "._common.parallel": ("cluster",),
    ".model.pysindy": ("from_pysindy",),
    ".model.tune": ("tune",),
    ".field": ("MLP", "RandomFeatures", "Zero"),
    ".model.baselines": ("PINN", "STLSQ", "UniversalODE"),
    ".data": ("ChunkedDataset", "Dataset", "read_table"),
        ".search.formulas": ("Atom",),
    ".terms": ("Fourier", "Neighbors", "PerState", "Polynomial", "Terms"),
    ".losses": (
        "Auto", "Automatic", "FiniteDifference", "LocalPolynomial", "Measured", "MultiStep",
        "NextState", "OneStep", "SavitzkyGolay", "SmoothedFiniteDifference", "SmoothingSpline",
        "VectorField", "Weak",
    ),
    ".physics": ("Even", "Odd", "Periodic", "Physics", "Reflection"),
    ".reporting": ("report",),
    ".search.rows": (
        "CrossValidation", "Extrapolation", "InformationCriterion", "StabilitySelection",
    ),
    ".solving": ("Adam", "Exact"),
}  # fmt: skip
# packages that had other names in version 0.2
_MOVED = {
    "augmentations": "field", "differentiation": "losses", "explanation": "search.formulas",
    "libraries": "terms", "moments": "solving", "quadratic": "solving", "refinement": "matching",
    "selection": "search.rows", "solvers": "solving",
    "summary": "findings", "views": "findings.charts",
}  # fmt: skip
_HOMES = {name: home for home, names in _NAMES.items() for name in names}
__all__ = ["__version__", "presets", *_HOMES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Return a public name, or a public module such as `orthoreg.plotting`."""
    if name in _HOMES:
        value = globals()[name] = getattr(import_module(_HOMES[name], __name__), name)
        return value
    if name in _MOVED:
        warnings.warn(
            f"orthoreg.{name} is now orthoreg.{_MOVED[name]}", DeprecationWarning, stacklevel=2
        )
        name = _MOVED[name]
    if not name.startswith("_"):
        try:
            return import_module(f".{name}", __name__)
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
