"""Simulate vector fields from initial states. Long simulations are compiled by JAX."""

from ._delays import History as History
from ._delays import delayed_columns as delayed_columns
from ._delays import rows_with_history as rows_with_history
from ._delays import simulate_by_steps as simulate_by_steps
from ._delays import with_delayed_inputs as with_delayed_inputs
from ._delays import with_delays as with_delays
from ._inputs import Inputs as Inputs
from ._inputs import Interpolation as Interpolation
from ._inputs import SampledInput as SampledInput
from ._inputs import chosen_interpolation as chosen_interpolation
from ._inputs import input_interpolation as input_interpolation
from ._inputs import interpolation_words as interpolation_words
from ._inputs import run_inputs as run_inputs
from ._inputs import sampled as sampled
from ._inputs import simulation_inputs as simulation_inputs
from ._integrate import NumpyField as NumpyField
from ._integrate import Rollout as Rollout
from ._integrate import Status as Status
from ._integrate import integrate as integrate
from ._iterate import iterate as iterate
from ._switching import AbstractSwitchedField as AbstractSwitchedField
from ._switching import in_numpy as in_numpy
from ._tsit5 import PLACES as PLACES
from ._tsit5 import WEIGHTS as WEIGHTS
