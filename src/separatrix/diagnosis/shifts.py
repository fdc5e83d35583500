"""The translation test: how well networks trained on rows as they are answer for held-out rows that
are shifted by some pixels.

A shift is nothing but other windows: a window of the shifted row sees what a moved window of the
row itself sees. Pixels that come in from beyond the edge repeat the edge.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import numpy as np
from jaxtyping import Int

from separatrix.diagnosis.bench import FULL, KEPT, LOCAL, SHARED, Bench, Unit
from separatrix.diagnosis.explain import Shifted
from separatrix.diagnosis.gains import Paired, gain_interval
from separatrix.diagnosis.networks import Net, Weights, outputs_of
from separatrix.diagnosis.rounds import overlap_of
from separatrix.diagnosis.training import Rows, score
from separatrix.inference.intervals import mean_over_seeds

LEAST, ROWS, NUMBERS = (
    100,
    400,
    1_500_000,
)  # held-out rows of a split that are shifted: as many as windows see this many numbers in


class NoTime(Exception):
    """The weights of a network are not at hand, and there is no time to train it again.

    >>> issubclass(NoTime, Exception)
    True
    """


def distances(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shifts to test: 1, 2, 4, ... pixels, up to a quarter of the smaller side and to 8.

    >>> distances((8, 8, 1)), distances((28, 28, 1)), distances((128, 1)), distances((3, 1))
    ((1, 2), (1, 2, 4), (1, 2, 4, 8), ())
    """
    return tuple(shift for shift in (1, 2, 4, 8) if 4 * shift <= min(shape[:-1]))


def moved(shape: tuple[int, ...], shift: int) -> Iterator[Int[np.ndarray, " pixels"]]:
    """For both directions along every axis: which pixel of a row stands at each place of the
    shifted row.

    >>> [each.tolist() for each in moved((4, 1), 1)]
    [[0, 0, 1, 2], [1, 2, 3, 3]]
    """
    space = shape[:-1]
    for axis, length in enumerate(space):
        for step in (shift, -shift):
            along = [np.arange(n) for n in space]
            along[axis] = np.clip(along[axis] - step, 0, length - 1)
            yield (
                np.ravel_multi_index(np.meshgrid(*along, indexing="ij"), space)
                .reshape(-1)
                .astype(np.int32)
            )


def translation(bench: Bench, field: int) -> tuple[Shifted, ...]:
    """Accuracies and costs of every shift for the three networks at the largest sample size;
    nothing for tables, whose columns stand in no space.

    >>> from separatrix.data.labelled import as_labelled
    >>> from separatrix.engine import Lab
    >>> from separatrix.diagnosis.settings import Settings
    >>> x = np.random.default_rng(0).normal(size=(60, 8))
    >>> translation(Bench(as_labelled(x, np.arange(60) % 2, kind="tabular"), Settings(), Lab()), 3)
    ()
    """
    shifts, top = distances(bench.data.shape), bench.sizes.ladder[-1]
    if bench.data.kind == "tabular" or not shifts:
        return ()
    seen = bench.sight(SHARED, field).places.size * bench.data.shape[-1]
    rows = min(bench.sizes.test, max(LEAST, min(ROWS, NUMBERS // seen)))
    programs: dict[Net, Any] = {}
    found: dict[Unit, dict[str, Any]] = {}
    slowest = 0.0
    for split in range(KEPT):
        for arm in (FULL, SHARED, LOCAL):
            unit, before = Unit(arm, field, top, split), bench.left
            if unit not in bench.results or slowest > before:
                continue
            name = bench.parameters(unit) | {"shifts": list(shifts), "tested": rows}
            try:
                found[unit] = bench.lab.remember(
                    "diagnose-shifts",
                    name,
                    lambda unit=unit: _shifted(bench, unit, shifts, rows, programs),
                )
            except NoTime:
                continue
            slowest = max(slowest, before - bench.left)
    out = []
    for arm in (FULL, SHARED, LOCAL):
        mine = {unit.split: each for unit, each in found.items() if unit.arm == arm}
        for i, shift in enumerate(shifts if len(mine) > 1 else ()):
            accuracy = np.array([each["shifted"][i][0] for each in mine.values()])
            pairs = [
                Paired.of(each["accuracy"] - each["shifted"][i][0], each["shifted"][i][1])
                for each in mine.values()
            ]
            cost = gain_interval(
                pairs, overlap_of(bench, list(mine), {top: pairs}), bench.settings.level
            )
            out.append(
                Shifted(
                    str(arm), shift, rows, mean_over_seeds(accuracy, bench.settings.level), cost
                )
            )
    return tuple(out)


def _shifted(
    bench: Bench, unit: Unit, shifts: tuple[int, ...], most: int, programs: dict[Net, Any]
) -> dict[str, Any]:
    """The accuracy on rows as they are, and for every shift the mean accuracy over directions with
    the noise of the difference.
    """
    weights = bench.weights(unit)
    if weights is None:
        raise NoTime
    net, view = bench.net(unit.arm, unit.field), bench.sight(unit.arm, unit.field)
    test = bench.rows(unit.split)[2]
    test = Rows(test.x[:most], test.y[:most], np.int32(min(int(test.count), most)))
    program = programs.setdefault(net, jax.jit(partial(_outcomes, net)))

    def outcomes(places: np.ndarray) -> np.ndarray:
        return np.asarray(program(weights, test, places, view.pool), float)[: int(test.count)]

    plain = outcomes(view.places)
    out = []
    for shift in shifts:
        rows = np.mean(
            [outcomes(where[view.places]) for where in moved(bench.data.shape, shift)], axis=0
        )
        out.append([float(rows.mean()), Paired(plain - rows, 0.0, 0.0).noise])
    return {"accuracy": float(plain.mean()), "shifted": out}


def _outcomes(net: Net, params: Weights, rows: Rows, places: Any, pool: Any) -> Any:
    return score(outputs_of(net, params, rows.x, places, pool), rows.y, rows.count)[2]
