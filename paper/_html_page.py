"""The results of experiments as a self-contained HTML page."""

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from orthoreg._common.html import escape, html_table
from orthoreg.rendering.html import document

from ._render import FOOTNOTE
from ._tables import Table
from .figures import CAPTIONS

_MAX_BYTES = 4_000_000  # maximum size of figures in a page that can be sent by email


def html_page(result: Any, pictures: Sequence[Path]) -> str:
    """Return a page with verdicts, targets, tables with the paper's values, and figures."""
    size = "full size" if result.scale.is_full else "a quick run at reduced sizes"
    names = ", ".join(result.names)
    head = (
        '<p class="eyebrow">Reproduction report</p><h1>Experiments of the paper</h1>'
        f'<p class="lead">{escape(names)} · {escape(size)} · {len(result.records):,} records</p>'
    )
    parts = [("summary", "", head)]
    if result.verdicts:
        parts.append(("claims", "Claims", _claims(result)))
    if result.targets:
        rows = [(target.text, "yes" if target.holds else "no") for target in result.targets]
        body = f"<h2>Targets of the recommended default</h2>{_table(('target', 'reached'), rows)}"
        parts.append(("targets", "Targets", body))
    for name, table in result.tables.items():
        parts.append((name.replace("_", "-"), table.title, _experiment(table)))
    figures = _figures(pictures)
    if figures:
        parts.append(("figures", "Figures", f"<h2>Figures</h2>{figures}"))
    return document("Reproduction – orthoreg", parts)


def _claims(result: Any) -> str:
    rows = [
        (f"{verdict.number}. {verdict.claim}", reading.name, reading.verdict)
        for verdict in result.verdicts
        for reading in verdict.readings
    ]
    return f"<h2>Claims of the paper</h2>{_table(('claim', 'reading', 'verdict'), rows, 3)}"


def _experiment(table: Table) -> str:
    rows: list[list[str]] = []
    for block in table.blocks:
        if len(table.blocks) > 1:
            rows.append([block.title, *("" for _ in table.methods)])
        for row in block.rows:
            rows.append([row.label, *(cell.ours_text for cell in row.cells)])
            if row.has_paper:
                rows.append(["paper", *(cell.paper_text for cell in row.cells)])
    return (
        f"<h2>{escape(table.title)}</h2><p>{escape(table.caption)}</p>"
        f"{_table(table.headings, rows)}"
        f'<p class="quiet">{escape(FOOTNOTE)}</p>'
    )


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> str:
    inside = html_table(columns, rows, words=words)
    return f'<div class="scroll" tabindex="0" role="region" aria-label="Table">{inside}</div>'


def _figures(pictures: Sequence[Path]) -> str:
    """Embed figures up to the maximum size of a page."""
    text, total = "", 0
    for path in pictures:
        content = path.read_bytes()
        total += len(content)
        if total > _MAX_BYTES:
            text += f'<p class="quiet">{escape(path.name)} is in the folder beside this page.</p>'
            continue
        words = CAPTIONS.get(path.stem, path.stem)
        data = base64.b64encode(content).decode()
        text += (
            f'<figure><img alt="{escape(words)}" src="data:image/png;base64,{data}">'
            f'<figcaption class="quiet">{escape(words)}</figcaption></figure>'
        )
    return text
