"""Options that several commands share."""

import typer.main
from hypothesis import given
from hypothesis import strategies as st

from separatrix.cli.main import app
from separatrix.cli.options import claims_starting, seconds_from, studies_starting
from separatrix.errors import SeparatrixError


@given(st.floats(1e-3, 1e6), st.sampled_from([("", 1), ("s", 1), ("m", 60), ("h", 3600)]))
def test_budgets_are_read_in_their_unit(number, unit):
    text = f"{number:.3f}"
    assert seconds_from(text + unit[0]) == float(text) * unit[1]


@given(st.text())
def test_any_other_budget_is_refused_in_one_sentence(text):
    try:
        seconds = seconds_from(text)
    except SeparatrixError as error:
        assert "\n" not in str(error)  # noqa: PT017
    else:
        assert (seconds is None and text == "") or seconds > 0


def commands(group, path=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


def test_every_option_has_a_help_text_and_shows_its_choices():
    found = list(commands(typer.main.get_command(app)))
    assert len(found) > 15
    for path, command in found:
        assert command.help, path
        for option in command.params:
            assert option.help, (path, option.name)
    shown = {path: {p.name: p.metavar for p in command.params} for path, command in found}
    assert shown["run",]["scale"] == shown["verify",]["scale"] == "[quick|laptop|full]"
    assert (
        shown["diagnose",]["metric"] == "[auto|accuracy|balanced-accuracy|auc|average-precision|r2]"
    )


def test_the_shell_completes_studies_and_claims():
    assert studies_starting("signal-f") == ["signal-first"]
    claims = claims_starting("malach.")
    assert claims
    assert all(name.startswith("malach.") for name in claims)
