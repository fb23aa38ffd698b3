"""The proposals of `explain` beside its report, so that accepting one does not search again."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from .. import __version__
from .._common.errors import InputError
from .._common.files import atomic_write
from ..data import Dataset
from ..model.explanation import Addition, Explanation


@final
@dataclass(frozen=True)
class StoredExplanation:
    """Proposals as they were printed, and what accepting each of them needs."""

    text: str
    entries: dict[str, Any]
    additions: tuple[Addition, ...]

    def addition(self, place: int) -> Addition:
        """The addition of the proposal with this number."""
        if not 0 <= place < len(self.additions):
            raise InputError(
                f"There are {len(self.additions)} proposals, counted from 0; got {place}."
            )
        return self.additions[place]


def search_key(model: Path, data: Dataset, functions_of_time: bool) -> str:
    """Return a hash of everything that the proposals depend on: the model file, the data, the
    option and the version of the program."""
    key = hashlib.sha256(model.read_bytes())
    names = [data.variable_names, data.state_names, sorted(data.velocity_of.items())]
    key.update(json.dumps([__version__, functions_of_time, names, data.estimated]).encode())
    for values in (data.times, data.states, data.inputs, data.derivatives, data.offsets):
        key.update(b"-" if values is None else np.ascontiguousarray(values).tobytes())
    return key.hexdigest()


def write_stored(path: Path, key: str, found: Explanation) -> None:
    """Write the proposals."""
    values = {
        "key": key,
        "text": repr(found),
        **found.to_dict(),
        "additions": [one.addition(str(i)).to_dict() for i, one in enumerate(found.proposals)],
    }
    with atomic_write(path) as stream:
        stream.write(json.dumps(values, indent=1).encode())


def read_stored(path: Path, key: str) -> StoredExplanation | None:
    """Return the proposals for exactly this model and these data; None if there are none."""
    try:
        values = json.loads(path.read_text())
        if values["key"] != key:
            return None
        entries = {"proposals": list(values["proposals"]), "timed_out": bool(values["timed_out"])}
        additions = tuple(Addition.from_dict(one) for one in values["additions"])
        return StoredExplanation(str(values["text"]), entries, additions)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
