"""The claims as rows for a terminal."""

from run_documents import documents

from separatrix.report import summary_rows


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
