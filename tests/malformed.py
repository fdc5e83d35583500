"""Malformed inputs for all readers and for the files of a run.

    python tests/malformed.py [--count 10000] [--seed 0] [--page docs/chaos.md]

Mutates valid files of every kind and reads each of them: a result or one sentence is right, any
other exception is not. Prints how many there were of each, and the peak memory; with `--page`,
writes them into the section of that page which `make chaos` leaves for them. A shorter version is
among the tests (`tests/test_malformed.py`).
"""

import argparse
import collections
import json
import os
import random
import resource
import shutil
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from separatrix.data import read_labelled
from separatrix.engine import Ledger
from separatrix.engine.execute import wire
from separatrix.errors import SeparatrixError
from separatrix.geometry import read_images

HEADING = "## Malformed inputs"
LIMIT = 10**8  # bytes that a reader may take
WORDS = [b"null", b"-1", b"1e999", b"NaN", b"[]", b"{}", b'""', b"\\ud800", b"0", b"9" * 40]


def data_files(folder):
    """A valid file of every format that is read as data."""
    from PIL import Image

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 4)), np.arange(30) % 2
    np.savez(folder / "a.npz", x=x, y=y)
    np.savez_compressed(folder / "b.npz", x=x, y=y)
    rows = "\n".join(",".join(map(str, [*row, label])) for row, label in zip(x, y))
    (folder / "a.csv").write_text("a,b,c,d,label\n" + rows)
    names = [chr(97 + i) for i in range(4)]
    columns = {name: x[:, i] for i, name in enumerate(names)} | {"label": [f"k{v}" for v in y]}
    pq.write_table(pa.table(columns), folder / "a.parquet")
    for name in ("pair", "idx", "set/cat", "set/dog"):
        (folder / name).mkdir(parents=True)
    np.save(folder / "pair/x.npy", x)
    np.save(folder / "pair/y.npy", y)
    images = rng.integers(0, 255, (30, 4, 4)).astype(np.uint8)
    head = bytes([0, 0, 8, 3]) + np.array(images.shape, ">u4").tobytes()
    (folder / "idx/train-images-idx3-ubyte").write_bytes(head + images.tobytes())
    head = bytes([0, 0, 8, 1]) + np.array([30], ">u4").tobytes()
    (folder / "idx/train-labels-idx1-ubyte").write_bytes(head + y.astype(np.uint8).tobytes())
    for name in ("cat", "dog"):
        for i in range(12):
            ending = ("png", "jpg")[i % 2]
            Image.fromarray(images[i]).save(folder / "set" / name / f"{i}.{ending}")
    np.savez(folder / "stack.npz", images=images)
    np.save(folder / "stack.npy", images)
    (folder / "views").mkdir()
    for ending in ("png", "gif", "tif", "webp", "bmp"):
        Image.fromarray(images[0]).convert("RGB").save(folder / "views" / f"a.{ending}")
    return {
        "a.npz": "a.npz",
        "b.npz": "b.npz",
        "a.csv": "a.csv",
        "a.parquet": "a.parquet",
        "pair/x.npy": "pair/x.npy",
        "pair/y.npy": "pair/x.npy",
        "idx/train-images-idx3-ubyte": "idx/train-images-idx3-ubyte",
        "idx/train-labels-idx1-ubyte": "idx/train-images-idx3-ubyte",
        "set/cat/0.png": "set",
        "set/dog/1.jpg": "set",
        **{name: name for name in ("stack.npz", "stack.npy")},
        **{f"views/a.{ending}": "views" for ending in ("png", "gif", "tif", "webp", "bmp")},
    }


def run_files(folder):
    """The folder of a run, with rows."""
    sys.path.insert(0, str(Path(__file__).parent / "report"))
    from sample_run import write_run

    write_run(folder / "run")
    Ledger.open(folder / "ledger_run").write(
        [{"trial": letter * 32, "task.type": "T", "status": "reached"} for letter in "abc"]
    )
    shutil.copytree(folder / "ledger_run/ledger", folder / "run/ledger")
    shutil.copy(folder / "ledger_run/separatrix.json", folder / "run")
    (folder / "run/manifest.json").write_text(json.dumps({"runs": [{"settings": {}}]}))
    (folder / "run/live.json").write_text(json.dumps({"study": "s", "thresholds": {}}))
    part = next((folder / "run/ledger").glob("part-*.parquet"))
    names = ["claims.json", "outcomes/sample.json", "manifest.json", "live.json", "separatrix.json"]
    return [*names, f"ledger/{part.name}"]


