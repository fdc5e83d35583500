"""`separatrix report` and `separatrix compare`: the report of a run, and two runs compared."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from separatrix.cli.options import All, Json, Quiet

if TYPE_CHECKING:
    from separatrix.report import RunComparison

MOST_MOVED = 40  # moved numbers on a terminal; --json has all


def report(
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="The --out folder of a finished run.")
    ],
    evidence: Annotated[
        str,
        typer.Option(
            "--evidence",
            metavar="FOLDER",
            help="Also write verdicts, tables and figures here, to keep under version control.",
        ),
    ] = "",
    figures: Annotated[
        str,
        typer.Option(
            "--figures",
            metavar="FOLDER",
            help="Also write figures, data and claims.tex for a paper.",
        ),
    ] = "",
    formats: Annotated[
        str,
        typer.Option(
            "--format", help="With --figures: one or more of pdf, svg, png, separated by commas."
        ),
    ] = "pdf,svg,png",
    json: Json = False,
    every: All = False,
    quiet: Quiet = False,
) -> None:
    """Write the report of a results folder again."""
    from separatrix.cli.output import print_claims, print_json
    from separatrix.report import with_kept, write_evidence, write_figures, write_report
    from separatrix.report.read import read_claims

    if figures:
        count = len(write_figures(folder, figures, formats))
        if not quiet:
            print(f"{count} files in {figures}", file=sys.stderr)
    page = write_report(folder)
    if evidence:
        write_evidence(folder, evidence)
    claims = read_claims(folder)
    if json:
        print_json({"report": str(page), "claims": with_kept(claims)})
        return
    if not quiet:
        print_claims(claims, every)
    print(f"report: {page}")


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="A folder of results or of evidence.")],
    b: Annotated[
        str, typer.Argument(metavar="B", help="Another one: another seed, device or version.")
    ],
    json: Json = False,
) -> None:
    """Show which verdicts and numbers of two runs differ beyond their intervals."""
    from separatrix.cli.output import print_json
    from separatrix.report import compare_runs

    comparison = compare_runs(a, b)
    if json:
        print_json(comparison.plain())
    else:
        _print_comparison(comparison)


def _print_comparison(comparison: "RunComparison") -> None:
    from rich.text import Text

    from separatrix.cli.output import plain_table, terminal, verdict_text
    from separatrix.report import interval
    from separatrix.report.compare import RULES, expected_by_chance

    out = terminal()
    about = plain_table("", "A", "B")
    sides = (comparison.about_a, comparison.about_b)
    for key in dict.fromkeys([*comparison.about_a, *comparison.about_b]):
        about.add_row(key, *(Text(side.get(key, "—")) for side in sides))
    out.print(about)
    out.print()
    if comparison.settings:
        count = len(comparison.settings)
        names = ", ".join(name for name, _, _ in comparison.settings[:6])
        names += ", …" if count > 6 else ""
        out.print(
            f"{count} settings differ ({names}), so numbers of the same name may come from "
            "different experiments.",
            markup=False,
        )
        out.print()
    if comparison.verdicts:
        changed = plain_table("changed verdict", "A", "B")
        for name, *verdicts in comparison.verdicts:
            changed.add_row(Text(name), *(verdict_text(verdict) for verdict in verdicts))
        out.print(changed)
    else:
        out.print("No verdict changed.")
    out.print()
    if comparison.moved:
        moved = plain_table("moved", "quantity", "A", "B", "rule")
        for move in comparison.moved[:MOST_MOVED]:
            values = (interval(side.estimate, side.low, side.high) for side in (move.a, move.b))
            moved.add_row(*(Text(text) for text in (move.where, move.name, *values, move.rule)))
        out.print(moved)
        if len(comparison.moved) > MOST_MOVED:
            out.print(f"and {len(comparison.moved) - MOST_MOVED} more (--json has all)")
        out.print()
    chance = expected_by_chance(comparison.numbers)
    total = len(comparison.numbers)
    for rule, count in comparison.counts.items():
        expected = ""
        if rule in chance and total:
            expected = f"; about {chance[rule]:.1f} by chance if nothing differed"
        out.print(f"{count} of {total} {rule}: {RULES[rule]}{expected}")
    for side, names in (("A", comparison.only_a), ("B", comparison.only_b)):
        if names:
            out.print(f"{len(names)} numbers are only in {side}, such as {names[0]}", markup=False)
