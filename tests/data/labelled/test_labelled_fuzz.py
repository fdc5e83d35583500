"""Two thousand malformed files: each gives sound data or one sentence."""

import random
import re

import numpy as np
import pytest
from labelled_files import FORMS, write

from separatrix.data import Labelled, read_labelled
from separatrix.errors import SeparatrixError

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
        file.write_bytes(CHANGES[number // 7 % len(CHANGES)](raws[file], rng))
        refused[form] += not outcome(path)
        file.write_bytes(raws[file])
    # Most damage is noticed: else the changes change nothing and the test says nothing.
    assert all(count >= 20 for count in refused.values()), refused
    assert sum(refused.values()) > FILES / 3, refused
