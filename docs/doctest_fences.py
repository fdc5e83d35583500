"""Fences around the examples in docstrings, which Markdown would show as quotes without them."""

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^(?P<indent>[ ]*)>>> ")


def fence_examples(text: str) -> str:
    """Put every run of doctest lines, up to the next blank line, into a fence.

    >>> print(fence_examples("Words.\\n\\n>>> 1 + 1\\n2\\n\\nMore."))
    Words.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    <BLANKLINE>
    More.
    """
    out: list[str] = []
    inside = ""
    for line in text.splitlines():
        example = EXAMPLE.match(line)
        if example and not inside:
            inside = example["indent"] + "```"
            out.append(inside + "pycon")
        elif inside and not line.strip():
            out.append(inside)
            inside = ""
        out.append(line)
    return "\n".join([*out, inside] if inside else out)


def join_first(text: str) -> str:
    """The text with its first paragraph on one line: summaries show the first line.

    >>> join_first("One sentence\\nof two lines.\\n\\nMore.")
    'One sentence of two lines.\\n\\nMore.'
    """
    first, blank, rest = text.partition("\n\n")
    return " ".join(first.split()) + blank + rest if first[:3] != "```" else text


class Fences(griffe.Extension):
    """Fences the examples of every docstring that griffe reads.

    Constants of a module get a docstring, because the reference leaves out what has none: fields of
    classes, which the docstring of their class explains.
    """

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = join_first(fence_examples(obj.docstring.value))
        elif obj.is_attribute and obj.parent is not None and obj.parent.is_module:
            obj.docstring = griffe.Docstring("A constant.", parent=obj)
