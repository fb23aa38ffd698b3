"""Plain tables for the terminal."""

from collections.abc import Sequence
from typing import Any


def table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1
) -> Any:
    """A table for `rich`; its first columns are words, which go on in the next line where the
    terminal is narrow, the others are numbers, which stay whole."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    # Text, not str: names of columns may hold square brackets, which are rich's markup
    result = Table(box=None, pad_edge=False)
    for i, column in enumerate(columns):
        if i < words:
            result.add_column(Text(column), overflow="fold", header_style="dim")
        else:
            result.add_column(Text(column), justify="right", no_wrap=True, header_style="dim")
    for row in rows:
        result.add_row(*(Text(cell) for cell in row))
    return Group(Text(title, "bold"), result)  # a title of the table wraps at the table's width
