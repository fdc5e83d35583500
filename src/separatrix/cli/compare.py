"""`separatrix compare`: two runs side by side."""

import json as json_
from typing import Annotated, Any

import typer

MOST = 40  # lines of moved numbers on a terminal; --json has all


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="A folder of results or of evidence.")],
    b: Annotated[
        str, typer.Argument(metavar="B", help="Another one: another seed, device or version.")
    ],
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Say which verdicts and numbers of two runs differ beyond their intervals."""
    from separatrix.report.compare import compare_runs

    found = compare_runs(a, b)
    if json:
        print(json_.dumps(found.plain(), indent=1, ensure_ascii=False))
    else:
        _print(found)


def _print(found: Any) -> None:
    from rich.table import Table
    from rich.text import Text

    from separatrix.cli.commands import COLOURS, terminal
    from separatrix.report import interval
    from separatrix.report.compare import RULES, expected_by_chance

    out = terminal()

    def table(*columns: str) -> Table:
        made = Table(box=None, pad_edge=False)
        for column in columns:
            made.add_column(column, overflow="fold")
        return made

    about = table("", "A", "B")
    for key in dict.fromkeys([*found.about_a, *found.about_b]):
        about.add_row(key, *(Text(side.get(key, "—")) for side in (found.about_a, found.about_b)))
    out.print(about)
    out.print()
    if found.settings:
        names = ", ".join(name for name, _, _ in found.settings[:6]) + (
            ", …" if len(found.settings) > 6 else ""
        )
        out.print(
            f"{len(found.settings)} settings differ ({names}), so numbers of the same name may be of different experiments.",
            markup=False,
        )
        out.print()
    if found.verdicts:
        changed = table("changed verdict", "A", "B")
        for name, *both in found.verdicts:
            changed.add_row(Text(name), *(Text(each, style=COLOURS.get(each, "")) for each in both))
        out.print(changed)
    else:
        out.print("No verdict changed.")
    out.print()
    if found.moved:
        moved = table("moved", "quantity", "A", "B", "rule")
        for move in found.moved[:MOST]:
            texts = (interval(each.estimate, each.low, each.high) for each in (move.a, move.b))
            moved.add_row(*(Text(each) for each in (move.where, move.name, *texts, move.rule)))
        out.print(moved)
        if len(found.moved) > MOST:
            out.print(f"and {len(found.moved) - MOST} more (--json has all)")
        out.print()
    chance = expected_by_chance(found.numbers)
    for rule, count in found.counts.items():
        by_chance = (
            f"; about {chance[rule]:.1f} by chance if nothing differed"
            if rule in chance and found.numbers
            else ""
        )
        out.print(f"{count} of {len(found.numbers)} {rule}: {RULES[rule]}{by_chance}")
    for side, names in (("A", found.only_a), ("B", found.only_b)):
        if names:
            out.print(f"{len(names)} numbers are only in {side}, such as {names[0]}", markup=False)
