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
            print_claims(claims)
        assert "lahoti.first.cnn-aligned" in file.getvalue()
        return file.getvalue()

    assert ESCAPE in shown(Terminal())
    assert ESCAPE not in shown(Terminal(), "NO_COLOR")
    assert ESCAPE not in shown(io.StringIO())
