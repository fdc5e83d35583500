"""What does a threshold cost? Adaptive placement against binary search and a full grid, for the
same interval width.

    python benchmarks/thresholds.py --studies 40

Trials cost gradient steps in proportion to the resource. Each method extends its trials until the
same estimator gives an interval at least as narrow as asked for; synthetic learners with thresholds
spread over the range stand in for networks. `saving` compares gradient steps for the asked width;
`equal width` corrects for what each method overshoots: adaptive placement judges the width
pessimistically, because stopping at the first narrow interval spoils coverage. The full grid covers
the range that is not known beforehand; `full grid, told the decade` is what someone pays who was
told the threshold to within a factor of four either way. Prints a table, then one line of JSON.
"""

import argparse
import json
import math
from collections.abc import Callable, Sequence

import numpy as np

from separatrix.inference import SearchPlan, Tally, estimate_threshold, merge
from separatrix.inference.coverage import SyntheticLearner

Evidence = tuple[Tally, ...]
_LOW, _HIGH = 8.0, 8192.0


def full_grid(learner: SyntheticLearner, width: float, generator: np.random.Generator) -> Evidence:
    """Every level of the range, two more seeds at each until the interval is narrow enough."""
    return _repeat_grid(learner, SearchPlan(_LOW, _HIGH).grid(), width, generator)


def told_grid(learner: SyntheticLearner, width: float, generator: np.random.Generator) -> Evidence:
    """A full grid over a factor of four either way of a place near the threshold."""
    centre = learner.threshold * math.exp(generator.uniform(-0.35, 0.35))
    return _repeat_grid(
        learner, SearchPlan(max(centre / 4, 1.0), centre * 4).grid(), width, generator
    )


def binary_search(
    learner: SyntheticLearner, width: float, generator: np.random.Generator
) -> Evidence:
    """Bisection on the grid by majority of some repetitions; repeated until the pooled interval is
    narrow enough.
    """
    grid = SearchPlan(_LOW, _HIGH).grid()
    evidence: Evidence = ()
    for _ in range(200):
        low, high = 0, len(grid) - 1
        while low < high:
            middle = (low + high) // 2
            result = learner.run(grid[middle], 4, generator)
            evidence = merge((*evidence, result))
            pooled = next(entry for entry in evidence if entry.resource == grid[middle])
            low, high = (low, middle) if pooled.rate >= 0.5 else (middle + 1, high)
        if estimate_threshold(evidence).log_width <= width:
            break
    return evidence


def adaptive(learner: SyntheticLearner, width: float, generator: np.random.Generator) -> Evidence:
    """Adaptive placement in batches of 16 trials."""
    return learner.search(SearchPlan(_LOW, _HIGH, width=width, max_trials=2000), 16, generator)


def _repeat_grid(
    learner: SyntheticLearner, grid: Sequence[float], width: float, generator: np.random.Generator
) -> Evidence:
    evidence: Evidence = ()
    for _ in range(200):
        evidence = merge((*evidence, *learner.sweep(grid, 2, generator)))
        if estimate_threshold(evidence).log_width <= width:
            break
    return evidence


METHODS: dict[str, Callable[[SyntheticLearner, float, np.random.Generator], Evidence]] = {
    "adaptive": adaptive,
    "binary search": binary_search,
    "full grid, told the decade": told_grid,
    "full grid": full_grid,
}


def measure(width: float, scale: float, studies: int, seed: int) -> list[dict]:
    """One row a method: mean trials, mean cost in units of the threshold, coverage."""
    rows = []
    for name, method in METHODS.items():
        generator = np.random.default_rng([seed, int(1000 * scale)])
        trials, cost, covered, reached = [], [], [], []
        for _ in range(studies):
            threshold = math.exp(generator.uniform(math.log(4 * _LOW), math.log(_HIGH / 4)))
            learner = SyntheticLearner(threshold, scale=scale)
            evidence = method(learner, width, generator)
            found = estimate_threshold(evidence)
            trials.append(found.trials)
            cost.append(sum(entry.trials * entry.resource for entry in evidence) / threshold)
            reached.append(found.log_width)
            covered.append(found.low <= threshold <= found.high)
        row = {
            "method": name,
            "width": width,
            "scale": scale,
            "studies": studies,
            "trials": float(np.mean(trials)),
        }
        rows.append(
            {
                **row,
                "steps_per_threshold": float(np.mean(cost)),
                "reached_width": float(np.median(reached)),
            }
        )
        rows[-1]["coverage"] = float(np.mean(covered))
    full = next(row for row in rows if row["method"] == "full grid")
    for row in rows:
        row["saving_over_full_grid"] = full["steps_per_threshold"] / row["steps_per_threshold"]
        # Methods overshoot the asked width differently; cost goes as one over the squared width.
        row["saving_at_equal_width"] = (
            row["saving_over_full_grid"] * (full["reached_width"] / row["reached_width"]) ** 2
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rows = []
    for width in (0.7, 0.4):
        for scale in (0.1, 0.25, 0.6):
            rows += measure(width, scale, options.studies, options.seed)
    print(
        f"{'width':>5} {'scale':>5}  "
        f"{'method':<27}{'trials':>8}{'steps/m*':>10}{'saving':>8}{'reached':>9}"
        f"{'equal width':>13}{'coverage':>10}"
    )
    for row in rows:
        print(
            f"{row['width']:>5} {row['scale']:>5}  "
            f"{row['method']:<27}{row['trials']:>8.0f}{row['steps_per_threshold']:>10.0f}"
            f"{row['saving_over_full_grid']:>7.1f}x{row['reached_width']:>9.2f}"
            f"{row['saving_at_equal_width']:>12.1f}x{row['coverage']:>10.2f}"
        )
    print(json.dumps({"benchmark": "thresholds", "rows": rows}))


if __name__ == "__main__":
    main()
