"""Measurements: runs of a system with checked times, states and inputs, and tables of them."""

from ._checks import as_numbers as as_numbers
from ._dataset import Dataset as Dataset
from ._dataset import concatenate as concatenate
from ._samples import Samples as Samples
from ._tables import read_table as read_table
from ._tables import write_table as write_table
