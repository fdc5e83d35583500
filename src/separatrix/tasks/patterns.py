"""The k-patterns of Malach & Shalev-Shwartz: a few consecutive bits determine the label."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from separatrix.errors import ParameterError, SeparatrixError, check_integer
from separatrix.spec import choice, static, value
from separatrix.streams import draw, named, sign, uniform
from separatrix.tasks.base import Sample, Task

LARGEST_TABLE = 20  # a rule on k bits is a table of 2^k signs
LARGEST_CUBE = 20  # populations are enumerated up to 2^20 inputs


class PatternTruth(NamedTuple):
    """The hidden truth of a pattern task: the order of the bits, and the rule as signs."""

    order: Int[Array, " bits"]
    table: Float[Array, " patterns"]


class PatternTask(Task):
    """Inputs of `bits` signs; the label is a rule on `window` of them.

    For another input distribution override `inputs`.

    Args:
        bits: The number of bits, the paper's n.
        window: The number of relevant bits, the paper's k.
        start: The index of the first relevant bit (0-based), the paper's j*.
        rule: The paper's g: `parity`, `random` (a random table drawn from `rule_seed`) or `table`.
        rule_seed: The seed of a random rule.
        table: The 2^k signs of the rule `table`; entry Σ 2^i [x_i = +1] belongs to the pattern x.
        probability: P(x_i = +1).
        spread: Whether the relevant bits are spread evenly over all bits instead of consecutive.
        hidden: Whether the coordinates are permuted by an unknown order, drawn per trial.

    >>> import jax
    >>> task = PatternTask(bits=8, window=3, start=2)
    >>> x, y, _ = task.sample(jax.random.key(0), 4)
    >>> bool((y == x[:, 2, 0] * x[:, 3, 0] * x[:, 4, 0]).all())
    True
    >>> PatternTask(bits=8, window=9)
    Traceback (most recent call last):
    separatrix.errors.ParameterError: the `window` of PatternTask must be an integer in [1, 8], got
        9
    """

    bits: int = static(low=1)
    window: int = static(low=1)
    start: int = value(low=0, default=0, integer=True)
    rule: str = choice("parity", "random", "table", default="parity")
    rule_seed: int = value(low=0, high=2**31 - 1, default=0, integer=True)
    table: tuple[int, ...] = static(default=())
    probability: float = value(low=0, high=1, default=0.5, open_low=True)
    spread: bool = static(default=False)
    hidden: bool = static(default=False)

    def check(self) -> None:
        check_integer("PatternTask", "window", self.window, 1, self.bits)
        if self.rule != "parity":
            check_integer("PatternTask", "window", self.window, 1, LARGEST_TABLE)
        check_integer(
            "PatternTask", "start", self.start, 0, 0 if self.spread else self.bits - self.window
        )
        if self.rule == "table" and (
            len(self.table) != 2**self.window or not set(self.table) <= {-1, 1}
        ):
            raise ParameterError(
                "PatternTask", "table", f"a tuple of 2^{self.window} signs -1 or 1", self.table
            )
        if self.rule != "table" and self.table:
            raise ParameterError(
                "PatternTask", "table", "empty unless the rule is 'table'", self.table
            )

    @property
    def shape(self) -> tuple[int, int]:
        return (self.bits, 1)

    def relevant(self) -> Int[Array, " window"]:
        """The indices of the bits that determine the label, before any hidden reordering.

        >>> PatternTask(bits=9, window=3, spread=True).relevant().tolist()
        [0, 4, 8]
        """
        if self.spread:
            return jnp.asarray(
                np.round(np.linspace(0, self.bits - 1, self.window)).astype(np.int32)
            )
        return self.start + jnp.arange(self.window)

    def rule_table(self) -> Float[Array, " patterns"]:
        """The rule as 2^window signs (empty for parity, which needs no table).

        >>> PatternTask(bits=4, window=1, rule="table", table=(-1, 1)).rule_table().tolist()
        [-1.0, 1.0]
        """
        if self.rule == "table":
            return jnp.asarray(self.table, jnp.float32)
        if self.rule == "random":
            key = named(jax.random.key(self.rule_seed), "rule")
            return draw(sign, key, (2**self.window,))
        return jnp.zeros((0,), jnp.float32)

    def truth(self, key: Key[Array, ""], within: Any = None) -> PatternTruth:
        order = (
            jnp.argsort(draw(uniform, key, (self.bits,))) if self.hidden else jnp.arange(self.bits)
        )
        return PatternTruth(order, self.rule_table())

    def label(self, x: Float[Array, "rows bits"], truth: PatternTruth) -> Float[Array, " rows"]:
        """The labels of inputs whose coordinates are in their original order."""
        seen = x[:, self.relevant()]
        if self.rule == "parity":
            return jnp.prod(seen, axis=1)
        index = ((seen > 0) * 2 ** jnp.arange(self.window)).sum(1)
        return truth.table[index]

    def inputs(self, key: Key[Array, ""], rows: int) -> Float[Array, "rows bits"]:
        """The input distribution: independent signs, +1 with `probability`.

        Override for another one.
        """
        return jnp.where(draw(uniform, key, (rows, self.bits)) < self.probability, 1.0, -1.0)

    def draw(self, key: Key[Array, ""], rows: int, truth: Any, within: Any = None) -> Sample:
        x = self.inputs(key, rows)
        return Sample(x[:, truth.order, None], self.label(x, truth))

    def population(self, truth: PatternTruth) -> Sample:
        if self.bits > LARGEST_CUBE:
            raise SeparatrixError(
                f"a population of 2^{self.bits} inputs is too large to enumerate (at most "
                f"2^{LARGEST_CUBE}); use the online oracle, or separatrix.theory for gradients"
            )
        codes = jnp.arange(2**self.bits, dtype=jnp.int32)
        ones = (codes[:, None] >> jnp.arange(self.bits)) & 1
        x = jnp.where(ones == 1, 1.0, -1.0)
        weight = jnp.where(ones == 1, self.probability, 1.0 - self.probability).prod(1)
        return Sample(x[:, truth.order, None], self.label(x, truth), weight)

    def baselines(self) -> dict[str, float]:
        # The mean label of the parity of independent bits is (2p-1)^k, that of a table a weighted
        # mean.
        if self.rule == "parity":
            mean = (2.0 * self.probability - 1.0) ** self.window
        else:
            ones = (np.arange(2**self.window)[:, None] >> np.arange(self.window)) & 1
            chance = np.where(ones == 1, self.probability, 1.0 - self.probability).prod(1)
            mean = float(chance @ np.asarray(self.rule_table()))
        return {"constant": (1.0 - abs(mean)) / 2.0, "bayes": 0.0}
