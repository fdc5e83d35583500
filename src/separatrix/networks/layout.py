"""How a network lies over its input: parameters, frames, patches, and which windows share their
weights.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from separatrix.errors import ParameterError
from separatrix.networks import kernels
from separatrix.networks.maps import Sight
from separatrix.networks.windows import Windows, per_axis

Weights = Float[Array, "groups width span"]
Biases = Float[Array, "groups width"]


class HiddenLayer(NamedTuple):
    """The parameters of one hidden layer."""

    weights: Weights
    bias: Biases | None


class Params(NamedTuple):
    """The parameters of a network, or anything of their shapes, such as a gradient.

    A part that a network does not have is None. `layers` gives the hidden layers one by one,
    whatever their number.

    Attributes:
        weights: of one hidden layer (groups, width, span): one group per position (local), per tile
            of positions (grouped), or one in all (shared and full). Of several hidden layers, or
            with pooling, a tuple of such arrays, one per layer.
        bias: of one hidden layer (groups, width); of several, a tuple of them.
        readout: (positions, width) for a readout by positions, (width,) for a pooled one; with
            several outputs, one more axis for them.
        offset: (), or (outputs,).
    """

    weights: Weights | tuple[Weights, ...] | None
    bias: Biases | tuple[Biases, ...] | None = None
    readout: Float[Array, "..."] | None = None
    offset: Float[Array, "..."] | None = None

    @property
    def layers(self) -> tuple[HiddenLayer, ...]:
        """The weights and biases of every hidden layer; empty where there are no weights.

        >>> [layer.bias for layer in Params(jnp.ones((1, 2, 3))).layers]
        [None]
        """
        if self.weights is None:
            return ()
        several = isinstance(self.weights, tuple)
        weights = self.weights if several else (self.weights,)
        bias = (None,) * len(weights) if self.bias is None else self.bias
        return tuple(map(HiddenLayer, weights, bias if isinstance(bias, tuple) else (bias,)))

    @property
    def only_layer(self) -> HiddenLayer:
        """The hidden layer of a network that has a single one."""
        (layer,) = self.layers
        return layer


class Frame(NamedTuple):
    """The sizes of a program's arrays, at least as large as those of the trials that it runs."""

    shape: tuple[int, ...]
    width: int


class Patches(NamedTuple):
    """A batch as a network takes it: the windows of its rows, or (convolutions) whole images.

    `by_row` is a second copy, which some kernels read. Only `Layout.cut` decides whether there is
    one, and only `Network.scores` reads it.

    >>> Patches(jnp.ones((4, 3, 10))).take(jnp.arange(2)).by_span.shape
    (4, 3, 2)
    """

    by_span: Float[Array, "positions span rows"]
    by_row: Float[Array, "positions rows span"] | None = None

    def take(self, rows: Int[Array, " batch"]) -> "Patches":
        """The patches of some rows, without the second copy."""
        return Patches(self.by_span[:, :, rows])


class Layout(NamedTuple):
    """A network laid over an input: its windows at the frame's size, and which entries are real
    rather than padding.

    >>> from separatrix.networks import FCN
    >>> FCN(width=2).layout((4, 3)).windows.span
    12
    """

    windows: Windows
    groups: int
    width: int
    inside: Float[Array, "..."]  # over the window, 1 where an entry is real
    units: Float[Array, "positions width"]  # 1 where a hidden unit is real
    positions: Any  # the real number of windows
    fan_in: Any  # the real number of inputs of a unit
    # which group each window belongs to, where several windows share weights
    member: Float[Array, "positions groups"] | None = None
    deeper: tuple[Any, ...] = ()  # the layouts of further hidden layers
    # `units` and `positions` of what the readout reads, where that is not this layer
    ends: tuple[Any, Any] | None = None
    whole: Windows | None = None  # where rows stay whole rather than being cut into patches
    grid: tuple[Any, ...] = ()  # the real windows that the readout reads, along each axis
    sight: Sight | None = None  # what windows see, where the network has maps
    by_row: bool = False  # whether kernels for full networks may read patches row by row

    @property
    def read(self) -> tuple[Float[Array, "positions width"], Any]:
        """Which units the readout reads, and the real number of their positions."""
        return self.ends or (self.units, self.positions)

    def cut(self, x: Float[Array, "rows ..."], reused: bool = False) -> Patches:
        """A batch as this network takes it: cut into the patches of its windows, or left whole.

        Args:
            x: a batch of inputs.
            reused: whether many steps read these patches, so that a second copy for kernels pays.

        >>> from separatrix.networks import CNN
        >>> x = jnp.zeros((5, 4, 4, 1))
        >>> CNN(field=3).layout((4, 4, 1)).cut(x).by_span.shape
        (4, 9, 5)
        >>> CNN(field=3, depth=2, next_field=1).layout((4, 4, 1)).cut(x).by_span.shape
        (1, 16, 5)
        """
        patches = (self.sight or self.whole or self.windows).patches(x)
        _, span, rows = patches.shape
        copied = (
            reused
            and self.by_row
            and patches.dtype == jnp.float32
            and kernels.suits(self.width, span, rows, full=True)
        )
        return Patches(patches, kernels.row_by_row(patches) if copied else None)

    def spread(self, part: Float[Array, "groups ..."]) -> Float[Array, "positions ..."]:
        """Weights or biases of groups, copied to the windows of each group; others as they are.

        >>> from separatrix.networks import CNN
        >>> layout = CNN(field=1, groups=2).layout((4, 1))
        >>> layout.spread(jnp.array([[3.0], [5.0]])).ravel().tolist()
        [3.0, 3.0, 5.0, 5.0]
        """
        # A product with zeros and ones: unlike a gather, its gradient is a sum in a fixed order,
        # also on a GPU.
        return part if self.member is None else jnp.tensordot(self.member, part, 1)


