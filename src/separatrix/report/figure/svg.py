"""Matplotlib's SVG made ready for a page: small, and the same each time."""

import base64
import io
import itertools
import re
from collections.abc import Sequence
from html import escape
from xml.etree import ElementTree

import PIL.Image

# Matplotlib cannot name the colour of the text around a figure; this colour stands for it.
INK = "#0a0b0c"
BLACK = "#1a1a1a"
# Fonts at most as wide as the font of the layout
FONTS = "'DejaVu Sans', Verdana, 'Noto Sans', sans-serif"
SERIES = "series"  # the parts of series 3 are named series-3-0, series-3-1, ...
_TAG = re.compile(r"<[^>]*>")  # matplotlib escapes the < and > of all text and attributes
_REFERENCE = re.compile(r"url\(#([^)]+)\)|^#(.+)")
_FAMILY = re.compile(r"(font-family: |font: [^;\"]*?px )'[^;\"]*")
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
# Characters that XML does not allow
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_STROKE = re.compile(r"M0 0L(-?[0-9.]+) (-?[0-9.]+)")
_LEGEND = "legend_1"


def inlined(
    svg: bytes, title: str, prefix: str, top: float = 0.0, pictures: Sequence[str] = ()
) -> str:
    """SVG text for a page: small, in the text's colour, with names that start with `prefix`.

    The legend is removed, because the page has its own, and so are the first `top` points of the
    height, where the legend was. Parts of a series are marked with `data-s`; `pictures` has the
    series of the embedded pictures, which matplotlib leaves without names.

    >>> path = b'<g id="series-1-0"><path style="fill: #0a0b0c"/></g>'
    >>> drawing = b'<svg width="5pt" viewBox="0 0 5 4">' + path + b"</svg>"
    >>> print(inlined(drawing, "A <b>", "p-", top=1.0))
    <svg viewBox="0 1 5 3" style="..." role="img" aria-label="A &lt;b&gt;"><g data-s="1"><path
    style="fill:currentColor" /></g></svg>
    """
    root = ElementTree.fromstring(_UNPRINTABLE.sub("\ufffd", tidied(svg)))
    for node in root.iter():
        node.tag = node.tag.rpartition("}")[2]
        for key in [key for key in node.attrib if key.startswith("{")]:
            node.set(key.rpartition("}")[2], node.attrib.pop(key))
    _remove_extras(root)
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
    left, _, width, height = (float(number) for number in root.get("viewBox", "0 0 1 1").split())
    inside = "".join(ElementTree.tostring(node, encoding="unicode") for node in root)
    style = f"stroke-linejoin:round;stroke-linecap:butt;font-family:{FONTS}"
    box = " ".join(
        f"{number:.2f}".rstrip("0").rstrip(".") for number in (left, top, width, height - top)
    )
    label = f'role="img" aria-label="{escape(title)}"'
    return f'<svg viewBox="{box}" style="{escape(style)}" {label}>{inside}</svg>'


def standalone(svg: bytes) -> str:
    """SVG text for a file: black on white, because the viewer's background is unknown.

    >>> standalone(b'<?xml?><svg viewBox="0 0 5 4"><g style="fill: #0a0b0c"/></svg>')
    '<?xml?><svg viewBox="0 0 5 4"><rect width="100%" height="100%" fill="#ffffff"/><g
    style="fill: #1a1a1a"/></svg>'
    """
    text = _TAG.sub(lambda match: match.group().replace(INK, BLACK), tidied(svg))
    return re.sub(
        r"<svg[^>]*>",
        lambda match: match.group() + '<rect width="100%" height="100%" fill="#ffffff"/>',
        text,
        count=1,
    )


def image_address(svg: str) -> str:
    """An SVG file as an address that a page can hold.

    >>> image_address("<svg/>")
    'data:image/svg+xml;base64,PHN2Zy8+'
    """
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def tidied(svg: bytes) -> str:
    """SVG text with shorter numbers (to a hundredth of a point), common fonts and no metadata.

    >>> tidied(b'<svg><path d="M 1.23456 2.5"/></svg>')
    '<svg><path d="M 1.23 2.5"/></svg>'
    """
    text = svg.decode("utf-8")
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)

    def shorten(match: re.Match[str]) -> str:
        tag = match.group()
        if "data:" not in tag:  # embedded pictures stay as they are
            tag = _NUMBER.sub(
                lambda number: f"{float(number.group()):.2f}".rstrip("0").rstrip("."), tag
            )
        return _FAMILY.sub(rf"\1{FONTS}", tag)

    return _TAG.sub(shorten, text)


def smaller(picture: str) -> str:
    """A PNG picture in a data URI, reduced to 16 colours.

    Scattered points of one colour need no more, and the picture becomes several times smaller.

    >>> out = io.BytesIO()
    >>> PIL.Image.new("RGBA", (64, 64), (0, 114, 178, 60)).save(out, "png")
    >>> smaller("data:image/png;base64," + base64.b64encode(out.getvalue()).decode())[:22]
    'data:image/png;base64,'
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


def _remove_extras(root: ElementTree.Element) -> None:
    """Remove the legend, the transparent background and the style sheet, which would apply to the
    whole page.
    """
    for parent in list(root.iter()):
        for child in list(parent):
            background = child.tag == "path" and child.get("style") == "fill: none"
            if child.tag == "style" or child.get("id") == _LEGEND or background:
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
    """Move a style that all marks of a group share to the group."""
    styles = {child.get("style") for child in node}
    if (
        len(node) > 1
        and len(styles) == 1
        and None not in styles
        and not node.get("style")
        and all(child.tag == "use" for child in node)
    ):
        node.set("style", node[0].attrib["style"])
        for child in node:
            del child.attrib["style"]


def _flatten(node: ElementTree.Element) -> None:
    """Replace groups without attributes by their children."""
    children: list[ElementTree.Element] = []
    for child in list(node):
        _flatten(child)
        empty = child.tag in ("g", "defs") and not len(child)
        if child.tag == "g" and not child.attrib:
            children.extend(child)
        elif not empty:
            children.append(child)
    node[:] = _grouped(children)


def _grouped(nodes: list[ElementTree.Element]) -> list[ElementTree.Element]:
    """Make one group of three or more equal marks, and one path of the small ticks of an axis."""
    out: list[ElementTree.Element] = []
    definitions = {path.get("id"): path for node in nodes if node.tag == "defs" for path in node}
    for (tag, style, mark), run in itertools.groupby(
        nodes, key=lambda node: (node.tag, node.get("style"), node.get("href"))
    ):
        equal = list(run)
        if tag == "use" and style and len(equal) > 2:
            stroke = (
                _STROKE.fullmatch(definitions[mark[1:]].get("d", ""))
                if mark and mark[1:] in definitions
                else None
            )
            if stroke:  # every `use` costs a browser several nodes
                path = "".join(
                    f"M{node.get('x')} {node.get('y')}l{stroke[1]} {stroke[2]}" for node in equal
                )
                equal = [ElementTree.Element("path", d=path, style=style)]
            else:
                group = ElementTree.Element("g")
                group[:] = equal
                _hoist(group)
                equal = [group]
        out += equal
    return out
