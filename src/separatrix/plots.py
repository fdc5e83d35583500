"""Axes for `.plot()`: those of matplotlib, and a notebook shows them."""

import base64
import io

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure


class ShownAxes(Axes):
    """Axes that a notebook shows where they are the last line of a cell."""

    def _repr_html_(self) -> str:
        out = io.BytesIO()
        with matplotlib.rc_context({"svg.hashsalt": "separatrix", "svg.fonttype": "none"}):
            self.figure.canvas.print_figure(out, format="svg", metadata={"Date": None})
        words = f"{self.get_ylabel()} against {self.get_xlabel()}".replace('"', "'")
        address = f"data:image/svg+xml;base64,{base64.b64encode(out.getvalue()).decode()}"
        return f'<img alt="{words}" src="{address}">'


def new_axes() -> ShownAxes:
    """Axes of a new figure, of a size for a slide or a column of text.

    >>> axes = new_axes()
    >>> _ = axes.set(xlabel="samples", ylabel="risk")
    >>> axes._repr_html_()[:32]
    '<img alt="risk against samples" '
    """
    canvas = Figure(figsize=(5.4, 3.5), layout="constrained")
    axes = canvas.add_subplot(axes_class=ShownAxes)
    assert isinstance(axes, ShownAxes)
    return axes
