"""Hybrid symbolic-neural system identification: dx/dt = equations + an orthogonal residual."""

from . import presets as presets
from ._bootstrap import bootstrap as bootstrap
from ._errors import OrthoregError as OrthoregError
from ._estimator import OrthoReg as OrthoReg
from ._gate import Gate as Gate
from ._load import load as load
from ._model import fit_together as fit_together
from ._tune import tune as tune
from .augmentations import MLP as MLP
from .augmentations import RandomFeatures as RandomFeatures
from .augmentations import Zero as Zero
from .baselines import PINN as PINN
from .baselines import STLSQ as STLSQ
from .baselines import UniversalODE as UniversalODE
from .data import Dataset as Dataset
from .data import read_table as read_table
from .differentiation import Automatic as Automatic
from .differentiation import FiniteDifference as FiniteDifference
from .differentiation import LocalPolynomial as LocalPolynomial
from .differentiation import SavitzkyGolay as SavitzkyGolay
from .differentiation import SmoothedFiniteDifference as SmoothedFiniteDifference
from .differentiation import SmoothingSpline as SmoothingSpline
from .libraries import Fourier as Fourier
from .libraries import PerState as PerState
from .libraries import Polynomial as Polynomial
from .libraries import Terms as Terms
from .losses import MultiStep as MultiStep
from .losses import OneStep as OneStep
from .losses import VectorField as VectorField
from .selection import CrossValidation as CrossValidation
from .selection import Extrapolation as Extrapolation
from .selection import InformationCriterion as InformationCriterion
from .selection import StabilitySelection as StabilitySelection
from .solvers import Adam as Adam
from .solvers import Exact as Exact

__version__ = "0.1.0"
