"""Labelled data by path and by name: sound files, paths that lead nowhere, damaged files."""

import os
import random
import re

import numpy as np
import pytest
from labelled_files import FORMS, refused, write

import separatrix as sx
from separatrix.data import Labelled, read_labelled
from separatrix.data.store import save
from separatrix.errors import SeparatrixError

# Names, and paths that lead nowhere.


@pytest.mark.parametrize(
    ("name", "kind", "shape", "rows", "classes"),
    [
        ("digits", "image", (8, 8, 1), 1797, 10),
        ("breast-cancer", "tabular", (30, 1), 569, 2),
        ("wine", "tabular", (13, 1), 178, 3),
        ("iris", "tabular", (4, 1), 150, 3),
        ("diabetes", "tabular", (10, 1), 442, 0),
    ],
)
def test_data_sets_by_name(name, kind, shape, rows, classes):
    data = sx.read_labelled(name)
    assert (data.name, data.kind, data.shape, len(data), len(data.classes)) == (
        name,
        kind,
        shape,
        rows,
        classes,
    )
    if name == "breast-cancer":
        assert data.classes == ("malignant", "benign")
        assert data.columns[0] == "mean radius"
        assert np.bincount(data.labels).tolist() == [212, 357]


def test_fetched_data_sets(small):
    from separatrix.data.catalogue import CATALOGUE

    assert "separatrix data get cifar10" in refused("cifar10")
    save(CATALOGUE["cifar10"], small["cifar10"], "here")
    data = read_labelled("cifar10")
    assert np.array_equal(
        data.inputs, np.concatenate([small["cifar10"]["train_x"], small["cifar10"]["test_x"]])
    )
    assert set(data.classes) <= {
        "airplane",
        "automobile",
        "bird",
        "cat",
        "deer",
        "dog",
        "frog",
        "horse",
        "ship",
        "truck",
    }
    truth = np.concatenate([small["cifar10"]["train_y"], small["cifar10"]["test_y"]])
    assert [data.classes[i] == "cat" for i in data.labels] == (truth == 3).tolist()


def test_paths_that_lead_nowhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "did you mean `mnist`" in refused("mnits")
    assert "there is no file or folder no/such/x.npz" in refused("no/such/x.npz")
    assert "there is no file or folder" in refused(tmp_path / "mnist")
    for wrong in (3, None, "a\0b", ""):
        assert refused(wrong)
    (tmp_path / "loop").symlink_to("loop")
    assert "neither a file nor a folder" in refused("loop")
    os.mkfifo(tmp_path / "pipe.npz")
    assert "neither a file nor a folder" in refused(tmp_path / "pipe.npz")
    (tmp_path / "a.txt").write_text("words")
    assert "of no form that can be read" in refused("a.txt")
    (tmp_path / "x.npz").mkdir()
    assert "holds neither arrays" in refused("x.npz")
    assert "the `label` of read_labelled must be a name" in refused("digits", label=3)
    # What lies there comes before a name.
    write("npz", tmp_path / "wine")
    (tmp_path / "wine" / "a.npz").rename(tmp_path / "iris.npz")
    assert "holds neither arrays" in refused("wine")


def test_names_with_any_characters(tmp_path):
    path, _ = write("npz", tmp_path)
    odd = tmp_path / "two\nlines \udcff.npz"
    path.rename(odd)
    data = read_labelled(odd)
    assert data.name == "two\nlines \\udcff.npz"
    odd.write_bytes(b"")
    assert refused(odd).startswith("two\\nlines")


