"""The claims of the study `pattern-search`, and the counts that are their evidence."""

import dataclasses
import itertools
import math
from typing import Any

from separatrix.inference.estimates import Estimate, Exact, RatioOf
from separatrix.inference.intervals import Interval, wilson
from separatrix.studies.claims import Claim, Finding, judge
from separatrix.studies.kinds import Comparison, Equivalence, Identity, Together, Trend
from separatrix.studies.pattern_search.settings import PatternSearchSettings
from separatrix.studies.pattern_search.trials import (
    LINEAR,
    LOW,
    Learnt,
    OrderCell,
    OrdersTried,
)
from separatrix.theory.patterns import log_window

FACTOR = 1.0  # shares within a factor of 1 + FACTOR of each other count as equal
WORKS = 0.9  # of the controls on ordered bits must learn, or the recipe itself is what fails

SEARCH_GAP = Claim(
    "malach.junta.search-gap",
    "With unknown order, search over n-k+1 windows becomes search over C(n,k) sets of bits, and "
    "the gap widens with n.",
    "Section 5",
    "noise-free samples, enough of them that one set of bits explains them",
    Together(
        (
            ("gap", Trend("rows read, sets over windows", "n", "rising", reference=1.0)),
            ("found", Identity("both searches find the bits", 0.5)),
        )
    ),
)
QUERIES = Claim(
    "malach.junta.statistical-queries",
    "With unknown order, no statistical-query algorithm finds the parity of k = log2 n bits in "
    "polynomial time: at the tolerance 1/n it takes at least (C(n,k) - 1)/n² queries, whose "
    "exponent in n keeps rising, while in known order n-k+1 queries suffice.",
    "Section 5, with Blum et al. (1994)",
    "uniform inputs, label = parity of k = ⌈log2 n⌉ bits",
    Together(
        (
            ("any k bits", Trend("exponent in n of the queries", "n", "rising")),
            ("windows", Comparison("exponent in n of the queries that suffice", "below", 2.0)),
        )
    ),
)
ORDERS_COST = Claim(
    "malach.junta.architecture-search",
    "When the order of the bits is unknown, no architecture search helps: to draw orders at random "
    "and train a convolutional network on each until one learns takes more rows than the "
    "exhaustive search over all sets of k bits.",
    "Section 5: the problem is then that of k-juntas, for which no polynomial algorithm is known",
    "label = parity of k = ⌈log2 n⌉ bits after an unknown permutation; networks that learn in "
    "order",
    Comparison("rows read, architecture search over junta search", "above", 1.0),
)
ORDERS_CHANCE = Claim(
    "ours.search.orders",
    "A convolutional network learns the permuted parity on as many random orders as chance puts "
    "the k bits into one window, a share (n-k+1)/C(n,k): training adds nothing to the draw.",
    "ours; it makes Section 5's argument a number",
    "label = parity of k = ⌈log2 n⌉ bits after an unknown permutation; networks that learn in "
    "order",
    Equivalence("share of orders that are learnt over (n-k+1)/C(n,k)", FACTOR, 1.0, ratio=True),
)
LINEAR_CHEAPER = Claim(
    "ours.search.linear",
    "Reading rows instead of asking queries breaks the barrier for parities: the learner of "
    "Mossel, O'Donnell and Servedio, which solves linear equations, looks at fewer candidates "
    "than the low-degree algorithm, and the ratio grows with n.",
    "ours; after Mossel, O'Donnell & Servedio (2003), to whom Section 5 refers",
    "noise-free samples, label = parity of k = ⌈log2 n⌉ bits",
    Trend("candidates, low degree over linear, where both find the bits", "n", "rising", 1.0),
)
CLAIMS = (SEARCH_GAP, QUERIES, ORDERS_COST, ORDERS_CHANCE, LINEAR_CHEAPER)


