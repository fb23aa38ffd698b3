"""Mathematics of the pages, set at build time as MathML, which browsers show without a script."""

import re
from typing import Any

from latex2mathml.converter import convert

_CODE = re.compile(r"(^```.*?^```|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
_DISPLAYED = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)
_INLINE = re.compile(r"\$([^$\n]+)\$")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """$...$ and $$...$$ as MathML, on pages whose head says `math: true`."""
    if not page.meta.get("math"):
        return markdown
    parts = _CODE.split(markdown)
    return "".join(part if i % 2 else _set(part) for i, part in enumerate(parts))


def _set(text: str) -> str:
    text = _DISPLAYED.sub(lambda found: f"\n{convert(found[1].strip(), display='block')}\n", text)
    return _INLINE.sub(lambda found: convert(found[1]), text)
