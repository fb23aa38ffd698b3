"""Files are either complete or absent, and files of killed writers are soon deleted."""

import multiprocessing
import os
import signal
import time

import pytest

from orthoreg._common.files import atomic_write

PARTS = ".*.part"


def write_forever(path, ready):
    with atomic_write(path) as stream:
        stream.write(b"half of a new file")
        stream.flush()
        ready.set()
        time.sleep(60)


@pytest.fixture
def killed(tmp_path):
    """A file next to the temporary file of a writer that was killed."""
    target = tmp_path / "m.json"
    target.write_bytes(b"old")
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    writer = context.Process(target=write_forever, args=(target, ready))
    writer.start()
    assert ready.wait(60)
    yield target, writer
    if writer.is_alive():
        writer.kill()
        writer.join()


def test_the_next_writer_deletes_what_a_killed_one_left(killed):
    target, writer = killed
    writer.kill()
    writer.join()
    assert target.read_bytes() == b"old" and len(list(target.parent.glob(PARTS))) == 1
    with atomic_write(target) as stream:
        stream.write(b"new")
    assert target.read_bytes() == b"new" and not list(target.parent.glob(PARTS))


@pytest.mark.skipif(os.name == "nt", reason="processes are stopped by signals")
def test_a_writer_at_work_keeps_its_file(killed):
    target, writer = killed
    os.kill(writer.pid, signal.SIGSTOP)
    try:
        with atomic_write(target) as stream:
            stream.write(b"new")
        assert len(list(target.parent.glob(PARTS))) == 1
    finally:
        os.kill(writer.pid, signal.SIGCONT)


def test_files_of_others_are_kept(tmp_path):
    others = [".m.json.part", ".other.json.0a1b2c3d.part", "m.json.0a1b2c3d.part"]
    for name in others:
        (tmp_path / name).write_bytes(b"kept")
    (tmp_path / ".m.json.0a1b2c3d.part").write_bytes(b"abandoned")
    with atomic_write(tmp_path / "m.json") as stream:
        stream.write(b"new")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*others, "m.json"])


def test_a_file_deleted_before_it_was_locked_is_made_again(tmp_path, monkeypatch):
    """Another writer may treat a file without a lock as abandoned."""
    from orthoreg._common import files

    locked, calls = files._locked, []

    def late(stream):
        calls.append(stream.name)
        if len(calls) == 1:
            os.unlink(stream.name)
        return locked(stream)

    monkeypatch.setattr(files, "_locked", late)
    with atomic_write(tmp_path / "m.json") as stream:
        stream.write(b"new")
    assert (tmp_path / "m.json").read_bytes() == b"new" and len(calls) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["m.json"]
