"""Model files: JSON and arrays in one zip file, rebuilt from known parts without running code."""

from ._archive import VERSION as VERSION
from ._archive import migrate as migrate
from ._archive import read_model as read_model
from ._archive import write_model as write_model
from ._parts import check_array as check_array
from ._parts import evidence_from_parts as evidence_from_parts
from ._parts import evidence_parts as evidence_parts
from ._parts import field_from_parts as field_from_parts
from ._parts import field_parts as field_parts
from ._parts import path_parts as path_parts
from ._parts import paths_from_parts as paths_from_parts
from ._parts import refinement_from_parts as refinement_from_parts
from ._parts import refinement_parts as refinement_parts
from ._parts import uncertainty_from_parts as uncertainty_from_parts
from ._parts import uncertainty_parts as uncertainty_parts
from ._recipes import decode as decode
from ._recipes import encode as encode
from ._recipes import encode_library as encode_library
