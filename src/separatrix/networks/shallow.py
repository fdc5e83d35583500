"""One hidden layer, three connectivities: the networks of the three papers are one network.

Every unit looks through a window. A fully connected network has one window, the whole input; a locally connected one has its
own weights at every window; a convolutional one shares them. With patches laid out (positions, span, rows), all three are one
batched matrix product followed by one vector-matrix product — which is also the fastest of the spellings timed
on a CPU core (benchmarks/spellings.py).
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from separatrix.errors import ParameterError
from separatrix.networks.activations import LSA, Activation, ReLU
from separatrix.networks.initial import Initial
from separatrix.networks.windows import Windows, per_axis, windows
from separatrix.spec import Spec, choice, size, static
from separatrix.streams import draw, named, normal


class Params(NamedTuple):
    """The parameters of a network; parts that a network does not have are None.

    >>> Params(weights=1.0).readout is None
    True
    """

    weights: Any  # (groups, width, span): one group per position (local), or one in all (full, shared)
    bias: Any = None  # (groups, width)
    readout: Any = None  # (positions, width), or (width,) when pooled
    offset: Any = None  # ()


class Frame(NamedTuple):
    """The sizes that a program's arrays have, at least as large as those of the trials it serves.

    >>> Frame(shape=(4, 3), width=2).width
    2
    """

    shape: tuple[int, ...]
    width: int


class Layout(NamedTuple):
    """A network laid over an input: its windows at the frame's size and which entries are real rather than padding.

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


