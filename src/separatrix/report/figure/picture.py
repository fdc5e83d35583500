"""Small pictures with labels: example patches and the like."""

import numpy as np
from matplotlib.figure import Figure as Canvas

from separatrix.report.figure.axes import clip
from separatrix.studies import Picture

ROW = 0.36  # inches that a strip is high; taller pictures get more
LABELS = 1.5  # inches for the labels


def picture_canvas(figure: Picture, width: float, ink: str) -> Canvas:
    """Every strip at the same size of a pixel (up to the width there is), its label at its left.

    >>> from separatrix.studies import Axis
    >>> dots = Picture("p", "P", Axis(""), Axis(""), (), "", ("one",), ((((255, 0, 0), (0, 0, 0)),),))
    >>> len(picture_canvas(dots, 5.4, "black").axes)
    1
    """
    stacks = [np.array(strip, np.uint8) for strip in figure.strips]
    room = width - LABELS
    # Strips of patches fill the width; a picture that is no strip is at most three strips high.
    heights = [
        max(ROW, min(3 * ROW, room * stack.shape[0] / max(1, stack.shape[1]))) for stack in stacks
    ]
    total = sum(heights) + 0.08 * (len(heights) + 1)
    canvas = Canvas(figsize=(width, max(total, ROW)), dpi=100, facecolor="white")
    top = total
    for label, stack, height in zip(figure.labels, stacks, heights):
        top -= height + 0.08
        axes = canvas.add_axes((LABELS / width, top / total, room / width, height / total))
        axes.imshow(stack, interpolation="none", aspect="equal")
        axes.set_anchor("W")
        axes.set_axis_off()
        canvas.text(
            (LABELS - 0.08) / width,
            (top + height / 2) / total,
            clip(label, 26),
            ha="right",
            va="center",
            fontsize=8.5,
            color=ink,
        )
    return canvas
