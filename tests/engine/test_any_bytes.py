"""Whatever bytes lie in a results folder: a reader gives a value or one sentence, never a
traceback, and never a wrong row.
"""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import separatrix as sx
from separatrix.engine import DamagedPart, Ledger, read_manifest
from separatrix.engine.execute import wire
from separatrix.engine.store import ledger
from separatrix.engine.store.parts import part_name
from separatrix.errors import SeparatrixError
from separatrix.report import write_report
from separatrix.report.live import Watcher

ROWS = [
    {"trial": f"{i:032x}", "risk": 0.1 * i, "status": "exhausted", "trace.loss": [0.5, 0.25 * i]}
    for i in range(5)
]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
NOISE = st.one_of(
    st.binary(max_size=200),
    JSON.map(lambda value: json.dumps(value).encode()),
    st.just(b"[" * 100_000),
    st.just(b'{"runs": ' + b"9" * 5000 + b"}"),
    st.just(b"\xff\xfe{}"),
)
quietly = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A ledger with one part."""
    folder = tmp_path_factory.mktemp("whole")
    Ledger.open(folder).write(ROWS)
    return folder


@pytest.fixture
def copy(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "run")
    return tmp_path / "run"


def sentence_or_value(call):
    """What a call gives, or None where it says one sentence; anything else is an error of ours."""
    said = None
    try:
        return call()
    except SeparatrixError as error:
        said = str(error)
    assert "\n" not in said
    assert len(said) < 1000
    return None


@quietly
@given(NOISE)
def test_any_mark(copy, data):
    (copy / ledger.MARK).write_bytes(data)
    opened = sentence_or_value(lambda: Ledger.open(copy))
    try:
        right = isinstance(mark := json.loads(data), dict) and mark.get("format") == ledger.FORMAT
    except (ValueError, RecursionError):
        right = False
    assert (opened is not None) == right


@quietly
@given(NOISE)
def test_any_manifest(copy, data):
    (copy / "manifest.json").write_bytes(data)
    assert isinstance(read_manifest(copy), list)
    lab = sx.Lab(copy, workers=0)
    lab.write_manifest()
    assert read_manifest(copy)[0]["trials_run"] == 0


@quietly
@given(NOISE)
def test_any_calculation(copy, data):
    ours = Ledger.open(copy)
    ours.remember("sum", {"a": 1}, lambda: 3)
    (file,) = ours.calculations.iterdir()
    file.write_bytes(data)
    assert ours.remember("sum", {"a": 1}, lambda: 3) == 3


@quietly
@given(st.binary(max_size=400), st.booleans())
def test_any_bytes_as_a_part_are_set_aside_and_named(copy, data, framed):
    file = copy / "ledger" / part_name(["f" * 32])
    file.write_bytes(b"PAR1" + data + b"PAR1" if framed else data)
    watched = Watcher(copy).look()
    assert (watched.trials, watched.unreadable) == (5, 1)
    with pytest.raises(DamagedPart, match=file.name):
        Ledger(copy).read()
    ours = Ledger.open(copy)
    assert ours.mend() == [file.name]
    assert ours.read([row["trial"] for row in ROWS]).arrow.to_pylist() == ROWS
    file.with_name(file.name + ".damaged").unlink()


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_part_with_bytes_changed_moved_or_cut_gives_its_rows_or_none(copy, data):
    (file,) = (copy / "ledger").glob("part-*")
    good = file.read_bytes()
    changed = bytearray(good)
    for _ in range(data.draw(st.integers(1, 4), "changes")):
        place = data.draw(st.integers(0, len(changed) - 1), "place")
        match data.draw(st.sampled_from(["set", "cut", "insert", "swap"]), "how"):
            case "set":
                changed[place] = data.draw(st.integers(0, 255), "byte")
            case "cut":
                del changed[place : place + data.draw(st.integers(1, 50), "length")]
            case "insert":
                changed[place:place] = data.draw(st.binary(min_size=1, max_size=8), "more")
            case "swap":
                changed[place:] = changed[place:][::-1]
        if not changed:
            changed = bytearray(b"\0")
    file.write_bytes(bytes(changed))
    try:
        found = sentence_or_value(lambda: Ledger(copy).read().arrow.to_pylist())
        assert found is None or found == ROWS
        Watcher(copy).look()
    finally:
        file.write_bytes(good)


@quietly
@given(NOISE)
def test_any_claims_and_outcomes(copy, data):
    (copy / "outcomes").mkdir(exist_ok=True)
    for file in (copy / "claims.json", copy / "outcomes" / "signal-first.json"):
        file.write_bytes(data)
        sentence_or_value(lambda: write_report(copy))
        Watcher(copy).look()
        file.unlink()


@quietly
@given(st.one_of(st.binary(max_size=300), NOISE))
def test_any_answer_of_a_worker(data):
    sentence_or_value(lambda: wire.from_bytes(data))


@quietly
@given(JSON.map(json.dumps) | st.text(max_size=50))
def test_any_chunk_that_reaches_a_worker(text):
    answer = wire.answer(text)
    assert isinstance(answer, bytes)
    with pytest.raises(SeparatrixError):
        wire.from_bytes(answer)


def test_a_folder_full_of_odd_names(copy):
    for name in ("part-.parquet", "..parquet", "part-" + "g" * 32 + ".parquet"):
        (copy / "ledger" / name).write_bytes(b"")
        assert sentence_or_value(lambda: Ledger(copy).read()) is None or name.startswith(".")
        Path(copy / "ledger" / name).unlink()