def test_wrong_beginnings(tmp_path):
    for form in ("npz", "npy", "parquet", "idx", "idx.gz"):
        path, files = write(form, tmp_path / form)
        raw = files[0].read_bytes()
        for wrong in (b"", b"XX" + raw[2:], raw[: len(raw) // 2], raw[:3], b"\0" * 100):
            files[0].write_bytes(wrong)
            assert path.name in refused(path)


FILES = 2000


ENDINGS = (
    ".npz",
    ".npy",
    ".csv",
    ".tsv",
    ".parquet",
    ".pq",
    ".csv.gz",
    "-idx3-ubyte",
    "-idx3-ubyte.gz",
    ".png",
    ".pkl",
    ".txt",
    "",
)


def flip(raw, rng):
    out = bytearray(raw)
    for _ in range(rng.choice((1, 1, 2, 8))):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def cut(raw, rng):
    return raw[: rng.randrange(len(raw))]


def header(raw, rng):
    """Other bytes where forms keep what they say about themselves: at the beginning, and at the end
    (zip and Parquet).
    """
    out = bytearray(raw)
    near = min(len(out), 128)
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(near)
        out[at if rng.random() < 0.6 else -1 - at] = rng.choice(
            (0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256))
        )
    return bytes(out)


def digits(raw, rng):
    """Other digits and letters in text: shapes and types of .npy headers, cells of tables."""
    found = list(re.finditer(rb"\d+|<[a-z]\d|True|False|[,;\t\n]", raw))
    if not found:
        return flip(raw, rng)
    at = rng.choice(found[:12] if rng.random() < 0.5 else found)
    new = (
        b"0",
        b"-1",
        b"99999999999999999999",
        b"4294967296",
        b"nan",
        b"|O",
        b"<M8[s]",
        b"<U9",
        b"<c8",
        b"inf",
        b"\n",
        b'"',
        b"1e400",
        b"\xff",
        b"",
    )
    return raw[: at.start()] + rng.choice(new) + raw[at.end() :]


def splice(raw, rng):
    a, b = sorted(rng.randrange(len(raw) + 1) for _ in range(2))
    return raw[:a] + raw[b:] if rng.random() < 0.5 else raw[:b] + raw[a:]


def noise(raw, rng):
    return raw[: rng.choice((0, 4, 8))] + rng.randbytes(rng.choice((0, 1, 7, 100, 2000)))


CHANGES = (flip, cut, header, digits, splice, noise)


def sound(data):
    assert isinstance(data, Labelled)
    assert len(data.inputs) == len(data.labels) == len(data.duplicate_groups) >= 20
    assert np.isfinite(np.asarray(data.inputs, np.float32)).all()
    assert np.isfinite(data.labels).all()
    if data.classes:
        assert data.labels.dtype == np.int32
        assert set(data.labels.tolist()) == set(range(len(data.classes)))
    data.name.encode()
    "".join(data.classes).encode()


def outcome(path):
    """Whether the file could be read; anything but sound data or one sentence fails."""
    try:
        data = read_labelled(path)
    except SeparatrixError as error:
        words = str(error)
        assert words
        assert "\n" not in words
        assert len(words) < 600
        assert words.isprintable()
        return False
    sound(data)
    return True


def rewrite(file, raw):
    """Replace a file by a new one: many file systems flush a file that is truncated to the disk."""
    file.unlink()
    file.write_bytes(raw)


@pytest.mark.parametrize("form", FORMS)
def test_sound_files_are_read(form, tmp_path):
    assert outcome(write(form, tmp_path)[0])


def test_malformed_files_give_one_sentence_or_sound_data(tmp_path, monkeypatch):
    monkeypatch.setenv("SEPARATRIX_MAX_BYTES", str(1 << 26))
    rng = random.Random(8)
    cases = {form: write(form, tmp_path / form) for form in FORMS}
    raws = {file: file.read_bytes() for _, files in cases.values() for file in files}
    refused = dict.fromkeys((*FORMS, "random"), 0)
    for number in range(FILES):
        if number % 10 == 9:
            ending = rng.choice(ENDINGS)
            file = tmp_path / f"a-images{ending}"
            file.write_bytes(noise(rng.choice(list(raws.values())), rng))
            refused["random"] += not outcome(file)
            file.unlink()
            continue
        # Folders of pictures are slow to read: one in fourteen.
        form = FORMS[-1] if number % 14 == 0 else FORMS[number % (len(FORMS) - 1)]
        path, files = cases[form]
        file = rng.choice(files)
        rewrite(file, CHANGES[number // 7 % len(CHANGES)](raws[file], rng))
        refused[form] += not outcome(path)
        rewrite(file, raws[file])
    # Most damage is noticed: else the changes change nothing and the test says nothing.
    assert all(count >= 20 for count in refused.values()), refused
    assert sum(refused.values()) > FILES / 3, refused
