"""Draw the diagrams of the documentation: the three networks, the tasks, a threshold, a verdict.

    python docs/draw_diagrams.py          # writes docs/images/*.svg

They are drawn from a few numbers, not from measurements. A test compares the files with what this
prints.
"""

import math
import random
from pathlib import Path

IMAGES = Path(__file__).resolve().parent / "images"
INK, SOFT, PAPER = "#263238", "#90a4ae", "#ffffff"
COLOURS = {"CNN": "#1f77b4", "LCN": "#2ca02c", "FCN": "#d62728"}
SHADES = ("#1b7837", "#5aae61", "#a6dba0", "#00695c", "#26a69a")


class Canvas:
    """SVG text in the making, on white paper so that it reads in dark pages, too."""

    def __init__(self, width: float, height: float, label: str):
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
            f'role="img" aria-label="{label}" font-family="sans-serif" font-size="13">',
            f'<rect width="{width:g}" height="{height:g}" rx="6" fill="{PAPER}"/>',
        ]

    def line(
        self,
        x: float,
        y: float,
        u: float,
        v: float,
        colour: str,
        width: float = 1.4,
        dash: str = "",
    ) -> None:
        """A straight line."""
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<path d="M{x:.1f} {y:.1f} {u:.1f} {v:.1f}" stroke="{colour}" '
            f'stroke-width="{width:g}" fill="none"{dashed}/>'
        )

    def curve(self, points: list[tuple[float, float]], colour: str, width: float = 2.2) -> None:
        """A line through points."""
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        self.parts.append(
            f'<path d="M{path}" stroke="{colour}" stroke-width="{width:g}" fill="none"/>'
        )

    def dot(self, x: float, y: float, radius: float, fill: str, stroke: str = INK) -> None:
        """A circle."""
        self.parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{fill}" stroke="{stroke}"/>'
        )

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str,
        stroke: str = INK,
        round_: float = 3,
    ) -> None:
        """A rectangle."""
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:g}" height="{height:g}" rx="{round_:g}" '
            f'fill="{fill}" stroke="{stroke}"/>'
        )

    def text(
        self,
        x: float,
        y: float,
        words: str,
        colour: str = INK,
        size: float = 13,
        anchor: str = "middle",
        weight: str = "normal",
    ) -> None:
        """A line of text."""
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" font-size="{size:g}" '
            f'text-anchor="{anchor}" font-weight="{weight}">{words}</text>'
        )

    def svg(self) -> str:
        """The finished text."""
        return "\n".join([*self.parts, "</svg>", ""])


def networks() -> str:
    """FCN, LCN and CNN side by side: who sees what, and which weights are the same."""
    canvas = Canvas(840, 250, "A fully connected, a locally connected and a convolutional network")
    words = {
        "FCN": ("fully connected", "every unit sees every input"),
        "LCN": ("locally connected", "a window per unit, weights of its own"),
        "CNN": ("convolutional", "a window per unit, the same weights"),
    }
    for panel, (name, (title, says)) in enumerate(words.items()):
        left, inputs, units = 20 + 275 * panel, 7, 5
        x = [left + 22 + 32 * i for i in range(inputs)]
        h = [left + 54 + 32 * i for i in range(units)]
        for j in range(units):
            for i in range(inputs) if name == "FCN" else range(j, j + 3):
                if name == "CNN":
                    colour = ("#08519c", "#3182bd", "#9ecae1")[i - j]
                else:
                    colour = COLOURS["FCN"] if name == "FCN" else SHADES[j]
                canvas.line(x[i], 186, h[j], 104, colour, 0.8 if name == "FCN" else 2)
            canvas.line(h[j], 96, left + 118, 56, SOFT)
        for place in x:
            canvas.dot(place, 190, 8, "#eceff1")
        for j, place in enumerate(h):
            canvas.dot(place, 100, 9, SHADES[j] if name == "LCN" else COLOURS[name])
        canvas.dot(left + 118, 50, 9, "#ffffff")
        canvas.text(left + 118, 26, f"{name}: {title}", COLOURS[name], 15, weight="bold")
        canvas.text(left + 118, 228, says)
    return canvas.svg()


