"""`Note`: what was found out, or repaired, while a table was read."""

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True)
class Note:
    """One sentence about how a table was read. `code` names its kind; `count` is how many rows,
    cells or lines it is about (0 where that means nothing); `is_repair` says whether measurements
    were changed or left out, which happens only on request."""

    code: str
    text: str
    count: int = 0
    is_repair: bool = False

    def __str__(self) -> str:
        return self.text