@dataclasses.dataclass(frozen=True)
class ScaledShare:
    """A share of independent trials, times a factor; with `inverse`, the factor over the share.

    >>> print(ScaledShare(20, 100, 5.0).interval(0.95))
    1 [0.6668, 1.444]
    >>> ScaledShare(0, 100, 5.0, inverse=True).interval(0.95).high
    inf
    """

    successes: int
    trials: int
    factor: float
    inverse: bool = False

    def interval(self, level: float) -> Interval:
        """Wilson's interval of the share, scaled."""
        share = wilson(self.successes, self.trials, level)
        ends = (share.estimate, share.low, share.high)
        if self.inverse:
            middle, high, low = (self.factor / end if end > 0 else math.inf for end in ends)
        else:
            middle, low, high = (self.factor * end for end in ends)
        return Interval(middle, low, high, level, "Wilson", self.trials)


def lucky(bits: int, window: int) -> float:
    """The probability that a random order leaves k consecutive bits in one window: (n-k+1)/C(n,k).

    >>> round(lucky(16, 4), 4)
    0.0071
    """
    return (bits - window + 1) / math.comb(bits, window)


def search_finding(sizes: list[list[dict[str, Any]]]) -> Finding:
    """The verdict on the gap: both searches find the bits, and the ratio of the rows that they read
    grows from each n to the next.

    Rows are counted, not timed, so that the verdict does not depend on what else the machine does;
    times are in the figure.

    >>> search_finding([]).verdict
    'not measured'
    """
    searched = [rows for rows in sizes if all(row["junta_rows"] is not None for row in rows)]
    if len(searched) < 2:
        return judge(SEARCH_GAP, {}, reason="fewer than two sizes could be searched")

    def work(rows: list[dict[str, Any]]) -> tuple[float, ...]:
        return tuple(row["junta_rows"] / row["window_rows"] for row in rows)

    steps: dict[str, Estimate | None] = {}
    for before, after in itertools.pairwise(searched):
        name = f"n = {before[0]['bits']} to {after[0]['bits']}"
        many = min(len(before), len(after)) > 1
        steps[name] = (
            RatioOf(work(after), work(before)) if many else Exact(work(after)[0] / work(before)[0])
        )
    found = {
        f"n = {row['bits']}, repetition {number}": 0.0
        if row["agree"] and row["window_found"]
        else 1.0
        for rows in searched
        for number, row in enumerate(rows)
    }
    counts = [(rows[0]["bits"], rows[0]["sets"] / rows[0]["windows"]) for rows in sizes]
    exponents = _exponents(counts)
    reason = (
        f"candidates, sets over windows: {counts[0][1]:.3g} at n = {counts[0][0]}, "
        f"{counts[-1][1]:.3g} at n = {counts[-1][0]}, a local exponent from {exponents[0]:.1f} to "
        f"{exponents[-1]:.1f}"
    )
    return judge(SEARCH_GAP, {"gap": steps, "found": found}, reason=reason)


def _exponents(points: list[tuple[int, float]]) -> list[float]:
    """The local exponents of a curve, from each n to the next."""
    return [math.log(b[1] / a[1]) / math.log(b[0] / a[0]) for a, b in itertools.pairwise(points)]


def query_finding(rows: list[dict[str, float]]) -> Finding:
    """The verdict on statistical queries, from counts that are exact.

    >>> query_finding([]).verdict
    'not measured'
    """
    if len(rows) < 3:
        return judge(QUERIES, {}, reason="exponents need three sizes (`query_sizes`)")
    sizes = [int(row["bits"]) for row in rows]
    needed = _exponents([(n, row["queries"]) for n, row in zip(sizes, rows)])
    enough = _exponents([(n, row["windows"]) for n, row in zip(sizes, rows)])
    rising: dict[str, Estimate | None] = {
        f"n = {a} … {b} to n = {b} … {c}": Exact(after - before, 1e-9)
        for (a, b, c), before, after in zip(zip(sizes, sizes[1:], sizes[2:]), needed, needed[1:])
    }
    below: dict[str, Estimate | None] = {
        f"n = {a} … {b}": Exact(value, 1e-9)
        for (a, b), value in zip(itertools.pairwise(sizes), enough)
    }
    reason = (
        f"the exponent of the queries goes from {needed[0]:.1f} to {needed[-1]:.1f} with unknown "
        f"order, from {enough[0]:.2f} to {enough[-1]:.2f} in order; at n = {sizes[-1]} they are "
        f"{rows[-1]['queries']:.2g} and {rows[-1]['windows']:.0f}"
    )
    return judge(QUERIES, {"any k bits": rising, "windows": below}, reason=reason)


