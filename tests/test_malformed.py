"""A short version of `python tests/malformed.py`."""

from malformed import LIMIT, try_all


def test_malformed_inputs_are_read_or_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("SEPARATRIX_MAX_BYTES", str(LIMIT))  # and back, after the test
    table, errors = try_all(340, 1, tmp_path)
    assert errors == []
    assert sum(table.values()) == 340