def mutated(data, rng):
    """The same bytes with something wrong."""
    out, kind = bytearray(data), rng.randrange(7)
    at = rng.randrange(len(out) + 1)
    if kind == 0:
        out = out[:at]
    elif kind == 1:
        for _ in range(rng.choice([1, 1, 2, 8, 64])):
            out[rng.randrange(len(out))] = rng.randrange(256)
    elif kind == 2:
        out[at:at] = rng.randbytes(rng.choice([1, 4, 100]))
    elif kind == 3:
        del out[at : at + rng.choice([1, 4, 100])]
    elif kind == 4:
        out[at : at + rng.randrange(8)] = rng.choice(WORDS)
    elif kind == 5:
        start = rng.randrange(len(out) + 1)
        out[at:at] = out[start : start + rng.randrange(1, 2000)]
    else:
        end = min(len(out), at + rng.randrange(1, 9))
        out[at:end] = b"\xff" * (end - at)
    return bytes(out)


def use_run(folder):
    """Everything that reads the folder of a run."""
    from separatrix.report import Watcher, compare_runs
    from separatrix.report.read import read_run
    from separatrix.studies.kept_rows import recompute

    def ledger():
        mine = Ledger.open(folder)
        mine.mend()
        mine.read()

    def watch():
        json.dumps(Watcher(folder).look().plain())

    for read in (
        lambda: read_run(folder),
        lambda: compare_runs(folder, folder),
        watch,
        lambda: recompute(folder),
        ledger,
    ):
        try:
            read()
        except SeparatrixError as error:
            if "\n" in str(error).strip():
                raise ValueError("more than a sentence") from error


def attempt(name, data, folder, targets, rng):
    """Read one malformed file; whether it was read, and the traceback of what went wrong."""
    file = folder / name
    good = file.read_bytes()
    file.write_bytes(mutated(good, rng))
    try:
        if data and name.startswith(("stack", "views")):
            read_images(str(folder / targets[name]))
        elif data:
            read_labelled(folder / targets[name])
        else:
            use_run(folder / "run")
        return "read", ""
    except SeparatrixError:
        return "one sentence", ""
    except Exception:
        return "internal error", traceback.format_exc()
    finally:
        if not data:  # a ledger may have set the part aside
            for aside in (folder / "run/ledger").glob("*.damaged"):
                aside.unlink()
        file.write_bytes(good)


def answers(rng):
    """A malformed answer of a worker."""
    good = wire._to_bytes([{"trial": "a" * 32, "risk": 0.5}], tally="{}")
    try:
        wire.from_bytes(mutated(good, rng))
        return "read", ""
    except SeparatrixError:
        return "one sentence", ""
    except Exception:
        return "internal error", traceback.format_exc()


def try_all(count, seed, folder):
    """Try so many malformed inputs: the numbers by kind of file, and the first errors."""
    rng = random.Random(seed)
    targets = data_files(folder)
    kinds = [(name, True) for name in targets]
    kinds += [(f"run/{name}", False) for name in run_files(folder)]
    table, errors = collections.Counter(), []
    os.environ["SEPARATRIX_MAX_BYTES"] = str(LIMIT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(count):
            name, data = (*kinds, ("worker's answer", None))[number % (len(kinds) + 1)]
            if data is None:
                what, words = answers(rng)
            else:
                what, words = attempt(name, data, folder, targets, rng)
            kind = "part" if "part-" in name else name
            table[kind, what] += 1
            if words:
                errors.append(f"{kind}: {words}")
    return table, errors


def peak():
    """The most memory that this process has had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def lines_of(table, errors, used, seed):
    """The section of the page."""
    ends = ("one sentence", "read", "internal error")
    lines = [HEADING, "", "| file | tried | one sentence | read | internal errors |"]
    lines.append("|---|--:|--:|--:|--:|")
    for kind in dict.fromkeys(name for name, _ in table):
        counts = [table[kind, what] for what in ends]
        lines.append(f"| `{kind}` | {sum(counts)} | {' | '.join(map(str, counts))} |")
    total = sum(table.values())
    return [
        *lines,
        "",
        f"**{total:,} malformed inputs**, {len(errors)} internal errors; peak memory {used} MiB "
        f"more than before the first, with a limit of {LIMIT // 10**6} MB per file (seed {seed}).",
        'In the files of a run, "read" means that every command gave a result or its own sentence.',
        "",
    ]


def main():
    """Try, and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--page", default="")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try_all(60, given.seed, Path(folder))  # what every reader imports
    before = peak()
    with tempfile.TemporaryDirectory() as folder:
        table, errors = try_all(given.count, given.seed, Path(folder))
    section = lines_of(table, errors, peak() - before, given.seed)
    print("\n".join(section))
    print("\n".join(errors[:3]))
    if given.page:
        page = Path(given.page)
        text = page.read_text(encoding="utf-8").partition(HEADING)[0].rstrip("\n")
        page.write_text("\n".join([text, "", *section]), encoding="utf-8")
    sys.exit(bool(errors))


if __name__ == "__main__":
    main()