def pattern() -> str:
    """A k-pattern: the label is set by k neighbouring bits."""
    canvas = Canvas(840, 150, "A k-pattern: the label depends on k consecutive bits")
    signs = "+-++-+--+-+++--+-+-+"
    for i, sign in enumerate(signs):
        inside = 8 <= i < 11
        canvas.box(40 + 38 * i, 50, 34, 34, "#bbdefb" if inside else "#eceff1")
        canvas.text(57 + 38 * i, 72, "+1" if sign == "+" else "−1", size=12)
    canvas.line(344, 94, 454, 94, COLOURS["CNN"], 2.4)
    canvas.text(399, 116, "y = g(these k bits), for instance their product", COLOURS["CNN"])
    canvas.text(420, 32, "n bits; nobody says where the pattern sits", size=14, weight="bold")
    return canvas.svg()


def signal() -> str:
    """The dynamic signal distribution: a signal in one patch of k, noise in all."""
    rng = random.Random(4)
    canvas = Canvas(840, 210, "The dynamic signal distribution: one of k patches holds the signal")
    bump = [math.exp(-((i - 6) ** 2) / 6) for i in range(13)]
    for row, (label, place) in enumerate([("y = +1", 2), ("y = −1", 4)]):
        base = 72 + 84 * row
        canvas.text(44, base + 5, label, weight="bold")
        for patch in range(6):
            left = 90 + 122 * patch
            holds = patch == place
            canvas.box(left, base - 34, 112, 66, "#e3f2fd" if holds else "#fafafa", SOFT)
            sign = (1 if row == 0 else -1) if holds else 0
            points = [
                (left + 8 + 8 * i, base - 26 * sign * value - 7 * rng.gauss(0, 1))
                for i, value in enumerate(bump)
            ]
            canvas.curve(points, COLOURS["CNN"] if holds else SOFT, 2)
    canvas.text(
        420,
        24,
        "x has k patches in d dimensions; one of them, anywhere, holds y·w*; noise σ is everywhere",
        size=14,
        weight="bold",
    )
    return canvas.svg()


def threshold() -> str:
    """How a threshold is read off a curve of success, and what a censored one is."""
    canvas = Canvas(840, 250, "A threshold with its interval, and a censored one")

    def place(samples: float, share: float) -> tuple[float, float]:
        return 70 + 92 * math.log2(samples), 200 - 150 * share

    canvas.line(70, 200, 800, 200, INK)
    canvas.line(70, 200, 70, 40, INK)
    for power in range(0, 8):
        x, _ = place(2**power, 0)
        canvas.line(x, 200, x, 205, INK)
        canvas.text(x, 220, str(2**power))
    canvas.text(420, 242, "samples")
    canvas.text(60, 55, "1", anchor="end")
    canvas.text(60, 129, "½", anchor="end")
    canvas.text(20, 30, "share of seeds that reach the goal", anchor="start")
    canvas.line(70, 125, 800, 125, SOFT, 1.2, "5 4")
    for name, middle, seen in [("CNN", 8, 128), ("FCN", 150, 64)]:
        curve = [
            place(2 ** (t / 20), 1 / (1 + (middle / 2 ** (t / 20)) ** 3))
            for t in range(0, 20 * int(math.log2(seen)) + 1)
        ]
        canvas.curve(curve, COLOURS[name])
    x, y = place(8, 0.5)
    canvas.dot(x, y, 6, COLOURS["CNN"])
    canvas.line(x - 44, y, x + 48, y, COLOURS["CNN"], 3)
    canvas.text(x + 4, 108, "threshold, with its interval", COLOURS["CNN"], anchor="end")
    x, _ = place(64, 0)
    canvas.dot(x, 125, 6, PAPER, COLOURS["FCN"])
    canvas.line(x + 6, 125, x + 60, 125, COLOURS["FCN"], 2.4)
    canvas.text(x + 66, 112, "censored: more than 64", COLOURS["FCN"], anchor="middle")
    return canvas.svg()


