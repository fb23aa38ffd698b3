"""Hooks of the site: formulas as MathML, which browsers render without scripts, and a page for each
example."""

import re
from pathlib import Path
from typing import Any

import jupytext
from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

_CODE = re.compile(r"(^```.*?^```|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
_DISPLAYED = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)
_INLINE = re.compile(r"\$([^$\n]+)\$")


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add a page for each example."""
    for path in sorted(Path(config.config_file_path).parent.glob("examples/*.py")):
        if path.stem != "quickstart":  # README shows it
            text = jupytext.writes(jupytext.read(path), fmt="md")
            text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
            text += f"\nThe script is `examples/{path.name}`. `make notebooks` writes notebooks.\n"
            files.append(File.generated(config, f"examples/{path.stem}.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Convert $...$ and $$...$$ to MathML on pages with `math: true` in their front matter."""
    if not page.meta.get("math"):
        return markdown
    parts = _CODE.split(markdown)
    return "".join(part if i % 2 else _set(part) for i, part in enumerate(parts))


def _set(text: str) -> str:
    text = _DISPLAYED.sub(lambda match: f"\n{convert(match[1].strip(), display='block')}\n", text)
    # without the span, a line that begins with a formula would become a separate paragraph
    return _INLINE.sub(lambda match: f"<span>{convert(match[1])}</span>", text)
