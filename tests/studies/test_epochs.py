"""Epochs: earlier verdicts are kept, and are not taken for verdicts by today's rules."""

import json

import pytest

from separatrix.errors import ParameterError, SeparatrixError
from separatrix.studies.claims import Claim
from separatrix.studies.epochs import archive_epoch, by_present_rule, earlier_findings
from separatrix.studies.kinds import Comparison

OLD = {"id": "lahoti.order", "verdict": "refuted", "study": "signal"}


def test_an_epoch_keeps_its_verdicts(tmp_path):
    (tmp_path / "signal").mkdir()
    (tmp_path / "signal" / "claims.json").write_text(json.dumps([OLD]))
    files = archive_epoch(tmp_path, "2026-11", "Bounds are judged as bounds.")
    assert [file.name for file in files] == ["signal.json", "README.md"]
    archive_epoch(tmp_path, "2026-12", "Another change.")
    page = files[-1].read_text()
    assert page.index("## 2026-11") < page.index("## 2026-12")
    with pytest.raises(SeparatrixError, match=r"is in .* already"):
        archive_epoch(tmp_path, "2026-11", "Once more.")
    with pytest.raises(ParameterError, match="says what changes and why"):
        archive_epoch(tmp_path, "2027", " ")
    assert earlier_findings(tmp_path) == [OLD | {"epoch": "2026-11"}, OLD | {"epoch": "2026-12"}]


def test_a_finding_of_another_rule_is_none_of_today():
    kind = Comparison("samples, LCN over CNN", "above", 1.0)
    claim = Claim("lahoti.order", "CNNs need fewer samples.", "Theorem 1", "", kind)
    now = OLD | {"kind": kind.name, "formula": kind.formula()}
    assert by_present_rule(now, claim)
    assert not by_present_rule(OLD, claim)
    assert not by_present_rule(now | {"formula": now["formula"].replace("> 1", "> 2")}, claim)
    assert not by_present_rule(now, None)
    assert by_present_rule(OLD, Claim("lahoti.order", "CNNs need fewer samples.", "Theorem 1", ""))


def test_there_may_be_no_history(tmp_path):
    assert earlier_findings(tmp_path) == []
    with pytest.raises(SeparatrixError, match=r"holds no claims\.json to keep"):
        archive_epoch(tmp_path, "0", "A change.")
    (tmp_path / "history" / "0").mkdir(parents=True)
    (tmp_path / "history" / "0" / "signal.json").write_text('{"a": 1}')
    with pytest.raises(SeparatrixError, match=r"signal\.json is not the claims\.json of a run"):
        earlier_findings(tmp_path)
