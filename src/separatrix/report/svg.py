"""Making matplotlib's SVG fit to stand inside a page, and the same each time."""

import re
from html import escape

INK = "#0a0b0c"  # stands for the colour of the text around the figure, which matplotlib cannot name
BLACK = "#1a1a1a"
FONTS = "'DejaVu Sans', Verdana, 'Noto Sans', sans-serif"  # fonts as wide as the one the layout was measured with, or narrower
_TAG = re.compile(r"<[^>]*>")  # matplotlib escapes the < and > of all text and attributes
_REFERENCE = re.compile(r'(?:url\(#|href="#)([^)"]+)')
_FAMILY = re.compile(r"(font-family: |font: [^;\"]*?px )'[^;\"]*")
_STYLE = re.compile(r"<defs>\s*<style.*?</style>\s*</defs>\s*", re.DOTALL)
_NUMBER = re.compile(r"-?\d+\.\d{3,}")


def inlined(svg: bytes, title: str, prefix: str) -> str:
    """SVG text without prolog and size, in the text's colour, with names that start with `prefix`.

    >>> inlined(b'<?xml?><svg width="5pt" height="4pt" viewBox="0 0 5 4"><g id="a" style="fill: #0a0b0c"/></svg>', "A <b>", "p-")
    '<svg viewBox="0 0 5 4" style="stroke-linejoin:..." role="img" aria-label="A &lt;b&gt;"><g style="fill: currentColor"/></svg>'
    """
    text = tidied(svg)
    # A style sheet inside the SVG would rule the whole page; the two rules it has can stand at the root instead.
    text = _STYLE.sub("", text[text.index("<svg") :].strip(), count=1)
    referenced = set(_REFERENCE.findall(text))

    def rename(match: re.Match[str]) -> str:
        name = match.group(1)
        return f' id="{prefix}{name}"' if name in referenced else ""

    def change(match: re.Match[str]) -> str:
        tag = re.sub(r' id="([^"]*)"', rename, match.group().replace(INK, "currentColor"))
        return tag.replace("url(#", f"url(#{prefix}").replace('href="#', f'href="#{prefix}')

    text = _TAG.sub(change, text)
    head, rest = text.split(">", 1)
    head = re.sub(r' (width|height|xmlns(:xlink)?|version)="[^"]*"', "", head)
    return f'{head} style="stroke-linejoin:round;stroke-linecap:butt" role="img" aria-label="{escape(title)}">{rest}'


def standalone(svg: bytes) -> str:
    """SVG text for a file of its own: black on white, because the ground of its viewer is not known.

    >>> standalone(b'<?xml?><svg viewBox="0 0 5 4"><g style="fill: #0a0b0c"/></svg>')
    '<?xml?><svg viewBox="0 0 5 4"><rect width="100%" height="100%" fill="#ffffff"/><g style="fill: #1a1a1a"/></svg>'
    """
    text = _TAG.sub(lambda match: match.group().replace(INK, BLACK), tidied(svg))
    return re.sub(r"<svg[^>]*>", lambda match: match.group() + '<rect width="100%" height="100%" fill="#ffffff"/>', text, count=1)


def tidied(svg: bytes) -> str:
    """SVG text with shorter numbers (a hundredth of a point is enough), common fonts and no empty metadata.

    >>> tidied(b'<svg><path d="M 1.23456 2.5"/></svg>')
    '<svg><path d="M 1.23 2.5"/></svg>'
    """
    text = svg.decode("utf-8")
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)

    def shorten(match: re.Match[str]) -> str:
        tag = match.group()
        if "data:" not in tag:  # an embedded picture
            tag = _NUMBER.sub(lambda found: f"{float(found.group()):.2f}".rstrip("0").rstrip("."), tag)
        return _FAMILY.sub(rf"\1{FONTS}", tag)

    return _TAG.sub(shorten, text)
