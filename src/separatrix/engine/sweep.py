"""Sweeps: sets of trials."""

import dataclasses
import itertools
import numbers
from collections.abc import Iterable, Iterator
from typing import Any

from separatrix.engine.trial import Measure, Trial
from separatrix.errors import SeparatrixError
from separatrix.spec import Spec


@dataclasses.dataclass(frozen=True)
class Sweep:
    """A set of trials, in order and without repetition; sweeps can be added.

    Args:
      trials: the trials; a trial that appears twice is kept once, at its first place.

    >>> import separatrix as sx
    >>> networks = [sx.CNN(field=1), sx.LCN(field=1)]
    >>> learner = sx.Learner(rate=1.0, steps=5)
    >>> sweep = Sweep.grid(sx.SignalTask(4, 3, 0.3), networks, learner, samples=[8, 16], seeds=3)
    >>> len(sweep)
    12
    """

    trials: tuple[Trial, ...]

    def __post_init__(self):
        unique = {trial.identity: trial for trial in self.trials}
        object.__setattr__(self, "trials", tuple(unique.values()))

    @classmethod
    def grid(
        cls,
        task: Any,
        network: Any,
        learner: Any,
        samples: Any = 0,
        seeds: Any = 1,
        measure: Measure | None = None,
    ) -> "Sweep":
        """Every combination of tasks, networks, learners, sample sizes and seeds.

        Args:
          task: one task or several.
          network: one network or several.
          learner: one learner or several.
          samples: one size of the training set or several, in rows; 0 for learners that draw fresh
            rows or know the distribution.
          seeds: the number of seeds (0, 1, …), or the seeds themselves.
          measure: what is measured on each trial; the risk on 4096 fresh rows by default.

        Returns:
          The sweep, with seeds varying fastest.

        Raises:
          SeparatrixError: if an argument is empty.
        """
        seeds = range(int(seeds)) if isinstance(seeds, numbers.Integral) else seeds
        parts = [_several(part) for part in (task, network, learner, samples, seeds)]
        if not all(parts):
            raise SeparatrixError(
                "a sweep needs at least one task, network, learner, sample size and seed"
            )
        options = {} if measure is None else {"measure": measure}
        return cls(tuple(Trial(*fields, **options) for fields in itertools.product(*parts)))

    def __len__(self) -> int:
        return len(self.trials)

    def __iter__(self) -> Iterator[Trial]:
        return iter(self.trials)

    def __add__(self, other: "Sweep") -> "Sweep":
        return Sweep(self.trials + other.trials)


def _several(part: Any) -> list[Any]:
    return list(part) if isinstance(part, Iterable) and not isinstance(part, Spec | str) else [part]
