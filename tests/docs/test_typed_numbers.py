"""No measured number on a reference page was typed by hand."""

import importlib
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
typed_numbers = importlib.import_module("typed_numbers")

KNOWN = typed_numbers.definitions()


def name(page):
    return page.relative_to(DOCS).as_posix()


@pytest.mark.parametrize("page", typed_numbers.pages(), ids=name)
def test_a_reference_page_types_no_measured_number(page):
    text = page.read_text(encoding="utf-8")
    typed, _ = typed_numbers.looks_measured(text, KNOWN["*"] + KNOWN.get(name(page), []))
    assert not typed, "measured? let a generated part write it; a definition? see definitions.txt"


def test_every_definition_is_still_on_its_page():
    for page, words in KNOWN.items():
        texts = [DOCS / page] if page != "*" else typed_numbers.pages()
        used = set()
        for text in texts:
            used |= typed_numbers.looks_measured(text.read_text(encoding="utf-8"), words)[1]
        assert used == set(words), page


@pytest.mark.parametrize(
    "sentence",
    [
        "accuracy rises by .055 [.045, .065]",
        "the FCN needs 284 times the steps",
        "one run took 343 s",
        "74 % of the lead is locality",
        "the LCN reaches it with 4376 labels, the FCN with 7,100",
        "the share of wrong ones is 3e-6",
        "it covered in 84–88 % of studies",
    ],
)
def test_a_typed_measurement_is_found(sentence):
    page = (DOCS / "dial.md").read_text(encoding="utf-8")
    known = KNOWN["*"] + KNOWN.get("dial.md", [])
    assert typed_numbers.looks_measured(f"{page}\n\n- **New.** It turns out: {sentence}.\n", known)[
        0
    ]


def test_code_formulas_and_generated_numbers_are_left_alone():
    text = (
        "# T\n\n```text\n0.51\n```\n\n    0.52\n\n`0.53` and $0.54$ and {{ 0/signal: a.b: x "
        "0.55 }} and [57](figures/0.56.svg)\n\n<!-- findings -->\n\nIn 2026 there were 3 "
        "networks and 24 seeds."
    )
    assert typed_numbers.looks_measured(text)[0] == []
