"""The claims as rows for a terminal."""

from run_documents import documents

from separatrix.report import matters, owner_lines, summary_rows
from separatrix.report.terminal import fitted


def test_rows_for_the_terminal():
    claim = documents()["claims"][0]
    assert summary_rows([claim]) == [
        {
            "id": "lahoti.first",
            "statement": "The CNN's risk is lower.",
            "verdict": "supported",
            "kept": "",
            "effect": "−0.378 [−0.395, −0.357]",
            "conditions": "outside: σ = 2 exceeds 0.3",
        }
    ]
    many = claim | {"evidence": claim["evidence"] * 4, "conditions_met": None}
    assert summary_rows([many])[0]["effect"].endswith("; 2 more")
    assert summary_rows([many])[0]["conditions"] == "not known"
    assert summary_rows([claim | {"evidence": []}])[0]["effect"] == "—"


def test_questions_of_our_own_come_last_and_costs_are_seen_on_a_narrow_terminal():
    claim = {"evidence": [], "verdict": "undecided", "source": ""}
    settle = "about 4 times as many trials; `separatrix run signal --scale full` measures more"
    claims = [
        claim | {"id": "ours.a", "paper": "ours", "statement": "Ours.", "settle": ""},
        claim | {"id": "doe.a", "paper": "doe", "statement": "It grows. " * 20, "settle": settle},
    ]
    assert [line.partition(":")[0] for line in owner_lines(claims)] == ["doe", "Our own questions"]
    first, second = matters(claims)
    assert second == ("undecided", "Ours.", "")
    line = fitted(*first[1:], 80)
    assert len(line) <= 80
    assert "… To settle: about 4 times" in line
