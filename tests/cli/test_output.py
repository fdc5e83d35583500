"""What commands print on terminals and elsewhere."""

import io
import json
import sys

from command_line import ESCAPE

from separatrix.cli.output import print_claims


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_colours_are_for_terminals_and_no_color_turns_them_off(finished, monkeypatch):
    claims = json.loads((finished / "claims.json").read_text())
    monkeypatch.setenv("TERM", "xterm-256color")

    def shown(file, *environment):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", file)
            for name in environment:
                patch.setenv(name, "1")
            print_claims(claims, every=True)
        assert "lahoti.first.cnn-aligned" in file.getvalue()
        return file.getvalue()

    assert ESCAPE in shown(Terminal())
    assert ESCAPE not in shown(Terminal(), "NO_COLOR")
    assert ESCAPE not in shown(io.StringIO())


def test_the_end_of_a_run_is_at_most_fifteen_lines_and_says_what_matters(capsys):
    claim = {"paper": "doe", "source": "Doe, A Title (2026)", "reason": "it falls", "evidence": []}
    claims = [
        claim | {"id": f"doe.{i}", "statement": f"Sentence {i}.", "verdict": verdict}
        for i, verdict in enumerate(["supported"] * 30 + ["undecided"] * 30 + ["refuted"] * 3)
    ]
    print_claims(claims)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 14, "the report's address is the last line"
    assert "30 supported, 3 refuted, 30 undecided" in "".join(lines)
    assert lines[2].startswith("refuted   Sentence 60. But: it falls")
    assert "more: --all shows every claim" in lines[-1]
