"""Gradient descent exactly as Theorem 4 prescribes, in float64, with both sides of everything that
its proof promises.

Two exact savings make the theorem's sizes affordable. A window's features depend on its k bits
alone, so the population gradient over all 2^n inputs needs the features of 2^k patterns. Filters
that begin equal stay equal, since u begins at 0: the q filters are 2^k groups with multiplicities,
and a step costs the same for every q. Float32 is not enough: a step moves a weight by less than its
last digit.
"""

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from separatrix.theory.patterns.bounds import (
    lemma8,
    lemma9,
    theorem4,
    theorem4_rate,
    theorem4_sizes,
)
from separatrix.theory.patterns.hardness import log_window
from separatrix.theory.patterns.readout import cube, lemma6_readout, parity_table, pattern_index

# What the proof promises at every step: the longest readout and how far the first layer moved
# (Lemma 8), what that costs Lemma 6's readout (Lemma 9), and the average loss (Theorem 10).
PROMISES = ("readout", "moved", "rival", "regret")


@dataclasses.dataclass(frozen=True)
class Theorem4Run:
    """The sizes of a run: the paper's n, k, q, T and c, and how often it is recorded.

    With `local`, every window has filters of its own: a locally connected network (Section 3.1).

    >>> Theorem4Run(bits=4, window=2, filters=64, steps=10).rate
    0.025
    """

    bits: int
    window: int
    filters: int
    steps: int
    ceiling: float = 1.0
    records: int = 40
    local: bool = False

    @property
    def rate(self) -> float:
        """η = √n/(√q·T)."""
        return float(theorem4_rate(self.bits, self.filters, self.steps))

    @property
    def positions(self) -> int:
        """How many windows there are."""
        return self.bits - self.window + 1

    def times(self) -> np.ndarray:
        """The steps after which the run is recorded: about evenly spaced, `steps` the last.

        >>> Theorem4Run(4, 2, 64, 10, records=4).times().tolist()
        [2, 5, 8, 10]
        """
        return np.unique(
            np.linspace(0, self.steps, min(self.records, self.steps) + 1).round().astype(int)
        )[1:]


@dataclasses.dataclass(frozen=True)
class RunStart:
    """What is drawn before a run: filters (as counts of their sign patterns), the rule and its
    place, and Lemma 6's readout.

    `counts` has a row for every set of filters: one row for a convolution, one per window for a
    locally connected network. `comparator` is that readout for one filter of each sign pattern,
    `norm` its Euclidean norm over all filters.

    >>> start = draw_start(Theorem4Run(4, 2, 256, 10), seed=0, parity=True)
    >>> start.table.tolist(), int(start.counts.sum())
    ([1.0, -1.0, -1.0, 1.0], 256)
    """

    counts: np.ndarray
    table: np.ndarray
    place: int
    comparator: np.ndarray
    norm: float
    balanced: bool


def draw_start(run: Theorem4Run, seed: int, parity: bool) -> RunStart:
    """Filters uniform in {±1/k}, a place, and the parity or a random rule.

    >>> draw_start(Theorem4Run(4, 2, 256, 10), seed=0, parity=True).balanced
    True
    """
    rng = np.random.default_rng([seed, run.bits, run.window, run.filters])
    sets = (run.positions,) if run.local else ()
    weights = rng.choice([-1.0 / run.window, 1.0 / run.window], (*sets, run.filters, run.window))
    place = int(rng.integers(0, run.positions))
    table = parity_table(run.window) if parity else rng.choice([-1.0, 1.0], 2**run.window)
    return start_from(run, weights, table, place)


def start_from(run: Theorem4Run, weights: np.ndarray, table: np.ndarray, place: int) -> RunStart:
    """A start with given filters (windows first, for a locally connected network) and rule.

    >>> filters, table = np.array([[-1.0], [1.0], [1.0]]), np.array([-1.0, 1.0])
    >>> start_from(Theorem4Run(2, 1, 3, 1), filters, table, place=0).comparator.tolist()
    [-1.0, 0.5]
    """
    seen = weights[place] if run.local else weights
    certificate = lemma6_readout(seen, table, place, run.bits)
    comparator = run.window * table / np.maximum(certificate.counts, 1)
    counts = [
        np.bincount(pattern_index(each), minlength=2**run.window)
        for each in (weights if run.local else weights[None])
    ]
    return RunStart(
        np.stack(counts), table, place, comparator, certificate.norm, certificate.balanced
    )


