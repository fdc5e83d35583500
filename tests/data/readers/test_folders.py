"""Folders of data sets: every layout of files, and everything that can be wrong with them."""

import gzip
import io
import json
import lzma
import tarfile

import numpy as np
import pytest
from data_files import cached, cifar_bins, cifar_planes, same, write_idx

from separatrix import data
from separatrix.data import catalogue, store
from separatrix.data.catalogue import CIFAR_BATCHES, IDX_FILES
from separatrix.errors import SeparatrixError


def batches(arrays):
    for number, batch in enumerate(CIFAR_BATCHES):
        where = slice(4 * number, 4 * number + 4)
        train = number < 5
        yield (
            batch,
            arrays["train_x" if train else "test_x"][where if train else slice(None)],
            arrays["train_y" if train else "test_y"][where if train else slice(None)],
        )


@pytest.mark.parametrize("place", ["", "mnist", "MNIST/raw"])
@pytest.mark.parametrize("packed", [True, False])
def test_mnist_from_the_layouts_of_its_files(small, tmp_path, place, packed):
    write_idx(tmp_path / "here" / place, small["mnist"], packed)
    found = data.get("mnist", tmp_path / "here")
    same(found, small["mnist"])
    assert isinstance(found.train_x, np.memmap)
    assert found.digest == catalogue.CATALOGUE["mnist"].digest
    assert cached() == ["mnist"]
    about = json.loads((store.data_folder() / "mnist" / "about.json").read_text())
    assert about["sha256"]["train_x"] == store.checksum(small["mnist"]["train_x"])
    assert "mnist" in data.available()
    assert data.load("mnist") is data.get(
        "mnist", "no-such-folder"
    )  # what is there is not fetched again


def test_keras_and_torchvision_files(small, tmp_path):
    arrays = small["mnist"]
    np.savez(
        tmp_path / "mnist.npz",
        x_train=arrays["train_x"],
        y_train=arrays["train_y"],
        x_test=arrays["test_x"],
        y_test=arrays["test_y"],
    )
    same(data.get("mnist", tmp_path), arrays)
    write_idx(tmp_path / "FashionMNIST" / "raw", small["fashion-mnist"])
    same(data.get("fashion-mnist", tmp_path), small["fashion-mnist"])


def test_cifar10_as_binary_files_as_archive_and_as_planes(small, tmp_path, monkeypatch):
    arrays = small["cifar10"]
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    (one / "cifar-10-batches-bin").mkdir(parents=True)
    two.mkdir()
    (three / "cifar10").mkdir(parents=True)
    with tarfile.open(two / "cifar-10-binary.tar.gz", "w:gz") as archive:
        for batch, x, y in batches(arrays):
            raw = cifar_bins(x, y)
            (one / "cifar-10-batches-bin" / f"{batch}.bin").write_bytes(raw)
            (three / "cifar10" / f"{batch}.xz").write_bytes(lzma.compress(cifar_planes(x, y)))
            member = tarfile.TarInfo(f"cifar-10-batches-bin/{batch}.bin")
            member.size = len(raw)
            archive.addfile(member, io.BytesIO(raw))
    for folder in (one, two, three):
        monkeypatch.setenv("SEPARATRIX_DATA", str(tmp_path / f"cache-{folder.name}"))
        same(data.get("cifar10", folder), arrays)


def test_pickles_are_refused_by_name(small, tmp_path):
    (tmp_path / "cifar-10-batches-py").mkdir()
    (tmp_path / "cifar-10-batches-py" / "data_batch_1").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    with pytest.raises(
        SeparatrixError,
        match=r"Python version of CIFAR-10, whose pickles .* get the binary version, "
        r"cifar-10-binary.tar.gz",
    ):
        data.get("cifar10", tmp_path)
    assert cached() == []


def spoil(folder, kind, arrays):
    """Make one file wrong."""
    file = folder / f"{IDX_FILES['train_x']}.gz"
    raw = file.read_bytes()
    if kind == "truncated":
        file.write_bytes(raw[: len(raw) // 2])
    elif kind == "tampered":
        x = arrays["train_x"].copy()
        x[0, 0, 0] ^= 1
        write_idx(folder, arrays | {"train_x": x})
    elif kind == "no gzip":
        file.write_bytes(b"<html>not found</html>")
    elif kind == "bomb":
        file.write_bytes(gzip.compress(bytes(10**6)))
    elif kind == "labels for images":
        file.write_bytes((folder / f"{IDX_FILES['train_y']}.gz").read_bytes())
    elif kind == "missing":
        file.unlink()


@pytest.mark.parametrize(
    "kind, words",
    [
        (
            "truncated",
            r"train-images-idx3-ubyte.gz is truncated, damaged or not what it should be \(.*\); "
            r"nothing was kept",
        ),
        (
            "tampered",
            r"does not hold mnist: the SHA-256 of its train_x is .* and not .*; nothing was kept",
        ),
        (
            "no gzip",
            r"train-images-idx3-ubyte.gz is truncated, damaged .*it is no idx file of bytes.*"
            r"nothing was kept",
        ),
        ("bomb", r"holds more than \d+ bytes.*nothing was kept"),
        (
            "labels for images",
            r"its train_x has shape \(6,\) and not \(6, 28, 28\); nothing was kept",
        ),
        ("missing", r"holds a part of mnist but lacks train-images-idx3-ubyte; nothing was kept"),
    ],
)
def test_wrong_files_give_one_sentence_and_leave_nothing(small, tmp_path, kind, words):
    folder = tmp_path / "files"
    write_idx(folder, small["mnist"])
    spoil(folder, kind, small["mnist"])
    with pytest.raises(SeparatrixError, match=words) as caught:
        data.get("mnist", folder)
    assert "\n" not in str(caught.value)
    assert cached() == []


def test_another_data_set_is_recognised(small, tmp_path):
    write_idx(tmp_path, small["mnist"])
    with pytest.raises(
        SeparatrixError, match="does not hold fashion-mnist: its train_x is that of mnist"
    ):
        data.get("fashion-mnist", tmp_path)


def test_folders_without_the_files(small, tmp_path):
    with pytest.raises(
        SeparatrixError,
        match=r"there are no files of cifar10 in .*looked for cifar-10-binary.tar.gz",
    ):
        data.get("cifar10", tmp_path)
    with pytest.raises(SeparatrixError, match="there is no folder"):
        data.get("cifar10", tmp_path / "none")
