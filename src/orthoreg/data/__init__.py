"""Measurements: runs of a system with checked times, states and inputs, and tables of them."""

from ._checks import as_numbers as as_numbers
from ._dataset import Dataset as Dataset
from ._dataset import concatenate as concatenate
from ._extent import Extent as Extent
from ._notes import Note as Note
from ._rows import Rows as Rows
from ._splitting import Partition as Partition
from ._splitting import extrapolations as extrapolations
from ._splitting import folds as folds
from ._splitting import grouping as grouping
from ._splitting import held_out_rows as held_out_rows
from ._splitting import outward_folds as outward_folds
from ._splitting import place_in_run as place_in_run
from ._splitting import thinned as thinned
from .tables import read_table as read_table
from .tables import write_table as write_table
