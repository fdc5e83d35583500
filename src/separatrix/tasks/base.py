"""The interface of a task: a distribution over labelled inputs."""

import abc
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Key

from separatrix.errors import SeparatrixError
from separatrix.spec import Spec
from separatrix.streams import named


class Sample(NamedTuple):
    """Labelled inputs.

    Args:
        x: The inputs, (rows, length, channels) or (rows, height, width, channels).
        y: The labels, (rows,).
        weight: The probability of each row if the rows are a whole population; otherwise None.
    """

    x: Array
    y: Array
    weight: Array | None = None


class Task(Spec):
    """A distribution over labelled inputs, with known structure.

    Subclass it to add a task: `shape` and `draw` are required, all other methods have defaults.
    Inputs are (rows, length, channels) or (rows, height, width, channels). Labels are ±1, class
    numbers, or numbers in a regression.

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
        """Draw labelled inputs.

        Args:
            key: The random key.
            rows: How many inputs to draw.
            truth: The hidden truth, as `bind` returns it.
            within: This task at the padded sizes that arrays must have; None for no padding. The
                surplus entries are zero and the others are the same as without padding. A task
                without `size` fields ignores it.
        """

    def truth(self, key: Key[Array, ""], within: Any = None) -> Any:
        """What is hidden from the learner and fixed within a trial, such as the signal vector."""
        del key, within
        return None

    def arrays(self) -> dict[str, np.ndarray]:
        """Stored arrays that rows are drawn from, such as the images of a data set; every call
        returns the same objects.

        A compiled program takes them once for all trials of a batch. The identity of the task must
        include their identity (see `separatrix.data.pinned`), so that a ledger never mixes rows of
        different data.
        """
        return {}

    def bind(self, truth: Any, arrays: dict[str, Any]) -> Any:
        """The truth together with the stored arrays, which are on the device: the argument `truth`
        of `draw`.
        """
        del arrays
        return truth

    def draw_test(self, key: Key[Array, ""], rows: int, truth: Any, within: Any = None) -> Sample:
        """Rows to test on; a task with a test split draws them from it."""
        return self.draw(key, rows, truth, within)

    def draw_check(self, key: Key[Array, ""], rows: int, truth: Any, within: Any = None) -> Sample:
        """Rows to choose the moment on at which training should have stopped; fresh ones, unless a
        task keeps some apart.
        """
        return self.draw(key, rows, truth, within)

    @property
    def travels(self) -> bool:
        """Whether another process can make this task's arrays; if not, trials run in this one."""
        return True

    def direction(self, truth: Any) -> Float[Array, " channels"] | None:
        """The unit vector that the weights of a unit should align with; None if there is none."""
        del truth
        return None

    def clean(self, x: Float[Array, "rows ..."], truth: Any) -> Float[Array, " rows"] | None:
        """The noiseless labels of a regression, or None. The risk of a regression is the mean
        squared distance to them.
        """
        del x, truth
        return None

    def population(self, truth: Any) -> Sample:
        """Every input with its probability, if the input space is small enough to enumerate."""
        del truth
        raise SeparatrixError(
            f"{type(self).__name__} cannot be enumerated; use the empirical or the online oracle"
        )

    def baselines(self) -> dict[str, float]:
        """Reference risks: `constant`, and `linear` and `bayes` if they are known."""
        return {"constant": 0.5}

    def sample(self, key: Key[Array, ""], rows: int) -> Sample:
        """Draw a truth and `rows` labelled inputs given it."""
        return self.draw(
            named(key, "rows"), rows, self.bind(self.truth(named(key, "truth")), self.arrays())
        )
