"""Files: what a crash leaves behind, locks, and the folders of the user."""

import json
import os
from pathlib import Path

import pytest

from separatrix.errors import SeparatrixError
from separatrix.files import (
    cache_folder,
    data_folder,
    explain_os_errors,
    lock,
    read_json,
    write_atomic,
    write_json,
)


class Crash(BaseException):
    """The end of the process, as far as a `try` can see."""


def test_a_crash_between_write_and_rename_leaves_the_old_file(tmp_path, monkeypatch):
    file = tmp_path / "value.json"
    write_json(file, {"old": 1})

    def crash(*_):
        raise Crash

    for call in ("replace", "fsync"):
        with monkeypatch.context() as patch:
            patch.setattr(os, call, crash)
            # kill -9 runs no `finally`, so the temporary file stays as well.
            patch.setattr(Path, "unlink", lambda *_: None)
            with pytest.raises(Crash):
                write_json(file, {"new": 2})
        assert json.loads(file.read_text()) == {"old": 1}
    assert len(list(tmp_path.glob(".*.tmp"))) == 2
    write_json(file, {"new": 2})
    assert json.loads(file.read_text()) == {"new": 2}


def test_the_file_is_synced_before_it_is_renamed_and_the_folder_after(tmp_path, monkeypatch):
    calls = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(
        os, "fsync", lambda fd: calls.append(os.path.isdir(f"/proc/self/fd/{fd}")) or fsync(fd)
    )
    monkeypatch.setattr(os, "replace", lambda a, b: calls.append("rename") or replace(a, b))
    write_atomic(tmp_path / "file", lambda path: path.write_bytes(b"x"))
    assert calls == [False, "rename", True]


@pytest.mark.parametrize("content", ["{", "", b"\xff", "[" * 100_000])
def test_what_is_not_json_is_read_as_none(tmp_path, content):
    file = tmp_path / "value.json"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert read_json(file) is None
    write_json(file, [1])
    assert read_json(file) == [1]


def test_an_error_without_a_file_name_is_still_one_sentence():
    sentence = r"^cannot read: no luck; try again$"
    with (
        pytest.raises(SeparatrixError, match=sentence),
        explain_os_errors("read", fix="try again"),
    ):
        raise OSError("no luck")


def test_a_lock_that_cannot_be_made_is_not_held(tmp_path):
    with lock(tmp_path / "no-such-folder" / ".lock") as held:
        assert not held
    with lock(tmp_path / ".lock") as held:
        assert held
    with lock(tmp_path / ".lock", wait=True) as held:
        assert held


def test_the_environment_names_the_folders_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("SEPARATRIX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SEPARATRIX_DATA", "~/data")
    assert cache_folder() == tmp_path / "cache"
    assert data_folder() == Path("~/data").expanduser()


@pytest.mark.skipif(os.name != "posix", reason="XDG's folders")
def test_folders_of_earlier_versions_are_still_used(tmp_path, monkeypatch):
    for variable in ("SEPARATRIX_CACHE", "SEPARATRIX_DATA"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert cache_folder() == tmp_path / "cache" / "separatrix"
    assert data_folder() == tmp_path / "data" / "separatrix" / "data"
