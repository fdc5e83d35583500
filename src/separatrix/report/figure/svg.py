"""Making matplotlib's SVG fit to stand inside a page, and the same each time."""

import base64
import io
import itertools
import re
from collections.abc import Sequence
from html import escape
from xml.etree import ElementTree

import PIL.Image

INK = "#0a0b0c"  # stands for the colour of the text around the figure, which matplotlib cannot name
BLACK = "#1a1a1a"
# Fonts as wide as the one the layout was measured with, or narrower
FONTS = "'DejaVu Sans', Verdana, 'Noto Sans', sans-serif"
SERIES = "series"  # what belongs to series 3 is named series-3-0, series-3-1, ... by the drawing
_TAG = re.compile(r"<[^>]*>")  # matplotlib escapes the < and > of all text and attributes
_REFERENCE = re.compile(r"url\(#([^)]+)\)|^#(.+)")
_FAMILY = re.compile(r"(font-family: |font: [^;\"]*?px )'[^;\"]*")
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]"
)  # what XML cannot hold
_STROKE = re.compile(r"M0 0L(-?[0-9.]+) (-?[0-9.]+)")
_LEGEND = "legend_1"


def inlined(
    svg: bytes, title: str, prefix: str, top: float = 0.0, pictures: Sequence[str] = ()
) -> str:
    """SVG text for a page: small, in the text's colour, with names that start with `prefix`.

    The legend is left out, because the page has one of its own, and so are the first `top` points
    of the height, in which it stood. What belongs to a series is marked with `data-s`; `pictures`
    names the series of the embedded pictures, which bear no names.

    >>> drawing = b'<svg width="5pt" viewBox="0 0 5 4"><g id="series-1-0"><path style="fill: #0a0b0c"/></g></svg>'
    >>> print(inlined(drawing, "A <b>", "p-", top=1.0))
    <svg viewBox="0 1 5 3" style="..." role="img" aria-label="A &lt;b&gt;"><g data-s="1"><path style="fill:currentColor" /></g></svg>
    """
    root = ElementTree.fromstring(_UNPRINTABLE.sub("\ufffd", tidied(svg)))
    for node in root.iter():
        node.tag = node.tag.rpartition("}")[2]
        for key in [key for key in node.attrib if key.startswith("{")]:
            node.set(key.rpartition("}")[2], node.attrib.pop(key))
    _leave_out(root)
    for node, name in zip(root.iter("image"), pictures):
        node.set("data-s", name)
        node.set("href", smaller(node.get("href", "")))
    used = {
        match[1] or match[2]
        for node in root.iter()
        for value in node.attrib.values()
        for match in _REFERENCE.finditer(value)
    }
    for node in root.iter():
        _shorten(node, used, prefix)
    for node in root.iter("g"):
        _hoist(node)
    _flatten(root)
    left, _, width, height = (float(each) for each in root.get("viewBox", "0 0 1 1").split())
    inside = "".join(ElementTree.tostring(node, encoding="unicode") for node in root)
    style = f"stroke-linejoin:round;stroke-linecap:butt;font-family:{FONTS}"
    box = " ".join(
        f"{each:.2f}".rstrip("0").rstrip(".") for each in (left, top, width, height - top)
    )
    return f'<svg viewBox="{box}" style="{escape(style)}" role="img" aria-label="{escape(title)}">{inside}</svg>'


def standalone(svg: bytes) -> str:
    """SVG text for a file of its own: black on white, because the ground of its viewer is not
    known.

    >>> standalone(b'<?xml?><svg viewBox="0 0 5 4"><g style="fill: #0a0b0c"/></svg>')
    '<?xml?><svg viewBox="0 0 5 4"><rect width="100%" height="100%" fill="#ffffff"/><g style="fill: #1a1a1a"/></svg>'
    """
    text = _TAG.sub(lambda match: match.group().replace(INK, BLACK), tidied(svg))
    return re.sub(
        r"<svg[^>]*>",
        lambda match: match.group() + '<rect width="100%" height="100%" fill="#ffffff"/>',
        text,
        count=1,
    )


def tidied(svg: bytes) -> str:
    """SVG text with shorter numbers (a hundredth of a point is enough), common fonts and no empty
    metadata.

    >>> tidied(b'<svg><path d="M 1.23456 2.5"/></svg>')
    '<svg><path d="M 1.23 2.5"/></svg>'
    """
    text = svg.decode("utf-8")
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)

    def shorten(match: re.Match[str]) -> str:
        tag = match.group()
        if "data:" not in tag:  # an embedded picture
            tag = _NUMBER.sub(
                lambda found: f"{float(found.group()):.2f}".rstrip("0").rstrip("."), tag
            )
        return _FAMILY.sub(rf"\1{FONTS}", tag)

    return _TAG.sub(shorten, text)


