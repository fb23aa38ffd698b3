"""Run the code blocks of pages from top to bottom, each page in an empty folder.

    python docs/run_blocks.py docs/start.md ...           # fails if the output of a page differs
    python docs/run_blocks.py --write docs/start.md ...   # writes the output into the page

The Python blocks of a page share their names. In bash blocks, only `orthoreg` commands run. A
```text block after a code block is its output.
"""

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

_BLOCK = re.compile(
    r"^```(?P<kind>python|bash)\n(?P<code>.*?)^```$(?:\n\n```text\n(?P<printed>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_CLOSE = 0.05  # relative difference of numbers between machines


def main(arguments: list[str]) -> int:
    write = arguments[:1] == ["--write"]
    failures = 0
    for path in map(Path, arguments[write:]):
        page = path.read_text()
        new = run_page(page, path.name)
        if write:
            path.write_text(new)
        elif not alike(page, new):
            print(f"{path}: the output of the code differs from the page", file=sys.stderr)
            sys.stderr.writelines(_differences(page, new))
            failures += 1
    return min(failures, 1)


def run_page(page: str, name: str) -> str:
    """Return the page with the current output of its blocks."""
    names: dict[str, object] = {"__name__": "__page__"}
    before = Path.cwd()

    def run(block: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            if block["kind"] == "python":
                exec(compile(block["code"], f"{name} (page)", "exec"), names)
            else:
                _commands(block["code"])
        if block["printed"] is None:
            return block[0]
        head = block[0].split("\n\n```text\n")[0]
        lines = "\n".join(line.rstrip() for line in printed.getvalue().rstrip().splitlines())
        return f"{head}\n\n```text\n{lines}\n```"

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return _BLOCK.sub(run, page)
        finally:
            os.chdir(before)


def _commands(code: str) -> None:
    from orthoreg.cli import run

    for line in code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["orthoreg"] and run(words[1:]) != 0:
            raise SystemExit(f"failed: {line}")


def alike(page: str, other: str) -> bool:
    """Return whether two pages are equal, up to the last digits of numbers."""
    if _NUMBER.sub("#", page).split() != _NUMBER.sub("#", other).split():
        return False
    pairs = zip(_NUMBER.findall(page), _NUMBER.findall(other), strict=True)
    numbers = ((float(a), float(b)) for a, b in pairs)
    return all(abs(a - b) <= _CLOSE * max(abs(a), abs(b)) + 1e-9 for a, b in numbers)


def _differences(page: str, other: str) -> list[str]:
    import difflib

    lines = (page.splitlines(keepends=True), other.splitlines(keepends=True))
    return list(difflib.unified_diff(*lines, "page", "now"))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