Orders = dict[OrderCell, OrdersTried]


def order_findings(
    s: PatternSearchSettings, tried: Orders, searches: list[list[dict[str, Any]]]
) -> tuple[Finding, Finding]:
    """The verdicts on the architecture search: its cost beside junta search, and its luck.

    >>> [finding.verdict for finding in order_findings(PatternSearchSettings(), {}, [])]
    ['not measured', 'not measured']
    """
    cost: dict[str, Estimate | None] = {}
    chance: dict[str, Estimate | None] = {}
    failing, words = [], []
    junta = {rows[0]["bits"]: rows for rows in searches}
    for bits in s.orders.sizes:
        cell, control = tried.get(OrderCell(bits)), tried.get(OrderCell(bits, control=True))
        if cell is None or control is None:
            continue
        name = f"n = {bits}"
        window = log_window(bits)
        share = control.learnt / control.orders
        if share < WORKS:
            failing.append(f"{control.learnt} of {control.orders} learn in order at {name}")
        chance[name] = ScaledShare(cell.learnt, cell.orders, 1 / lucky(bits, window))
        read = [row["junta_rows"] for row in junta.get(bits, []) if row["junta_rows"] is not None]
        if read:
            factor = cell.rows / cell.orders / (sum(read) / len(read))
            cost[name] = ScaledShare(cell.learnt, cell.orders, factor, inverse=True)
        words.append(f"{name}: {cell.learnt} of {cell.orders} orders learnt")
    outside = f"the recipe fails: {', '.join(failing)}" if failing else ""
    if not chance:
        none = "no order was tried (`orders.sizes`)"
        return judge(ORDERS_COST, {}, reason=none), judge(ORDERS_CHANCE, {}, reason=none)
    reason = "; ".join(words)
    if not cost:
        reason = "no size of `orders.sizes` was searched exhaustively (`sizes`)"
    return (
        judge(ORDERS_COST, cost, outside, reason),
        judge(ORDERS_CHANCE, chance, outside, "; ".join(words)),
    )


def linear_finding(s: PatternSearchSettings, learnt: Learnt) -> Finding:
    """The verdict on linear algebra: candidates of the two learners of juntas at every n.

    >>> linear_finding(PatternSearchSettings(), {}).verdict
    'not measured'
    """
    ratios: dict[int, float] = {}
    unfinished: list[int] = []
    for bits in s.learner_sizes:
        low, linear = (learnt.get((name, bits), []) for name in (LOW, LINEAR))
        pairs = [
            (first, second)
            for first, second in zip(low, linear)
            if first["candidates"] is not None and second["candidates"] is not None
        ]
        if not pairs:
            continue
        if not all(row["found"] for pair in pairs for row in pair):
            unfinished.append(bits)
            continue
        ratios[bits] = max(a["candidates"] for a, _ in pairs) / max(
            b["candidates"] for _, b in pairs
        )
    steps: dict[str, Estimate | None] = {
        f"n = {a} to {b}": Exact(ratios[b] / ratios[a], 1e-9) for a, b in itertools.pairwise(ratios)
    }
    left_out = ", ".join(map(str, unfinished))
    ended = f"at n = {left_out} a learner did not find the bits within its rows" if left_out else ""
    if not steps:
        reason = "fewer than two sizes at which both learners find the bits"
        return judge(LINEAR_CHEAPER, {}, reason="; ".join(filter(None, (reason, ended))))
    words = ", ".join(f"{ratio:.3g} at n = {n}" for n, ratio in ratios.items())
    reason = f"candidates, low degree over linear: {words}"
    return judge(LINEAR_CHEAPER, steps, reason="; ".join(filter(None, (reason, ended))))
