"""The verdict on search, on doctored evidence."""

from separatrix.studies.patterns.verdicts import search_finding
from separatrix.theory.patterns.junta import search_once


def test_search_counts_what_it_cannot_search():
    row = search_once(128, 200, seed=0)
    assert row["junta_seconds"] is None
    assert row["sets"] == 94525795200
    assert search_finding([[row, row]]).verdict == "not measured"


def test_search_that_finds_the_wrong_bits_is_refuted():
    found = [[search_once(n, 400, seed) for seed in (0, 1)] for n in (8, 16, 24)]
    assert all(row["agree"] and row["window_found"] for rows in found for row in rows)
    found[1][0]["agree"] = False
    assert search_finding(found).verdict == "refuted"
