"""Render a report as one HTML document. It loads nothing, and all names are escaped."""

import base64
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from ..._common.html import escape
from ...findings.charts import ReportData
from ._payload import payload
from ._sections import sections

_HERE = Path(__file__).parent


def render(data: ReportData) -> str:
    """Return the report as one HTML document."""
    scripts = (_plotly(), _text("page.js"))
    return document(f"{data.title} – orthoreg", sections(data), scripts=scripts, data=payload(data))


def document(
    title: str, body: list[tuple[str, str, str]], *, scripts: tuple[str, ...] = (), data: Any = None
) -> str:
    """Return a page of sections. Each section is (id, word for the navigation or '', HTML)."""
    links = "".join(f'<a href="#{key}">{escape(word)}</a>' for key, word, _ in body if word)
    content = "\n".join(
        f'<section id="{key}" aria-label="{escape(word or title)}">{html}</section>'
        for key, word, html in body
    )
    scripts = (*scripts, _text("theme.js"))
    parts = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">',
        f"<title>{escape(title)}</title>",
        f"<style>{_text('page.css')}</style>",
        "</head>",
        "<body>",
        '<a class="skip" href="#content">Skip to the content</a>',
        '<header class="bar"><span class="brand">orthoreg</span>',
        f'<nav aria-label="Sections">{links}</nav>',
        '<button id="theme" type="button" aria-live="polite" title="Colours of the page">'
        "Theme: auto</button></header>",
        f'<main id="content">{content}</main>',
        "<footer>Written by orthoreg. This file is self-contained: it loads nothing from "
        "elsewhere.</footer>",
    ]
    if data is not None:
        parts.append(f'<script type="application/json" id="report-data">{_json(data)}</script>')
    parts += [f"<script>{script}</script>" for script in scripts]
    return "\n".join([*parts, "</body>", "</html>", ""])


def _policy(scripts: tuple[str, ...]) -> str:
    """Return a content security policy that allows only these scripts and loads nothing."""
    hashes = " ".join(f"'sha256-{_sha(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes or chr(39) + 'none' + chr(39)}; "
        f"style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


@cache
def _sha(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _json(value: Any) -> str:
    """Return JSON that is valid inside a script element."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


@cache
def _plotly() -> str:
    """Return plotly.js with only the Cartesian traces, a third of its full size."""
    # the source must not contain the closing tag of the script element
    return _text("plotly/plotly-cartesian.min.js").replace("</script", "<\\/script")
