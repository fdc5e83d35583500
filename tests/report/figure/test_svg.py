"""SVG for a page and for a file."""

import re

from drawn_figures import BANDED, EVIL, both, one, texts

from separatrix.report import draw
from separatrix.studies import Axis, Series


def test_a_drawing_takes_the_colour_of_the_text_around_it_and_has_no_ground():
    inline, alone = both(BANDED)
    assert "currentColor" in inline
    assert "#0a0b0c" not in inline + alone
    assert "#ffffff" not in inline
    assert 'fill="#ffffff"' in alone
    assert "currentColor" not in alone
    assert "<style" not in inline, "a style sheet inside one figure would rule the whole page"


def test_names_inside_figures_differ_between_figures_and_references_resolve():
    seen = set()
    for prefix in ("f0-", "f1-"):
        svg = draw(BANDED, prefix)
        names = re.findall(r'\sid="([^"]+)"', svg)
        used = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', svg))
        assert len(names) == len(set(names))
        assert used
        assert used <= set(names)
        assert not seen & set(names)
        seen |= set(names)


def test_labels_are_shown_and_never_run():
    figure = one(
        Series(EVIL, (1, 2), (1.0, 2.0)),
        Series("<b>base", (1, 2), (1.5, 1.5), role="baseline"),
        x=Axis(EVIL),
        y=Axis('"&$\\frac{$'),
        title=EVIL,
    )
    for svg in both(figure):
        assert "<script" not in svg
        assert "<b>" not in svg
    assert {EVIL, "<b>base", '"&$\\frac{$'} <= set(texts(figure))
    assert 'aria-label="&lt;script&gt;' in draw(figure)


def test_a_label_that_looks_like_the_ink_stays_as_it_is():
    assert "fill: #0a0b0c" in texts(one(Series("fill: #0a0b0c", (1, 2), (1.0, 2.0))))


def test_letters_that_the_font_lacks_are_kept():
    assert "真の信号" in texts(one(Series("真の信号", (1, 2), (1.0, 2.0))))
