"""One fit of a flow, by orthoreg or by PySINDy."""

from typing import Any

from ._ours import our_case
from ._peers import peer_case


def fit_case(case: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a case. Cases without a method are fits by orthoreg."""
    return peer_case(case) if "method" in case else our_case(case)
