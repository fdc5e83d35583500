"""Draw which packages import which, as an SVG for docs/architecture.md.

    python docs/draw_imports.py          # writes docs/images/imports.svg

A test compares the file with what this prints. Arrows that follow from others are left out, so an
arrow means "imports, and nothing in between does".
"""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "separatrix"
TARGET = ROOT / "docs" / "images" / "imports.svg"
BASE = "foundations"  # the modules at the root, which import no package
WIDTH, BOX, GAP, ROW = 760, 104, 18, 62


def package_of(module: str) -> str:
    """The package of a dotted module name; modules at the root are one box."""
    parts = module.split(".")
    inside = len(parts) > 1 and (SOURCE / parts[1]).is_dir()
    return parts[1] if inside else BASE


def imports() -> dict[str, set[str]]:
    """For every package, the packages whose modules its own modules import, anywhere in a file."""
    edges: dict[str, set[str]] = {}
    for file in sorted(SOURCE.rglob("*.py")):
        relative = file.relative_to(SOURCE.parent).with_suffix("")
        name = ".".join(relative.parts)
        # The first re-exports everything, lazily; the second is the command.
        if name in ("separatrix.__init__", "separatrix.__main__"):
            continue
        home = edges.setdefault(package_of(name), set())
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            home.update(package_of(n) for n in names if n.startswith("separatrix."))
    for name, targets in edges.items():
        targets.discard(name)
    return edges


def layers(edges: dict[str, set[str]]) -> list[list[str]]:
    """The packages from the top down: each lies above everything that it imports."""
    height: dict[str, int] = {}

    def measure(name: str, above: tuple[str, ...] = ()) -> int:
        if name in above:
            raise ValueError(f"a cycle of imports: {' -> '.join((*above, name))}")
        if name not in height:
            below = [measure(target, (*above, name)) for target in sorted(edges[name])]
            height[name] = 1 + max(below, default=-1)
        return height[name]

    for name in edges:
        measure(name)
    rows: list[list[str]] = [[] for _ in range(max(height.values()) + 1)]
    for name in sorted(height):
        rows[height[name]].append(name)
    return rows[::-1]


def reduced(edges: dict[str, set[str]]) -> list[tuple[str, str]]:
    """The arrows that do not follow from two others."""

    def reach(name: str) -> set[str]:
        return {name}.union(*(reach(target) for target in edges[name]))

    return [
        (name, target)
        for name in sorted(edges)
        for target in sorted(edges[name])
        if not any(target in reach(other) for other in edges[name] - {target})
    ]


def draw(edges: dict[str, set[str]]) -> str:
    """The SVG."""
    rows = layers(edges)
    place = {}
    for level, row in enumerate(rows):
        width = len(row) * BOX + (len(row) - 1) * GAP
        for i, name in enumerate(row):
            place[name] = ((WIDTH - width) / 2 + i * (BOX + GAP), 10 + level * ROW)
    height = 20 + len(rows) * ROW
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'aria-label="Packages of separatrix; arrows point to what a package imports" '
        'font-family="sans-serif" font-size="13">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="#888"/></marker></defs>',
    ]
    for name, target in reduced(edges):
        (x, y), (u, v) = place[name], place[target]
        x, u, y = x + BOX / 2, u + BOX / 2, y + 32
        middle = (y + v) / 2
        out.append(
            f'<path d="M{x:g} {y:g}C{x:g} {middle:g} {u:g} {middle:g} {u:g} {v - 2:g}" '
            'fill="none" stroke="#888" stroke-width="1.4" marker-end="url(#tip)"/>'
        )
    for name, (x, y) in place.items():
        out.append(
            f'<rect x="{x:g}" y="{y:g}" width="{BOX}" height="32" rx="5" fill="#e8eaf6" '
            'stroke="#3f51b5"/>'
            f'<text x="{x + BOX / 2:g}" y="{y + 21:g}" text-anchor="middle" fill="#1a237e">'
            f"{name}</text>"
        )
    return "\n".join([*out, "</svg>", ""])


if __name__ == "__main__":
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(draw(imports()), encoding="utf-8")