def edge() -> str:
    """Patches of m of d coordinates under one filter, and sharpness on its way to the edge."""
    canvas = Canvas(840, 240, "A filter over patches, and sharpness that ends at the edge")
    canvas.text(210, 30, "one filter reads every patch of m of the d coordinates", weight="bold")
    for i in range(12):
        seen = 4 <= i < 7
        canvas.box(40 + 29 * i, 130, 26, 26, "#bbdefb" if seen else "#fafafa", SOFT)
    for start in (0, 4, 9):
        bold = start == 4
        colour, width = (COLOURS["CNN"], 2.6) if bold else (SOFT, 1.6)
        x = 40 + 29 * start + 42
        for i in range(3):
            canvas.line(40 + 29 * (start + i) + 13, 128, x, 82, colour, width)
        canvas.dot(x, 76, 9, COLOURS["CNN"] if bold else "#e3f2fd", colour)
    canvas.text(199, 178, "m", COLOURS["CNN"], 15, weight="bold")
    canvas.line(40, 196, 385, 196, INK, 1.2)
    canvas.line(40, 190, 40, 202, INK, 1.2)
    canvas.line(385, 190, 385, 202, INK, 1.2)
    canvas.text(212, 218, "d", size=15, weight="bold")
    canvas.line(480, 200, 810, 200, INK)
    canvas.line(480, 200, 480, 50, INK)
    canvas.text(645, 30, "gradient descent ends at the edge", weight="bold")
    canvas.text(645, 224, "steps")
    canvas.text(488, 60, "sharpness", anchor="start")
    canvas.line(480, 92, 810, 92, COLOURS["FCN"], 1.6, "6 4")
    canvas.text(806, 84, "2/η", COLOURS["FCN"], 15, anchor="end")
    points = []
    for t in range(81):
        rise = 108 * (1 - math.exp(-t / 14)) * 1.02
        ripple = 5 * math.sin(1.7 * t) * min(1.0, t / 50)
        points.append((482 + 4 * t, 200 - min(rise, 108) + (ripple if rise > 104 else 0)))
    canvas.curve(points, COLOURS["CNN"])
    return canvas.svg()


def verdict() -> str:
    """From a sentence of a paper to a verdict."""
    canvas = Canvas(840, 130, "From a claim to a verdict")
    steps = [
        ("claim", "one sentence", "of a paper"),
        ("kind", "fixes the rule", "before the data"),
        ("trials", "many seeds,", "tuned on others"),
        ("interval", "numbers with", "their error"),
        ("verdict", "supported, refuted,", "or undecided"),
    ]
    for i, (name, first, second) in enumerate(steps):
        x = 16 + 164 * i
        canvas.box(x, 22, 144, 84, "#e8eaf6", "#3f51b5", 8)
        canvas.text(x + 72, 46, name, "#1a237e", 15, weight="bold")
        canvas.text(x + 72, 70, first, size=12)
        canvas.text(x + 72, 88, second, size=12)
        if i:
            canvas.line(x - 18, 64, x - 4, 64, INK, 2)
            canvas.line(x - 9, 59, x - 3, 64, INK, 2)
            canvas.line(x - 9, 69, x - 3, 64, INK, 2)
    return canvas.svg()


DIAGRAMS = {
    "networks": networks,
    "pattern": pattern,
    "signal-task": signal,
    "threshold": threshold,
    "edge": edge,
    "verdict": verdict,
}

if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    for name, draw in DIAGRAMS.items():
        (IMAGES / f"{name}.svg").write_text(draw(), encoding="utf-8")
