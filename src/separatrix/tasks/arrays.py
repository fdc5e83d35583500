"""Labelled rows as a task: arrays of the user, with their splits as data."""

import hashlib
import weakref
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key

from separatrix.errors import SeparatrixError
from separatrix.spec import static, value
from separatrix.streams import draw, named, uniform
from separatrix.tasks.base import Sample, Task


class SplitRows(NamedTuple):
    """Labelled rows and the splits that are made of them; keep it as long as its tasks are used.

    Args:
        x: (rows, length, channels) or (rows, height, width, channels), of bytes or float32.
        y: (rows,): ±1, class numbers, or the numbers of a regression.
        learn: (splits, count): the rows that each split learns from, in the order in which a
            smaller sample takes them.
        check: (splits, count): the rows on which a split chooses when to stop.
        test: (splits, count): the rows on which a split is tested.
        mean, scale: (splits, ...): what is subtracted from the rows of a split, and divides them.
        weight: (splits, count): how often each row of `learn` is drawn, beside the others.
        check_weight: (splits, count): how much each row of `check` counts; they sum to 1.
    """

    x: np.ndarray
    y: np.ndarray
    learn: Int[np.ndarray, "splits learn"]
    check: Int[np.ndarray, "splits check"]
    test: Int[np.ndarray, "splits test"]
    mean: np.ndarray
    scale: np.ndarray
    weight: np.ndarray
    check_weight: np.ndarray


class ArrayData:
    """`SplitRows` under the name that tasks know them by: the digest of all their arrays."""

    def __init__(self, rows: SplitRows):
        self.rows = rows
        whole = hashlib.sha256()
        for name, array in rows._asdict().items():
            whole.update(f"{name} {array.dtype} {array.shape}".encode())
            whole.update(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
        self.name = whole.hexdigest()[:32]
        _HELD[self.name] = self


_HELD: weakref.WeakValueDictionary[str, ArrayData] = weakref.WeakValueDictionary()


class ArrayTask(Task):
    """Rows of an `ArrayData`; of a split, the first `labels` training rows have labels.

    Args:
        source: the name of the `ArrayData`, which must be held by this process.
        dims: the shape of one row.
        classes: how many classes; None for labels of ±1 and for a regression.
        split: which of the splits.
        labels: how many training rows may be used.

    The online oracle draws its rows from the labelled ones, by their weights. Sample sizes and
    splits are values: one program serves all of them.
    """

    source: str = static()
    dims: tuple[int, ...] = static()
    classes: int | None = static(low=2, default=None)
    split: int = value(low=0, default=0, integer=True)
    labels: int = value(low=1, default=1, integer=True)

    def check(self) -> None:
        if self.source not in _HELD:
            raise SeparatrixError(
                f"there are no arrays {self.source!r} in this process; make an ArrayData of them"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        return self.dims

    @property
    def travels(self) -> bool:
        return False

    def arrays(self) -> dict[str, np.ndarray]:
        return _HELD[self.source].rows._asdict()

    def bind(self, truth: Any, arrays: dict[str, Any]) -> SplitRows:
        del truth
        return SplitRows(**arrays)

    def draw(self, key: Key[Array, ""], rows: int, truth: SplitRows, within: Any = None) -> Sample:
        count = truth.learn.shape[1]
        there = jnp.arange(count) < self.labels
        shares = jnp.cumsum(jnp.where(there, truth.weight[self.split], 0.0))
        spot = draw(uniform, named(key, "rows"), (rows,)) * shares[-1]
        chosen = jnp.searchsorted(shares, spot, side="right")
        return self._rows(truth, truth.learn[self.split, jnp.minimum(chosen, self.labels - 1)])

    def draw_check(
        self, key: Key[Array, ""], rows: int, truth: SplitRows, within: Any = None
    ) -> Sample:
        del key
        sample = self._rows(truth, truth.check[self.split, :rows])
        return sample._replace(weight=truth.check_weight[self.split, :rows])

    def draw_test(
        self, key: Key[Array, ""], rows: int, truth: SplitRows, within: Any = None
    ) -> Sample:
        del key
        return self._rows(truth, truth.test[self.split, :rows])

    def _rows(self, truth: SplitRows, chosen: Any) -> Sample:
        x = jnp.asarray(truth.x)[chosen].astype(jnp.float32)
        x = (x - truth.mean[self.split]) / truth.scale[self.split]
        return Sample(x, jnp.asarray(truth.y)[chosen].astype(jnp.float32))
