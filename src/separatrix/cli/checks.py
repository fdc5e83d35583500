"""`separatrix audit` and `calibrate`: checks of what lower bounds and intervals assume."""

from typing import Annotated

import typer

from separatrix.cli.options import Json, Seed, one_of

NETWORK_NAMES = ("CNN", "LCN", "FCN")
LEARNER_NAMES = ("sgd", "adam", "rmsprop", "adadelta")


def audit(
    network: Annotated[
        list[str],
        typer.Option("--network", help="May be repeated. [default: all]", **one_of(*NETWORK_NAMES)),
    ] = [],  # noqa: B006
    learner: Annotated[
        list[str],
        typer.Option("--learner", help="May be repeated. [default: all]", **one_of(*LEARNER_NAMES)),
    ] = [],  # noqa: B006
    patches: Annotated[
        int, typer.Option("--patches", min=1, max=64, help="Patches of an input.")
    ] = 6,
    dimension: Annotated[
        int, typer.Option("--dimension", min=1, max=64, help="Numbers in a patch.")
    ] = 5,
    samples: Annotated[
        int, typer.Option("--samples", min=1, max=10**6, help="Training samples.")
    ] = 200,
    steps: Annotated[int, typer.Option("--steps", min=1, max=10**5, help="Training steps.")] = 60,
    draws: Annotated[
        int,
        typer.Option(
            "--draws", min=1, max=10**4, help="Random group elements, each with its own start."
        ),
    ] = 8,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Measure which symmetries training respects, for each network, learner and group."""
    from separatrix.cli.output import plain_table, print_json, progress_bar, terminal
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
    pairs = [(name, rule) for name in network or NETWORKS for rule in learner or LEARNERS]
    rows = []
    with progress_bar(json) as show:
        for done, (name, rule) in enumerate(pairs):
            if show is not None:
                show("audit", done, len(pairs))
            for group, gaps in gaps_of(settings, name, rule).items():
                row = {"network": name, "learner": rule, "group": group, "gaps": gaps}
                below = sum(gap < EQUIVARIANT for gap in gaps)
                partly = f"in {below} of {len(gaps)} draws"
                answer = {0: "no", len(gaps): "yes"}.get(below, partly)
                rows.append(row | {"equivariant": answer})
    if json:
        print_json({"line": EQUIVARIANT, "groups": GROUPS, "rows": rows})
        return
    table = plain_table("network", "learner", "group", "median gap", "equivariant")
    for row in rows:
        median = median_interval(row["gaps"])
        gap = interval(median.estimate, median.low, median.high)
        table.add_row(row["network"], row["learner"], row["group"], gap, row["equivariant"])
    terminal().print(table)
    print(
        "gap: relative distance of the two predictors on fresh inputs; below "
        f"{EQUIVARIANT:g} in every draw counts as equivariant"
    )


def calibrate(
    studies: Annotated[
        int, typer.Option("--studies", min=1, max=10**6, help="Simulated studies per scenario.")
    ] = 500,
    seed: Seed = 0,
    scenario: Annotated[
        list[str],
        typer.Option("--scenario", help="A scenario; may be repeated. [default: all]"),
    ] = [],  # noqa: B006
    verdicts: Annotated[
        bool,
        typer.Option("--verdicts", help="Only the verdicts of each kind of claim (minutes)."),
    ] = False,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Only intervals, exponents and laws.")
    ] = False,
) -> None:
    """Simulate studies with known answers: how often are intervals and verdicts right?

    The whole of both tables takes about 20 minutes on one core. The exit status is 1 if a
    row is outside its range.
    """
    from separatrix.errors import UnknownNameError
    from separatrix.inference.coverage import print_table
    from separatrix.inference.coverage import scenarios as interval_scenarios
    from separatrix.studies.planted import planted_truths, print_planted

    tables = [
        (verdicts, print_table, [scenario.name for scenario in interval_scenarios()]),
        (intervals, print_planted, [truth.name for truth in planted_truths()]),
    ]
    for name in scenario:
        if not any(name in names for _, _, names in tables):
            known = (name for _, _, names in tables for name in names)
            raise UnknownNameError("calibration scenario", name, known)
    passed = True
    for left_out, print_rows, names in tables:
        wanted = [name for name in scenario if name in names]
        if not left_out and (wanted or not scenario):
            passed = print_rows(studies, seed, wanted or None) and passed
    if not passed:
        raise typer.Exit(1)
