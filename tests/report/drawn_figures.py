"""Small figures, and what their drawings contain."""

from xml.etree import ElementTree

from separatrix.report.figure.draw import drawing_of
from separatrix.studies import Axis, Figure, Series

EVIL = "<script>alert(1)</script>"


def one(*series, x=None, y=None, title="A figure", name="figure"):
    return Figure(name, title, x or Axis("samples"), y or Axis("risk"), series)


def parsed(figure):
    return ElementTree.fromstring(drawing_of(figure).alone)


def both(figure):
    """The drawing for a page and for a file."""
    drawing = drawing_of(figure)
    return drawing.inline, drawing.alone


def texts(figure):
    return [
        "".join(node.itertext()).strip()
        for node in parsed(figure).iter()
        if node.tag.endswith("}text")
    ]


BANDED = one(
    Series("CNN", (1, 2, 4), (0.3, 0.2, 0.1), (0.2, 0.1, 0.05), (0.4, 0.3, 0.2)),
    Series("CNN law", (1, 4), (0.3, 0.1), role="law"),
    Series("constant", (1, 4), (0.5, 0.5), role="baseline"),
)
