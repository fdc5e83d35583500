"""What a task is."""

import abc
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Key

from separatrix.errors import SeparatrixError
from separatrix.spec import Spec
from separatrix.streams import named


class Sample(NamedTuple):
    """Inputs and their labels; `weight` is the probability of each row where the rows are a whole
    population.

    >>> Sample(x=[[1.0]], y=[1.0]).weight is None
    True
    """

    x: Array
    y: Array
    weight: Array | None = None


class Task(Spec):
    """A distribution over labelled inputs, with known structure.

    A task of your own needs `shape` and `draw`; the rest has defaults. Inputs are (rows, length,
    channels) or (rows, height, width, channels); labels are ±1.

    >>> import jax, jax.numpy as jnp, separatrix as sx
    >>> class Majority(sx.Task):
    ...     bits: int = sx.static(low=1)
    ...     @property
    ...     def shape(self):
    ...         return (self.bits, 1)
    ...     def draw(self, key, rows, truth=None, within=None):
    ...         x = jax.random.rademacher(key, (rows, *self.shape)).astype(float)
    ...         return sx.Sample(x, jnp.sign(x.sum((1, 2)) + 0.5))
    >>> Majority(5).sample(jax.random.key(0), 3).x.shape
    (3, 5, 1)
    """

    @property
    @abc.abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of one input: (length, channels) or (height, width, channels)."""

    @abc.abstractmethod
    def draw(self, key: Key[Array, ""], rows: int, truth: Any, within: Any = None) -> Sample:
        """`rows` labelled inputs given the hidden truth.

        `within` is this task at the sizes that arrays must have; where it is larger than the task
        itself, the surplus entries are zero and the rest is what it would be without padding. A
        task without `size` fields ignores it.
        """

    def truth(self, key: Key[Array, ""], within: Any = None) -> Any:
        """What is hidden from the learner and fixed within a trial (the signal vector, the order of
        the bits).
        """
        del key, within
        return None

    def arrays(self) -> dict[str, np.ndarray]:
        """Stored arrays that rows are drawn from, such as the images of a data set; the same
        objects at every call.

        A program takes them once for all trials of a batch. What they are must be part of the
        task's identity (see `separatrix.data.pinned`), so that a ledger never mixes rows of
        different data.
        """
        return {}

    def bind(self, truth: Any, arrays: dict[str, Any]) -> Any:
        """The truth together with the stored arrays (on the device by now): what `draw` is given as
        `truth`.
        """
        del arrays
        return truth

    def draw_test(self, key: Key[Array, ""], rows: int, truth: Any, within: Any = None) -> Sample:
        """Rows to test on; a task with a test split of its own draws them there."""
        return self.draw(key, rows, truth, within)

    def direction(self, truth: Any) -> Float[Array, " channels"] | None:
        """The unit vector that a unit's weights should align with, where the task has one."""
        del truth
        return None

    def clean(self, x: Float[Array, "rows ..."], truth: Any) -> Float[Array, " rows"] | None:
        """The noiseless labels of inputs, where the task is a regression; its risk is then the mean
        squared distance to them.
        """
        del x, truth
        return None

    def population(self, truth: Any) -> Sample:
        """Every input with its probability, where the input space is small enough to enumerate."""
        del truth
        raise SeparatrixError(
            f"{type(self).__name__} cannot be enumerated; use the empirical or the online oracle"
        )

    def baselines(self) -> dict[str, float]:
        """Risks that a reader needs beside any measured risk: `constant`, and `linear`, `bayes`
        where they are known.
        """
        return {"constant": 0.5}

    def sample(self, key: Key[Array, ""], rows: int) -> Sample:
        """Draw a truth and `rows` labelled inputs of it."""
        return self.draw(
            named(key, "rows"), rows, self.bind(self.truth(named(key, "truth")), self.arrays())
        )
