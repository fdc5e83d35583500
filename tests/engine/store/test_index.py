"""The index of finished trials."""

import itertools
from pathlib import Path

import numpy as np
import pyarrow as pa

from running import filled_ledger, numbered_row
from separatrix.engine import policy
from separatrix.engine.store import parts
from separatrix.engine.store.index import Index
from separatrix.engine.store.parts import key_of
from separatrix.spec import digest


# The index
def test_the_index_finds_what_a_dictionary_finds():
    rng = np.random.default_rng(0)
    # Few first halves, so that many trials share one; and copies of trials in several parts.
    keys = np.stack([rng.integers(0, 40, 300), rng.integers(0, 40, 300)], 1).astype(np.uint64)
    cuts = [0, 50, 50, 210, 300]
    made = [
        parts.Part(Path(f"{i}"), "c", 1, (0, b - a), keys[a:b])
        for i, (a, b) in enumerate(itertools.pairwise(cuts))
    ]
    index = Index.of(made)
    first = {}
    for number, part in enumerate(made):
        for place, key in enumerate(part.keys.tolist()):
            first.setdefault(tuple(key), (number, place))
    asked = np.stack(np.meshgrid(np.arange(42), np.arange(42)), -1).reshape(-1, 2).astype(np.uint64)
    found = index.find(asked)
    assert [first.get(tuple(key), (-1, 0)) for key in asked.tolist()] == list(
        zip(found.part.tolist(), found.row.tolist())
    )
    firsts = sorted(cuts[number] + place for number, place in first.values())
    assert index.first_of_each().tolist() == firsts


def test_keys_of_a_column_are_those_of_its_texts():
    texts = [digest(i) for i in range(50)]
    odd = [*texts, "not an identity", "A" * 32]
    for made, chunks in ((texts, [texts[:20], texts[20:]]), (odd, [odd[:10], odd[10:]])):
        column = pa.chunked_array([pa.array(chunk) for chunk in chunks])
        np.testing.assert_array_equal(parts._keys_of_column(column.slice(3)), key_of(made[3:]))
    assert len(np.unique(key_of(odd), axis=0)) == len(odd)


def test_an_index_grows_without_sorting_all_again_and_answers_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(policy, "SMALL_INDEX", 0)
    source = filled_ledger(tmp_path, 1, each=100)
    everything = [digest(i) for i in range(130)]
    for i in range(100, 110):
        assert source.done(everything) == {digest(j) for j in range(i)}
        source.write([numbered_row(i)])
    source.done(everything)
    assert (len(source._index), len(source._recent)) == (100, 10)
    assert [found["number"] for found in source.read(everything[95:110]).arrow.to_pylist()] == list(
        range(95, 110)
    )
