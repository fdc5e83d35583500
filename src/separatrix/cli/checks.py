"""`separatrix audit` and `separatrix calibrate`: what the lower bounds and the intervals rest on,
checked on demand.
"""

import json as json_
from typing import Annotated

import typer

NETWORK_NAMES = "CNN, LCN, FCN"
LEARNER_NAMES = "sgd, adam, rmsprop, adadelta"


def audit(
    network: Annotated[
        list[str],
        typer.Option("--network", help=f"Only this one of {NETWORK_NAMES} (may be repeated)."),
    ] = [],  # noqa: B006
    learner: Annotated[
        list[str],
        typer.Option("--learner", help=f"Only this one of {LEARNER_NAMES} (may be repeated)."),
    ] = [],  # noqa: B006
    patches: Annotated[int, typer.Option("--patches", min=1, max=64)] = 6,
    dimension: Annotated[int, typer.Option("--dimension", min=1, max=64)] = 5,
    samples: Annotated[int, typer.Option("--samples", min=1, max=10**6)] = 200,
    steps: Annotated[int, typer.Option("--steps", min=1, max=10**5)] = 60,
    draws: Annotated[
        int, typer.Option("--draws", min=1, max=10**4, help="Random group elements and starts.")
    ] = 8,
    seed: Annotated[int, typer.Option("--seed", min=0, max=10**6)] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Measure which symmetries training respects, for each network, learner and group."""
    from rich.table import Table

    from separatrix.cli.commands import progress_bar, terminal
    from separatrix.inference.intervals import median_interval
    from separatrix.report import interval
    from separatrix.studies.equivariance.settings import EquivarianceSettings
    from separatrix.studies.equivariance.trials import LEARNERS
    from separatrix.studies.equivariance.trials import audit as gaps_of
    from separatrix.studies.signal.settings import NETWORKS
    from separatrix.studies.symmetry import EQUIVARIANT, GROUPS

    settings = EquivarianceSettings(
        patches, dimension, samples=samples, steps=steps, draws=draws, seed=seed
    )
    pairs = [(each, how) for each in network or NETWORKS for how in learner or LEARNERS]
    rows = []
    with progress_bar(json) as show:
        for done, (each, how) in enumerate(pairs):
            if show is not None:
                show("audit", done, len(pairs))
            for group, gaps in gaps_of(settings, each, how).items():
                below = sum(gap < EQUIVARIANT for gap in gaps)
                said = (
                    "yes"
                    if below == len(gaps)
                    else "no"
                    if not below
                    else f"in {below} of {len(gaps)} draws"
                )
                rows.append(
                    {
                        "network": each,
                        "learner": how,
                        "group": group,
                        "gaps": gaps,
                        "equivariant": said,
                    }
                )
    if json:
        print(json_.dumps({"line": EQUIVARIANT, "groups": GROUPS, "rows": rows}, indent=1))
        return
    table = Table(box=None, pad_edge=False)
    for column in ("network", "learner", "group", "median gap", "equivariant"):
        table.add_column(column)
    for row in rows:
        middle = median_interval(row["gaps"])
        table.add_row(
            row["network"],
            row["learner"],
            row["group"],
            interval(middle.estimate, middle.low, middle.high),
            row["equivariant"],
        )
    terminal().print(table)
    print(
        f"gap: relative distance of the two predictors on fresh inputs; below {EQUIVARIANT:g} in every draw counts as equivariant"
    )


def calibrate(
    studies: Annotated[
        int, typer.Option("--studies", min=1, max=10**6, help="Simulated studies a scenario.")
    ] = 500,
    seed: Annotated[int, typer.Option("--seed", min=0, max=10**6)] = 0,
    scenario: Annotated[
        list[str], typer.Option("--scenario", help="Only this scenario (may be repeated).")
    ] = [],  # noqa: B006
) -> None:
    """Simulate studies of learners with known thresholds and laws: how often are intervals and
    verdicts right?

    The whole table takes about a quarter of an hour on one core. Exit status 1: a row lies outside
    the range wanted of it.
    """
    from separatrix.inference.coverage import print_table

    if not print_table(studies, seed, scenario or None):
        raise typer.Exit(1)
