"""Receptive fields: where a network's units look, on 1-D and 2-D inputs."""

import math
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float

from separatrix.errors import ParameterError
from separatrix.networks.views import Views, coverage, overlap


class Windows(NamedTuple):
    """The places at which a receptive field fits into an input; made by `windows`.

    >>> windows((28, 28, 1), field=5, stride=1).counts
    (24, 24)
    """

    space: tuple[int, ...]
    field: tuple[int, ...]
    stride: tuple[int, ...]
    channels: int
    border: str = "valid"  # "wrap": windows continue around the edge
    views: Any = None  # `Views` or `Maps`: then `space` is flat, and they say what windows see

    @property
    def counts(self) -> tuple[int, ...]:
        """How many windows there are along each axis."""
        if self.views is not None:
            return (self.views.positions,)
        return self.counts_of(self.space)

    def counts_of(self, space: Any) -> tuple[Any, ...]:
        """How many windows there are along each axis of another input, whose sizes may be traced.

        >>> windows((8, 1), field=3, stride=2).counts_of((10,))
        (4,)
        >>> windows((8, 1), field=3, stride=2, border="wrap").counts_of((10,))
        (5,)
        """
        if self.views is not None:
            return self.counts
        if self.border == "wrap":
            return tuple(n // s for n, s in zip(space, self.stride))
        return tuple((n - f) // s + 1 for n, f, s in zip(space, self.field, self.stride))

    @property
    def positions(self) -> int:
        """How many windows there are."""
        return math.prod(self.counts)

    @property
    def span(self) -> int:
        """How many numbers one window holds."""
        return math.prod(self.field) * self.channels

    def places(self) -> np.ndarray:
        """For every window, the flat spatial indices it covers: (positions, area).

        >>> windows((4, 1), field=2, stride=1).places().tolist()
        [[0, 1], [1, 2], [2, 3]]
        >>> windows((4, 1), field=2, stride=1, border="wrap").places().tolist()
        [[0, 1], [1, 2], [2, 3], [3, 0]]
        """
        if self.views is not None:
            return self.views.places(self.space[0])
        axes = [
            s * np.arange(c)[:, None] + np.arange(f)
            for c, f, s in zip(self.counts, self.field, self.stride)
        ]
        axes = [axis % n for axis, n in zip(axes, self.space)]  # changes wrapped windows only
        if len(axes) == 1:
            return axes[0]
        rows, columns = axes
        grid = rows[:, None, :, None] * self.space[1] + columns[None, :, None, :]
        return grid.reshape(self.positions, -1)

    def overlap(self) -> float:
        """The share of a window's coordinates that another window also sees, the mean over pairs of
        windows.

        >>> windows((4, 1), field=2, stride=2).overlap()
        0.0
        """
        return overlap(self.places(), math.prod(self.space))

    def coverage(self) -> float:
        """The share of the coordinates that at least one window sees.

        >>> windows((4, 1), field=3, stride=2).coverage()
        0.75
        """
        return coverage(self.places(), math.prod(self.space))

    def patches(self, x: Float[Array, "rows ..."]) -> Float[Array, "positions span rows"]:
        """The windows of a batch, positions first and rows last.

        In this layout every network is a batched matrix product.

        >>> import jax.numpy as jnp
        >>> windows((4, 1), field=2, stride=1).patches(jnp.zeros((5, 4, 1))).shape
        (3, 2, 5)
        """
        rows = x.shape[0]
        # A wrapped window as large as the input sees it rotated, and a view as large sees it in
        # another order.
        if self.field == self.space and self.border == "valid" and self.views is None:
            return x.reshape(1, rows, self.span).swapaxes(1, 2)
        # Rows last before windows overlap, not afterwards: then neighbouring rows are read
        # together. The barrier keeps the compiler from putting it off.
        flat = jax.lax.optimization_barrier(x.reshape(rows, -1, self.channels).transpose(1, 2, 0))
        return flat[self.places()].reshape(
            self.positions, self.span, rows
        )  # from (positions, area, channels, rows)


def _positive(number: Any) -> bool:
    is_integer = isinstance(number, int | np.integer) and not isinstance(number, bool)
    return is_integer and 1 <= int(number) < 2**31


def per_axis(sizes: Any, axes: int, owner: str, name: str) -> tuple[int, ...]:
    """One integer per spatial axis from an integer or a tuple.

    >>> per_axis(3, 2, "Network", "field")
    (3, 3)
    """
    out = sizes if isinstance(sizes, tuple) else (sizes,) * axes
    if len(out) != axes or not all(_positive(n) for n in out):
        allowed = f"a positive integer or a tuple of {axes} of them for this input"
        raise ParameterError(owner, name, allowed, sizes)
    return tuple(int(n) for n in out)


def windows(shape: tuple[int, ...], field: Any, stride: Any, border: str = "valid") -> Windows:
    """The windows of an input.

    Args:
        shape: (length, channels) or (height, width, channels).
        field: the size of a window, an integer or one per axis; None for the whole input; or
            `Views`.
        stride: the step from one window to the next, as `field`.
        border: "valid", or "wrap" for windows that continue around the edge.

    Raises:
        ParameterError: the windows do not fit the input.

    >>> windows((8, 1), field=3, stride=1).positions
    6
    """
    *space, channels = shape
    if len(space) not in (1, 2):
        raise ParameterError(
            "Network", "input shape", "(length, channels) or (height, width, channels)", shape
        )
    if isinstance(field, Views):
        length = math.prod(space)
        field.check_length(length)
        return Windows((length,), (field.size,), (1,), channels, views=field)
    reach = tuple(space) if field is None else per_axis(field, len(space), "Network", "field")
    step = per_axis(stride, len(space), "Network", "stride")
    if any(f > n for f, n in zip(reach, space)):
        raise ParameterError("Network", "field", f"at most the input's size {tuple(space)}", reach)
    if border == "wrap" and any(n % s for n, s in zip(space, step)):
        raise ParameterError(
            "Network",
            "stride",
            f"a divisor of the input's size {tuple(space)} where the border is 'wrap'",
            step,
        )
    return Windows(tuple(space), reach, step, channels, border)