def smaller(picture: str) -> str:
    """A PNG picture in a data URI with 16 colours, which is enough for scattered points of one
    colour: a fraction of the size.

    >>> out = io.BytesIO()
    >>> PIL.Image.new("RGBA", (64, 64), (0, 114, 178, 60)).save(out, "png")
    >>> smaller("data:image/png;base64," + base64.b64encode(out.getvalue()).decode())[:22], smaller("")
    ('data:image/png;base64,', '')
    """
    head, _, body = picture.partition("base64,")
    if head != "data:image/png;":
        return picture
    reduced = (
        PIL.Image.open(io.BytesIO(base64.b64decode(body)))
        .convert("RGBA")
        .quantize(16, PIL.Image.Quantize.FASTOCTREE)
    )
    out = io.BytesIO()
    reduced.save(out, "png", optimize=True)
    return f"{head}base64,{base64.b64encode(out.getvalue()).decode()}"


def _leave_out(root: ElementTree.Element) -> None:
    """The legend, the style sheet (which would rule the whole page) and the transparent ground."""
    for parent in list(root.iter()):
        for child in list(parent):
            ground = child.tag == "path" and child.get("style") == "fill: none"
            if child.tag == "style" or child.get("id") == _LEGEND or ground:
                parent.remove(child)


def _shorten(node: ElementTree.Element, used: set[str], prefix: str) -> None:
    name = node.attrib.pop("id", "")
    if name in used:
        node.set("id", prefix + name)
    kind, _, rest = name.partition("-")
    if kind == SERIES and rest:
        node.set("data-s", rest.partition("-")[0])
    for key, value in list(node.attrib.items()):
        if key == "style":
            parts = [
                part.strip().replace(": ", ":")
                for part in value.split(";")
                if "font-family" not in part
            ]
            value = ";".join(parts).replace(INK, "currentColor")
            value = re.sub(r"font:([0-9.]+px)[^;]*", r"font-size:\1", value)
        elif key == "d":
            value = re.sub(r"\s*([A-Za-z])\s*", r"\1", value).strip()
        elif key == "transform" and value.startswith("rotate(-0 "):
            del node.attrib[key]
            continue
        value = value.replace("url(#", f"url(#{prefix}")
        node.set(key, f"#{prefix}{value[1:]}" if key == "href" and value.startswith("#") else value)
    for key in ("style", "data-s"):
        if node.get(key) == "":
            del node.attrib[key]
    if node.tag not in ("text", "tspan"):
        node.text = None
    node.tail = None


def _hoist(node: ElementTree.Element) -> None:
    """Marks that all look the same say so once."""
    styles = {child.get("style") for child in node}
    if (
        len(node) > 1
        and len(styles) == 1
        and None not in styles
        and not node.get("style")
        and all(each.tag == "use" for each in node)
    ):
        node.set("style", node[0].attrib["style"])
        for child in node:
            del child.attrib["style"]


def _flatten(node: ElementTree.Element) -> None:
    """Groups that say nothing give way to what is in them."""
    children: list[ElementTree.Element] = []
    for child in list(node):
        _flatten(child)
        empty = child.tag in ("g", "defs") and not len(child)
        if child.tag == "g" and not child.attrib:
            children.extend(child)
        elif not empty:
            children.append(child)
    node[:] = _together(children)


def _together(nodes: list[ElementTree.Element]) -> list[ElementTree.Element]:
    """Three or more marks in a row that look the same become one group, and the small ticks of an
    axis one path.
    """
    out: list[ElementTree.Element] = []
    known = {path.get("id"): path for node in nodes if node.tag == "defs" for path in node}
    for (tag, style, mark), run in itertools.groupby(
        nodes, key=lambda node: (node.tag, node.get("style"), node.get("href"))
    ):
        some = list(run)
        if tag == "use" and style and len(some) > 2:
            stroke = (
                _STROKE.fullmatch(known[mark[1:]].get("d", ""))
                if mark and mark[1:] in known
                else None
            )
            if stroke:  # every `use` costs a browser several nodes
                places = "".join(
                    f"M{node.get('x')} {node.get('y')}l{stroke[1]} {stroke[2]}" for node in some
                )
                some = [ElementTree.Element("path", d=places, style=style)]
            else:
                group = ElementTree.Element("g")
                group[:] = some
                _hoist(group)
                some = [group]
        out += some
    return out
