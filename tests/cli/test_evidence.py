"""The command `separatrix evidence`."""

import json

from command_line import one_sentence

OLD = {"id": "lahoti.order", "verdict": "refuted", "study": "signal"}


def test_archive_keeps_the_verdicts_of_an_epoch(cli, tmp_path):
    one_sentence(cli("evidence", "archive", "0", "--why", "x"), "evidence holds no claims.json")
    (tmp_path / "evidence" / "signal").mkdir(parents=True)
    (tmp_path / "evidence" / "signal" / "claims.json").write_text(json.dumps([OLD]))
    status, out, _ = cli("evidence", "archive", "0", "--why", "Bounds become bounds.", "--json")
    assert status == 0
    assert json.loads(out) == ["evidence/history/0/signal.json", "evidence/history/README.md"]
    assert json.loads((tmp_path / "evidence/history/0/signal.json").read_text()) == [OLD]
    again = cli("evidence", "archive", "0", "--why", "Once more.")
    one_sentence(again, "the epoch `0` is in evidence/history/0 already")
    one_sentence(cli("evidence", "archive", "A b", "--why", "x"), "small letters")
