"""Shards: a share of every sweep, for job arrays whose jobs share nothing but the ledger."""

import dataclasses
import re

from separatrix.engine.sweep import Sweep
from separatrix.engine.trial import Trial
from separatrix.errors import SeparatrixError, check_integer


@dataclasses.dataclass(frozen=True)
class Shard:
    """One share of every sweep: the trials whose identity, divided by `count`, leaves a remainder.

    Every trial belongs to exactly one share.

    Args:
      number: which share, from 1.
      count: how many there are.

    >>> import separatrix as sx
    >>> learner = sx.Learner(rate=1.0, steps=5)
    >>> sweep = sx.Sweep.grid(sx.SignalTask(4, 3, 0.3), sx.CNN(1), learner, samples=8, seeds=10)
    >>> sum(len(Shard(number, 3).of(sweep)) for number in (1, 2, 3))
    10
    """

    number: int
    count: int

    def __post_init__(self):
        check_integer("Shard", "count", self.count, 1)
        check_integer("Shard", "number", self.number, 1, self.count)

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Read a shard from text such as 2/8.

        >>> Shard.parse("2/8")
        Shard(number=2, count=8)
        """
        match = re.fullmatch(r"\s*([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*", text)
        if not match or not 1 <= int(match[1]) <= int(match[2]):
            raise SeparatrixError(
                f"a shard has the form i/n with 1 <= i <= n, such as 2/8, got {text!r}"
            )
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def has(self, trial: Trial) -> bool:
        """Whether a trial belongs to this share."""
        return int(trial.identity, 16) % self.count == self.number - 1

    def of(self, sweep: Sweep) -> Sweep:
        """This share of a sweep."""
        return Sweep(tuple(trial for trial in sweep if self.has(trial)))


class ShardWaits(SeparatrixError):
    """A shard has done its share of a sweep, and the rest of the study needs the other shares.

    >>> str(ShardWaits(Shard(2, 8), 30))
    'shard 2/8 has done its share; 30 trials of other shards are missing'
    """

    def __init__(self, shard: Shard, missing: int):
        super().__init__(
            f"shard {shard} has done its share; {missing} trials of other shards are missing"
        )
        self.missing = missing
