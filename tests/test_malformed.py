"""A short version of `python tests/malformed.py`."""

from malformed import try_all


def test_malformed_inputs_are_read_or_one_sentence(tmp_path):
    table, errors = try_all(340, 1, tmp_path)
    assert errors == []
    assert sum(table.values()) == 340
