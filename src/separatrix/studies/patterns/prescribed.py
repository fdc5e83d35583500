"""A run of gradient descent exactly as Theorem 4 prescribes, with everything that the lemmas bound,
in float64.

Two exact savings make the theorem's sizes run. A window's features depend on its k bits alone, so
the population gradient over all 2^n inputs needs the features of 2^k patterns. And filters that
begin equal stay equal, since u begins at 0: the q filters are 2^k groups with multiplicities, and a
step costs the same for every q. (Float32 will not do: a step moves a weight by less than its last
digit.)
"""

import dataclasses
from typing import Any

import numpy as np

from separatrix.studies.study import seeds_from
from separatrix.theory.patterns import (
    cube,
    lemma6_readout,
    parity_table,
    pattern_index,
    theorem4_rate,
)


@dataclasses.dataclass(frozen=True)
class Prescribed:
    """The sizes of a run: the paper's n, k, q, T and c, and how often it is looked at.

    >>> Prescribed(bits=4, window=2, filters=64, steps=10).rate
    0.025
    """

    bits: int
    window: int
    filters: int
    steps: int
    ceiling: float = 1.0
    records: int = 40

    @property
    def rate(self) -> float:
        """η = √n/(√q·T)."""
        return float(theorem4_rate(self.bits, self.filters, self.steps))

    @property
    def positions(self) -> int:
        """How many windows there are."""
        return self.bits - self.window + 1

    def times(self) -> np.ndarray:
        """The steps after which the run is looked at: about evenly spaced, `steps` the last.

        >>> Prescribed(4, 2, 64, 10, records=4).times().tolist()
        [2, 5, 8, 10]
        """
        return np.unique(
            np.linspace(0, self.steps, min(self.records, self.steps) + 1).round().astype(int)
        )[1:]


@dataclasses.dataclass(frozen=True)
class Start:
    """What is drawn before a run: filters (as counts of their sign patterns), the rule and its
    place, and Lemma 6's readout.

    `comparator` is that readout for one filter of each sign pattern, `norm` its Euclidean norm over
    all filters.

    >>> start = draw_start(Prescribed(4, 2, 256, 10), seed=0, parity=True)
    >>> start.table.tolist(), int(start.counts.sum())
    ([1.0, -1.0, -1.0, 1.0], 256)
    """

    counts: np.ndarray
    table: np.ndarray
    place: int
    comparator: np.ndarray
    norm: float
    balanced: bool


def draw_start(run: Prescribed, seed: int, parity: bool) -> Start:
    """Filters uniform in {±1/k}, a place, and the parity or a random rule.

    >>> draw_start(Prescribed(4, 2, 256, 10), seed=0, parity=True).balanced
    True
    """
    rng = np.random.default_rng([seed, run.bits, run.window, run.filters])
    weights = rng.choice([-1.0 / run.window, 1.0 / run.window], (run.filters, run.window))
    place = int(rng.integers(0, run.positions))
    table = parity_table(run.window) if parity else rng.choice([-1.0, 1.0], 2**run.window)
    return start_from(run, weights, table, place)


def start_from(run: Prescribed, weights: np.ndarray, table: np.ndarray, place: int) -> Start:
    """A start with given filters and rule.

    >>> start_from(Prescribed(2, 1, 3, 1), np.array([[-1.0], [1.0], [1.0]]), np.array([-1.0, 1.0]), 0).comparator.tolist()
    [-1.0, 0.5]
    """
    certificate = lemma6_readout(weights, table, place, run.bits)
    comparator = run.window * table / np.maximum(certificate.counts, 1)
    return Start(
        certificate.counts, table, place, comparator, certificate.norm, certificate.balanced
    )


def starts_of(run: Prescribed, seed: int, count: int) -> list[Start]:
    """`count` starts: the first with the parity, the others with random rules.

    >>> [len(start.table) for start in starts_of(Prescribed(4, 2, 256, 10), seed=0, count=2)]
    [4, 4]
    """
    return [
        draw_start(run, each, parity=index == 0)
        for index, each in enumerate(seeds_from(seed, count))
    ]


