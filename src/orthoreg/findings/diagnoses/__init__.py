"""Diagnoses of data and library: one pure function for each kind of advice."""

from ._chaos import chaotic as chaotic
from ._chaos import forecast_horizon as forecast_horizon
from ._data import few_rows as few_rows
from ._data import lag as lag
from ._data import noise as noise
from ._dead_time import DeadTime as DeadTime
from ._dead_time import dead_time as dead_time
from ._forcing import TimeDependence as TimeDependence
from ._forcing import missing_variable as missing_variable
from ._forcing import time_dependence as time_dependence
from ._larger_library import LargerLibrary as LargerLibrary
from ._larger_library import larger_library as larger_library
from ._map import discrete as discrete
from ._order import HigherOrder as HigherOrder
from ._order import higher_order as higher_order
from ._per_run import DiffersByRun as DiffersByRun
from ._per_run import differs_by_run as differs_by_run
