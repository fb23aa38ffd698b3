"""Runs the code of pages as a reader would, from top to bottom, each page in an empty folder.

    python docs/run_blocks.py docs/start.md ...           # fails where a page is wrong
    python docs/run_blocks.py --write docs/start.md ...   # writes what is printed

Blocks of Python of one page share their names. In blocks of bash the commands of `orthoreg` run,
and all others are left out. A block ```text after one of these is what it prints.
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
_CLOSE = 0.05  # numbers may differ by this share between machines


def main(arguments: list[str]) -> int:
    write = arguments[:1] == ["--write"]
    failures = 0
    for path in map(Path, arguments[write:]):
        page = path.read_text()
        found = run_page(page, path.name)
        if write:
            path.write_text(found)
        elif not alike(page, found):
            print(f"{path}: the code prints something else than the page says", file=sys.stderr)
            sys.stderr.writelines(_differences(page, found))
            failures += 1
    return min(failures, 1)


def run_page(page: str, name: str) -> str:
    """The page with what its blocks print now."""
    names: dict[str, object] = {"__name__": "__page__"}
    before = Path.cwd()

    def run(found: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            if found["kind"] == "python":
                exec(compile(found["code"], f"{name} (page)", "exec"), names)
            else:
                _commands(found["code"])
        if found["printed"] is None:
            return found[0]
        head = found[0].split("\n\n```text\n")[0]
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
    """Whether two pages are the same, up to the last digits of numbers."""
    if _NUMBER.sub("#", page).split() != _NUMBER.sub("#", other).split():
        return False
    pairs = zip(_NUMBER.findall(page), _NUMBER.findall(other), strict=True)
    numbers = ((float(one), float(two)) for one, two in pairs)
    return all(abs(one - two) <= _CLOSE * max(abs(one), abs(two)) + 1e-9 for one, two in numbers)


def _differences(page: str, other: str) -> list[str]:
    import difflib

    lines = (page.splitlines(keepends=True), other.splitlines(keepends=True))
    return list(difflib.unified_diff(*lines, "page", "now"))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