def occupancy(run: Prescribed) -> np.ndarray:
    """Which pattern each window of each input shows, as ones: (windows · 2^k, 2^n).

    >>> occupancy(Prescribed(3, 2, 8, 1)).sum(0).tolist()
    [2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]
    """
    inputs = cube(run.bits)
    seen = np.zeros((run.positions, 2**run.window, len(inputs)))
    for j in range(run.positions):
        seen[j, pattern_index(inputs[:, j : j + run.window]), np.arange(len(inputs))] = 1.0
    return seen.reshape(-1, len(inputs))


def follow(run: Prescribed, starts: list[Start]) -> list[dict[str, np.ndarray]]:
    """Train from every start; per step the loss, the loss of Lemma 6's readout and ||∂L/∂u||, and
    at `times` what the lemmas bound.

    `readout` is the longest readout of a window, `moved` is ||W(t) - W(0)||, `rival_after` the loss
    of Lemma 6's readout on W(t).

    >>> run = Prescribed(4, 2, 256, 20)
    >>> out = follow(run, [draw_start(run, 0, parity=True)])[0]
    >>> len(out["loss"]), len(out["moved"]), float(out["loss"][0])
    (20, 20, 1.0)
    """
    patterns, seen, inputs = cube(run.window), occupancy(run), cube(run.bits)
    bias, rows = 1.0 / run.window - 1.0, len(inputs)
    labels = np.stack(
        [s.table[pattern_index(inputs[:, s.place : s.place + run.window])] for s in starts]
    )
    counts = np.stack([s.counts for s in starts])[:, None, :].astype(float)
    table = np.stack([s.table for s in starts])
    comparator = (np.stack([s.comparator for s in starts]) * counts[:, 0])[:, None, :]
    moved = np.zeros(
        (len(starts), *patterns.shape)
    )  # W - W(0), kept apart so that no digit of it is lost
    readout = np.zeros((len(starts), run.positions, len(patterns)))
    every: dict[str, list[Any]] = {"loss": [], "rival": [], "gradient": []}
    looks: dict[str, list[Any]] = {"readout": [], "moved": [], "rival_after": []}
    times = set(run.times().tolist())

    def activity() -> tuple[np.ndarray, np.ndarray]:
        z = (patterns / run.window + moved) @ patterns.T + bias
        return np.clip(z, 0.0, run.ceiling), ((z > 0) & (z < run.ceiling)).astype(float)

    def rival(features: np.ndarray) -> np.ndarray:
        # Lemma 6's readout looks through one window only, so its loss over all inputs is that over
        # patterns.
        return np.maximum(1.0 - table * (comparator @ features)[:, 0], 0.0).mean(1)

    features, slopes = activity()
    before = rival(features)
    for step in range(1, run.steps + 1):
        scores = ((readout * counts) @ features).reshape(len(starts), -1) @ seen
        margin = 1.0 - labels * scores
        push = (
            ((margin > 0) * labels) @ seen.T / -rows
        )  # the loss's slope in each window's output for each pattern
        push = push.reshape(len(starts), run.positions, -1)
        toward = push @ features.swapaxes(1, 2)
        every["loss"].append(np.maximum(margin, 0.0).mean(1))
        every["rival"].append(rival(features))
        every["gradient"].append(np.sqrt((counts * toward**2).sum((1, 2))))
        moved = moved - run.rate * ((readout.swapaxes(1, 2) @ push) * slopes) @ patterns
        readout = readout - run.rate * toward
        features, slopes = activity()
        if step in times:
            looks["readout"].append(np.sqrt((counts * readout**2).sum(2)).max(1))
            looks["moved"].append(np.sqrt((counts.swapaxes(1, 2) * moved**2).sum((1, 2))))
            looks["rival_after"].append(rival(features))
    out = {name: np.stack(values, 1) for name, values in (every | looks).items()}
    return [
        {name: values[i] for name, values in out.items()} | {"rival_before": before[i]}
        for i in range(len(starts))
    ]
