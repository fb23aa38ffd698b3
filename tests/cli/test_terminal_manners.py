"""Colours can be switched off, shells complete commands, and programs can read the output."""

import os
import re
import subprocess
import sys

import pytest

COLOUR = re.compile("\x1b\\[[0-9;]*3[0-9]")


def output(arguments: list[str], **variables: str) -> str:
    """Return the output of a separate process."""
    done = subprocess.run(
        [sys.executable, "-m", "orthoreg", *arguments], capture_output=True, text=True,
        env={**os.environ, **variables}, timeout=120,
    )  # fmt: skip
    return done.stdout


def test_no_color_is_respected():
    assert COLOUR.search(output(["--help"], FORCE_COLOR="1", NO_COLOR=""))
    assert not COLOUR.search(output(["--help"], FORCE_COLOR="1", NO_COLOR="1"))


@pytest.mark.parametrize(
    "line, found",
    [("orthoreg re", {"report", "refine", "reproduce"}), ("orthoreg fit --li", {"--library"})],
)
def test_a_shell_completes_commands_and_options(line, found):
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    assert set(output([], _ORTHOREG_COMPLETE="complete_bash", **words).split()) == found