def starts_of(run: Theorem4Run, seeds: Iterable[int]) -> list[RunStart]:
    """One start per seed: the first with the parity, the others with random rules.

    >>> [len(start.table) for start in starts_of(Theorem4Run(4, 2, 256, 10), seeds=range(2))]
    [4, 4]
    """
    return [draw_start(run, seed, parity=index == 0) for index, seed in enumerate(seeds)]


def occupancy(run: Theorem4Run) -> np.ndarray:
    """Which pattern each window of each input shows, as ones: (windows · 2^k, 2^n).

    >>> occupancy(Theorem4Run(3, 2, 8, 1)).sum(0).tolist()
    [2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]
    """
    inputs = cube(run.bits)
    seen = np.zeros((run.positions, 2**run.window, len(inputs)))
    for j in range(run.positions):
        seen[j, pattern_index(inputs[:, j : j + run.window]), np.arange(len(inputs))] = 1.0
    return seen.reshape(-1, len(inputs))


def follow(run: Theorem4Run, starts: list[RunStart]) -> list[dict[str, np.ndarray]]:
    """Train from every start.

    Returns:
        For every start, per step the `loss`, the loss of Lemma 6's readout (`rival`) and ||∂L/∂u||
        (`gradient`); at `run.times()` the longest `readout` of a window, ||W(t) - W(0)|| (`moved`)
        and the loss of Lemma 6's readout on W(t) (`rival_after`, with `rival_before` on W(0)).

    >>> run = Theorem4Run(4, 2, 256, 20)
    >>> out = follow(run, [draw_start(run, 0, parity=True)])[0]
    >>> len(out["loss"]), len(out["moved"]), float(out["loss"][0])
    (20, 20, 1.0)
    """
    patterns, seen, inputs = cube(run.window), occupancy(run), cube(run.bits)
    bias, rows = 1.0 / run.window - 1.0, len(inputs)
    labels = np.stack(
        [s.table[pattern_index(inputs[:, s.place : s.place + run.window])] for s in starts]
    )
    # Axes: starts, sets of filters (one, or one per window), filters by their sign pattern.
    counts = np.stack([s.counts for s in starts]).astype(float)
    table = np.stack([s.table for s in starts])
    every = np.arange(len(starts))
    places = np.array([s.place if run.local else 0 for s in starts])
    comparator = np.stack([s.comparator for s in starts]) * counts[every, places]
    # W - W(0) by itself: no digit of it is lost.
    moved = np.zeros((*counts.shape, run.window))
    readout = np.zeros((len(starts), run.positions, len(patterns)))
    steps: dict[str, list[Any]] = {"loss": [], "rival": [], "gradient": []}
    records: dict[str, list[Any]] = {"readout": [], "moved": [], "rival_after": []}
    times = set(run.times().tolist())

    def activity() -> tuple[np.ndarray, np.ndarray]:
        z = (patterns / run.window + moved) @ patterns.T + bias
        return np.clip(z, 0.0, run.ceiling), ((z > 0) & (z < run.ceiling)).astype(float)

    def rival(features: np.ndarray) -> np.ndarray:
        # Lemma 6's readout looks through one window only, so its loss over all inputs is that over
        # patterns.
        seen_there = (comparator[:, None, :] @ features[every, places])[:, 0]
        return np.maximum(1.0 - table * seen_there, 0.0).mean(1)

    def outputs(features: np.ndarray) -> np.ndarray:
        weighted = readout * counts
        if run.local:
            return (weighted[:, :, None, :] @ features)[:, :, 0]
        return weighted @ features[:, 0]

    def gradients(cotangent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """In the readout and in the filters."""
        if run.local:
            in_filters = (readout[..., None] * cotangent[:, :, None, :] * slopes) @ patterns
            return (features @ cotangent[..., None])[..., 0], in_filters
        in_filters = ((readout.swapaxes(1, 2) @ cotangent) * slopes[:, 0]) @ patterns
        return cotangent @ features[:, 0].swapaxes(1, 2), in_filters[:, None]

    features, slopes = activity()
    before = rival(features)
    for step in range(1, run.steps + 1):
        scores = outputs(features).reshape(len(starts), -1) @ seen
        margin = 1.0 - labels * scores
        # The loss's gradient in each window's output for each pattern.
        cotangent = ((margin > 0) * labels) @ seen.T / -rows
        gradient, in_filters = gradients(cotangent.reshape(len(starts), run.positions, -1))
        steps["loss"].append(np.maximum(margin, 0.0).mean(1))
        steps["rival"].append(rival(features))
        steps["gradient"].append(np.sqrt((counts * gradient**2).sum((1, 2))))
        moved = moved - run.rate * in_filters
        readout = readout - run.rate * gradient
        features, slopes = activity()
        if step in times:
            records["readout"].append(np.sqrt((counts * readout**2).sum(2)).max(1))
            lengths = np.sqrt((counts[..., None] * moved**2).sum((2, 3)))
            records["moved"].append(lengths.max(1))  # of one window's filters
            records["rival_after"].append(rival(features))
    out = {name: np.stack(values, 1) for name, values in (steps | records).items()}
    return [
        {name: values[i] for name, values in out.items()} | {"rival_before": before[i]}
        for i in range(len(starts))
    ]


def regret_bound(
    rival: np.ndarray, gradient: np.ndarray, norm: float, rate: float, times: np.ndarray
) -> np.ndarray:
    """Theorem 10's right side after each of `times` steps from u = 0: `theorem10` on every
    beginning of a run at once.

    >>> regret_bound(np.zeros(2), np.ones(2), norm=1.0, rate=0.5, times=np.array([1, 2])).tolist()
    [1.5, 1.0]
    """
    means = (np.cumsum(rival) + rate * np.cumsum(gradient**2))[times - 1] / times
    return means + norm**2 / (2 * rate * times)


def certify(run: Theorem4Run, seeds: Iterable[int], delta: float) -> dict[str, Any]:
    """Train from one start per seed, and record both sides of every promise, as plain values.

    >>> record = certify(Theorem4Run(4, 2, 256, 20), seeds=range(2), delta=0.05)
    >>> sides = [np.array(run[name]) for run in record["runs"] for name in PROMISES]
    >>> all((left <= right + 1e-12).all() for left, right in sides)
    True
    """
    sizes_of_run = (run.bits, run.window, run.filters, run.steps)
    bound = theorem4(*sizes_of_run, delta, run.ceiling, run.local)
    times = run.times()
    sizes = (run.bits, run.window, run.filters, times, run.rate)
    limits = lemma8(*sizes, ceiling=run.ceiling, local=run.local)
    starts = starts_of(run, seeds)
    runs = []
    for start, out in zip(starts, follow(run, starts)):
        sides = {
            "readout": (out["readout"], limits.readout),
            "moved": (out["moved"], limits.first_layer),
            "rival": (
                np.abs(out["rival_after"] - out["rival_before"]),
                lemma9(*sizes, [[start.norm]], ceiling=run.ceiling, local=run.local),
            ),
            "regret": (
                np.cumsum(out["loss"])[times - 1] / times,
                regret_bound(out["rival"], out["gradient"], start.norm, run.rate, times),
            ),
        }
        plain = {
            name: [np.asarray(side, float).tolist() for side in pair]
            for name, pair in sides.items()
        }
        runs.append(
            plain
            | {
                "average": float(out["loss"].mean()),
                "last": float(out["loss"][-1]),
                "balanced": start.balanced,
            }
        )
    return {
        **dataclasses.asdict(run),
        "rate": run.rate,
        "times": times.tolist(),
        "bound": float(bound.total),
        "terms": [float(bound.drift), float(bound.comparator), float(bound.descent)],
        "vacuous": bool(bound.vacuous),
        "applies": bound.applies,
        "runs": runs,
    }


def least_work(bits: int, delta: float, ceiling: float) -> dict[str, Any]:
    """The cheapest (q, T) for which Theorem 4 promises a loss below 1 at k = ⌈log2 n⌉, and its
    operations.

    The operations are those of training all q filters with the population gradient taken by
    patterns, three passes per step: the cheapest way that does not need filters to begin equal.

    >>> least_work(4, 0.05, 1.0)["window"]
    2
    """
    window = log_window(bits)
    sizes = theorem4_sizes(bits, window, 1 - 1e-6, delta, ceiling)
    filters, steps = float(sizes.cheapest_filters), float(sizes.cheapest_steps)
    operations = 6.0 * 2**window * filters * steps * (window + bits - window + 1)
    return {
        "bits": bits,
        "window": window,
        "filters": filters,
        "steps": steps,
        "operations": operations,
    }