class Network(Spec):
    """A network with one hidden layer: connectivity × width × activation × readout.

    `width` counts hidden units for "full", and filters per window for "local" and "shared". `readout` is "positions" (a trained
    weight for every hidden unit), "pooled" (a trained weight for every filter, averaged over windows) or "sum" (all ones, not
    trained). `bias` gives hidden units a bias, `offset` the output one. `start` is a smaller network inside which this one
    begins: its initial parameters are embedded exactly.

    >>> import jax
    >>> network = CNN(field=3, width=2)
    >>> params = network.init(jax.random.key(0), (8, 1))
    >>> params.weights.shape
    (1, 2, 3)
    >>> network.apply(params, jax.numpy.ones((5, 8, 1))).shape
    (5,)
    """

    connectivity: str = choice("full", "local", "shared")
    width: int = size(low=1)
    field: Any = static(default=None)
    stride: Any = static(default=1)
    activation: Activation = ReLU()
    readout: str = choice("positions", "pooled", "sum", default="positions")
    bias: bool = static(default=True)
    offset: bool = static(default=False)
    initial: Initial = Initial()
    start: Any = None

    def check(self) -> None:
        if self.connectivity == "full" and self.field is not None:
            raise ParameterError("Network", "field", "None for a fully connected network", self.field)
        if self.connectivity != "full" and self.field is None:
            raise ParameterError("Network", "field", "given for a local or shared network", None)
        for name, given in (("field", self.field), ("stride", self.stride)):
            if given is not None or name == "stride":
                axes = len(given) if isinstance(given, tuple) else 1
                per_axis(given, min(max(axes, 1), 2), "Network", name)
        if self.initial.weights == "signs" and not self.bias:
            raise ParameterError("Network", "bias", "True with the 'signs' initialisation, which sets it", self.bias)
        if self.start is not None and not isinstance(self.start, Network):
            raise ParameterError("Network", "start", "a Network or None", self.start)
        if self.start is not None:
            for name in ("activation", "readout", "bias", "offset"):
                if getattr(self.start, name) != getattr(self, name):
                    raise ParameterError("Network", "start", f"a network with the same `{name}`", getattr(self.start, name))

    def layout(self, shape: tuple[int, ...], within: Frame | None = None) -> Layout:
        """Lay the network over inputs of `shape`, in arrays of the sizes of `within`."""
        frame = within or Frame(shape, self.width)
        where = windows(frame.shape, self.field, self.stride)
        *space, channels = shape
        if self.connectivity == "full":
            real = [jnp.arange(n) < true for n, true in zip(frame.shape, shape)]
            positions, fan_in = 1, _product(shape)
        else:
            real = [jnp.ones(f, bool) for f in where.field] + [jnp.arange(frame.shape[-1]) < channels]
            counts = [(n - f) // s + 1 for n, f, s in zip(space, where.field, where.stride)]
            positions, fan_in = _product(counts), _product(where.field) * channels
        inside = real[0].astype(jnp.float32)
        for axis in real[1:]:
            inside = inside[..., None] * axis
        # Padding lengthens 1-D inputs only, so the real windows are the first ones.
        units = ((jnp.arange(where.positions) < positions)[:, None] & (jnp.arange(frame.width) < self.width)).astype(jnp.float32)
        groups = where.positions if self.connectivity == "local" else 1
        return Layout(where, groups, frame.width, inside, units, positions, fan_in)

    def init(self, key: Key[Array, ""], shape: tuple[int, ...], within: Frame | None = None) -> Params:
        """The parameters before training."""
        if self.start is not None:
            from separatrix.networks.embeddings import embed

            parent = self.start.init(key, shape)
            params = embed(self.start, parent, shape, to=self.connectivity).params
            if params.weights.shape[1] != self.width:
                needed = params.weights.shape[1]
                raise ParameterError("Network", "width", f"{needed}, the units of the network it starts in", self.width)
            return params
        place = self.layout(shape, within)
        area = (*place.windows.field, place.windows.channels)
        weights = self.initial.draw_weights(named(key, "weights"), (place.groups, place.width, *area), place.inside, place.fan_in)
        real = place.units[: place.groups]
        bias = real * self.initial.hidden_bias(place.fan_in) if self.bias else None
        readout = None
        if self.readout != "sum":
            shape_out = (place.windows.positions, place.width) if self.readout == "positions" else (place.width,)
            units = self.width * place.positions if self.readout == "positions" else self.width
            raw = draw(normal, named(key, "readout"), shape_out)
            mask = place.units if self.readout == "positions" else place.units[0]
            readout = raw * mask * self.initial.readout / jnp.sqrt(1.0 * units)
        return Params(weights * real[:, :, None], bias, readout, jnp.zeros(()) if self.offset else None)

    def scores(self, params: Params, patches: Float[Array, "positions span rows"], layout: Layout) -> Float[Array, " rows"]:
        """The outputs for a batch that is already cut into patches."""
        positions, _, rows = patches.shape
        weights = jnp.broadcast_to(params.weights, (positions, *params.weights.shape[1:]))
        z = weights @ patches
        if params.bias is not None:
            z = z + params.bias[:, :, None]
        out = self.coefficients(params, layout).reshape(-1) @ self.activation(z).reshape(-1, rows)
        return out if params.offset is None else out + params.offset

    def coefficients(self, params: Params, layout: Layout) -> Float[Array, "positions width"]:
        """The weight of every hidden unit in the output, whatever the readout; 0 where a unit is padding."""
        if self.readout == "sum":
            return layout.units
        if self.readout == "pooled":
            return layout.units * (params.readout / layout.positions)
        return layout.units * params.readout

    def apply(self, params: Params, x: Float[Array, "rows ..."]) -> Float[Array, " rows"]:
        """The outputs for a batch of inputs."""
        layout = self.layout(x.shape[1:])
        return self.scores(params, layout.windows.patches(x), layout)

    def sized_as(self, frame: "Network") -> "Network":
        """This network, whose sizes may be traced, with the (equal) sizes of `frame`, also in the networks that it starts in."""
        sized = eqx.tree_at(lambda n: n.width, self, frame.width)
        return sized if self.start is None else eqx.tree_at(lambda n: n.start, sized, self.start.sized_as(frame.start))

    def with_activation_bias(self, bias: Any) -> "Network":
        """This network with another LSA bias (also a traced one)."""
        if not isinstance(self.activation, LSA):
            raise ParameterError("Learner", "lsa_bias", "None unless the activation is LSA", type(self.activation).__name__)
        return eqx.tree_at(lambda n: n.activation.bias, self, bias)

    def parameter_count(self, shape: tuple[int, ...]) -> int:
        """How many numbers training may change.

        >>> CNN(field=3, width=2).parameter_count((8, 1))
        20
        """
        where = windows(shape, self.field, self.stride)
        groups = where.positions if self.connectivity == "local" else 1
        hidden = groups * self.width * (where.span + self.bias)
        out = {"positions": where.positions * self.width, "pooled": self.width, "sum": 0}[self.readout]
        return hidden + out + self.offset

    def flops(self, shape: tuple[int, ...]) -> int:
        """Multiply-adds, counted as two operations, of one forward pass on one input.

        >>> FCN(width=10).flops((8, 1))
        180
        """
        where = windows(shape, self.field, self.stride)
        return 2 * where.positions * self.width * (where.span + 1)


def FCN(width: int, **options: Any) -> Network:
    """A fully connected network with `width` hidden units.

    >>> FCN(width=4).connectivity
    'full'
    """
    return Network("full", width, **options)


def LCN(field: Any, width: int = 1, **options: Any) -> Network:
    """A locally connected network: `width` filters at every window of size `field`, each with its own weights.

    >>> LCN(field=3, width=4).connectivity
    'local'
    """
    return Network("local", width, field, **options)


def CNN(field: Any, width: int = 1, **options: Any) -> Network:
    """A convolutional network: `width` filters shared by all windows of size `field`.

    >>> CNN(field=3, width=4).connectivity
    'shared'
    """
    return Network("shared", width, field, **options)


def _product(numbers: Any) -> Any:
    out: Any = 1
    for number in numbers:
        out = out * number
    return out