def lay(
    network: Any, where: Windows, width: int, shape: tuple[Any, ...], counts: tuple[Any, ...]
) -> Layout:
    """Lay one hidden layer over windows `where` of the frame's size.

    `shape` and `counts` are the real sizes, which may be traced.

    >>> from separatrix.networks import FCN, windows
    >>> lay(FCN(width=2), windows((4, 3), None, 1), 2, (4, 3), (1,)).fan_in
    12
    """
    if network.connectivity == "full":
        real = [jnp.arange(n) < true for n, true in zip((*where.space, where.channels), shape)]
        positions, fan_in = 1, product(shape)
    else:
        real = [jnp.ones(f, bool) for f in where.field] + [jnp.arange(where.channels) < shape[-1]]
        positions, fan_in = product(counts), product(where.field) * shape[-1]
    inside = real[0].astype(jnp.float32)
    for axis in real[1:]:
        inside = inside[..., None] * axis
    along = tiles(where.counts, network.groups)
    member = membership(where, counts, along) if product(along) > 1 else None
    units = real_units(where.positions, positions, width, network.width)
    return Layout(
        windows=where,
        groups=network.count_groups(where),
        width=width,
        inside=inside,
        units=units,
        positions=positions,
        fan_in=fan_in,
        member=member,
        grid=tuple(counts),
    )


def real_units(
    positions: int, real_positions: Any, width: int, real_width: Any
) -> Float[Array, "positions width"]:
    """1 where a hidden unit is real, 0 where it is padding.

    Padding lengthens 1-D inputs only, so the real windows are the first ones.

    >>> real_units(2, 1, 2, 2).tolist()
    [[1.0, 1.0], [0.0, 0.0]]
    """
    return (
        (jnp.arange(positions) < real_positions)[:, None] & (jnp.arange(width) < real_width)
    ).astype(jnp.float32)


def product(numbers: Any) -> Any:
    """The product of numbers, some of which may be traced.

    >>> product((2, 3))
    6
    """
    out: Any = 1
    for number in numbers:
        out = out * number
    return out


def tiles(counts: tuple[int, ...], groups: Any) -> tuple[int, ...]:
    """The number of groups along each axis of windows.

    Raises:
        ParameterError: there are more groups than windows along an axis.

    >>> tiles((6,), 3), tiles((4, 4), (2, 1)), tiles((4, 4), None)
    ((3,), (2, 1), (1, 1))
    """
    if groups is None or groups == 1:
        return (1,) * len(counts)
    if len(counts) > 1 and not isinstance(groups, tuple):
        raise ParameterError(
            "Network",
            "groups",
            f"a tuple of {len(counts)} positive integers for this input, or 1",
            groups,
        )
    out = per_axis(groups, len(counts), "Network", "groups")
    if any(g > n for g, n in zip(out, counts)):
        raise ParameterError("Network", "groups", f"at most the number of positions {counts}", out)
    return out


def group_of(counts: Any, along: tuple[int, ...], frame: tuple[int, ...] | None = None) -> Any:
    """The group of every window: window p of n along an axis with g groups is in group
    floor(p·g/n).

    `counts` may be traced; `frame` is then the number of windows in the program's arrays, and
    padded windows get numbers beyond the last group.

    >>> group_of((5,), (2,)).tolist(), group_of((2, 4), (1, 2)).tolist()
    ([0, 0, 0, 1, 1], [0, 0, 1, 1, 0, 0, 1, 1])
    """
    out: Any = 0
    for axis, (count, g) in enumerate(zip(counts, along)):
        size = count if frame is None else frame[axis]
        here = (
            np.arange(size) * g // count
            if isinstance(count, int | np.integer)
            else jnp.arange(size) * g // count
        )
        out = here if axis == 0 else (out[:, None] * g + here).reshape(-1)
    return out


def membership(
    where: Windows, counts: Any, along: tuple[int, ...]
) -> Float[Array, "positions groups"]:
    """The matrix with a 1 where a window (row) belongs to a group (column); padded windows belong
    to none.

    >>> from separatrix.networks import windows
    >>> membership(windows((3, 1), 1, 1), (3,), (2,)).tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """
    total = int(np.prod(along))
    return jax.nn.one_hot(group_of(counts, along, where.counts), total, dtype=jnp.float32)
