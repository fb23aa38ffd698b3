"""What may be wrong with data or library: one pure function for each thing to try next."""

from ._chaos import chaotic as chaotic
from ._few_rows import few_rows as few_rows
from ._lag import lag as lag
from ._larger_library import LargerLibrary as LargerLibrary
from ._larger_library import larger_library as larger_library
from ._missing_variable import missing_variable as missing_variable
from ._noise import noise as noise
from ._order import second_order as second_order
from ._time import TimeDependence as TimeDependence
from ._time import time_dependence as time_dependence
