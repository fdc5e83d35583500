"""The cache of data sets: what is damaged, absent, or cannot be written."""

import pytest
from data_files import cached, same, write_idx

from separatrix import data
from separatrix.data import store
from separatrix.errors import SeparatrixError


def test_a_damaged_cache_is_noticed_and_mended(small, tmp_path):
    write_idx(tmp_path / "files", small["mnist"])
    data.get("mnist", tmp_path / "files")
    file = store.data_folder() / "mnist" / "test_x.npy"
    raw = bytearray(file.read_bytes())
    raw[-1] ^= 1
    file.write_bytes(raw)
    store._opened.cache_clear()
    with pytest.raises(
        SeparatrixError,
        match=r"the cached mnist is damaged \(test_x.npy\); run `separatrix data get mnist` again",
    ):
        data.load("mnist")
    same(data.get("mnist", tmp_path / "files"), small["mnist"])
    assert cached() == ["mnist"]


def test_what_is_absent_says_how_to_get_it(small):
    with pytest.raises(
        SeparatrixError,
        match="mnist is not in the data folder; fetch it with `separatrix data get mnist`",
    ):
        data.load("mnist")
    with pytest.raises(
        SeparatrixError,
        match=r"mnist could not be fetched .*--from, or go on with the embedded images",
    ):
        data.get("mnist")


def test_a_folder_that_cannot_be_written(small, tmp_path, monkeypatch):
    write_idx(tmp_path / "files", small["mnist"])
    (tmp_path / "plain").write_text("a file")
    monkeypatch.setenv("SEPARATRIX_DATA", str(tmp_path / "plain"))
    with pytest.raises(
        SeparatrixError, match=r"cannot write to the data folder .*set SEPARATRIX_DATA"
    ):
        data.get("mnist", tmp_path / "files")


def test_names_with_digests():
    assert data.pinned("embedded-digits") == data.pinned(data.pinned("embedded-digits"))
    with pytest.raises(
        SeparatrixError, match="the data set mnist@0000 is not the one that this version knows"
    ):
        data.pinned("mnist@0000")
