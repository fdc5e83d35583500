"""Networks that cost what the shared one costs, in parameters or in products: is a gain more than a
matter of size?
"""

import numpy as np

from separatrix.diagnosis.bench import FULL, LOCAL, SHARED, Arm, Bench, Unit
from separatrix.diagnosis.explain import Matched
from separatrix.diagnosis.gains import gain_interval
from separatrix.diagnosis.rounds import overlap_of, pairs_of, results
from separatrix.diagnosis.widths import COSTS, cost_of
from separatrix.inference.intervals import mean_over_seeds

SPLITS = 4
# A local network of the shared one's width costs as many products as it already.
ARMS = (Arm("full", "parameters"), Arm("full", "products"), Arm("local", "parameters"))


def matched_networks(bench: Bench, field: int) -> tuple[Matched, ...]:
    """Train full and local networks of matched widths on the largest samples of the first splits,
    as far as the time allows.

    The three networks as they took part come first. Nothing is left to compare with where the
    shared one was not run in two splits.

    >>> from separatrix.data.labelled import as_labelled
    >>> from separatrix.engine import Lab
    >>> from separatrix.diagnosis.settings import Settings
    >>> data = as_labelled(np.random.default_rng(0).normal(size=(60, 8)), np.arange(60) % 2)
    >>> matched_networks(Bench(data, Settings(), Lab()), 3)
    ()
    """
    top = bench.sizes.ladder[-1]
    if len(results(bench, SHARED, field, top)) < 2:
        return ()
    # One network after another: a program that is compiled should come to an interval.
    for arm in ARMS:
        bench.run(
            [Unit(arm, field, top, split) for split in range(min(SPLITS, bench.settings.splits))],
            ending=False,
        )
    return tuple(
        found
        for arm in (SHARED, FULL, LOCAL, *ARMS)
        if (found := _measured(bench, arm, field)) is not None
    )


def _measured(bench: Bench, arm: Arm, field: int) -> Matched | None:
    top, level = bench.sizes.ladder[-1], bench.settings.level
    accuracy = np.array([each.accuracy for each in results(bench, arm, field, top)])
    if len(accuracy) < 2:
        return None
    net, view, channels = bench.net(arm, field), bench.sight(arm, field), bench.data.shape[-1]
    parameters, products = (cost_of(net, view, channels, cost) for cost in COSTS)
    pairs = pairs_of(bench, field, SHARED, arm, [top])
    gap = None
    if arm != SHARED and len(pairs) > 1:
        gap = gain_interval(
            list(pairs.values()), overlap_of(bench, list(pairs), {top: list(pairs.values())}), level
        )
    return Matched(
        arm.network,
        arm.control,
        net.width,
        parameters,
        products,
        mean_over_seeds(accuracy, level),
        gap,
    )
