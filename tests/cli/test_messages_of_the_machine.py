"""Messages about memory and disks name the cause as far as it is known."""

import errno
import os

import pytest

from orthoreg._common.files import atomic_write
from orthoreg.cli import exit_code


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), "There is not enough memory. Use fewer rows"),
        (MemoryError("3 GiB"), "There is not enough memory: 3 GiB. Use fewer rows"),
    ],
)
def test_memory(error, words, capsys):
    def command():
        raise error

    assert exit_code(command, "orthoreg") == 2
    assert words in capsys.readouterr().err


def test_a_full_disk_is_reported_with_the_file(tmp_path, capsys):
    target = tmp_path / "model.orthoreg"

    def command():
        with atomic_write(target):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    assert exit_code(command, "orthoreg") == 2
    assert f"No space left on device: '{target}'" in capsys.readouterr().err
    assert os.listdir(tmp_path) == []
