"""One hidden layer, three connectivities: the networks of the three papers are one network.

Every unit looks through a window. A fully connected network has one window, the whole input; a
locally connected one has its own weights at every window; a convolutional one shares them. With
patches laid out (positions, span, rows), all three are one batched matrix product followed by one
vector-matrix product — which is also the fastest of the spellings timed on a CPU core
(benchmarks/spellings.py).
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from separatrix.errors import ParameterError
from separatrix.networks import layers as deep
from separatrix.networks.activations import LSA, Activation, ReLU
from separatrix.networks.initial import Initial
from separatrix.networks.kernels import fused
from separatrix.networks.layout import Frame, Layout, Params, lay, product, tiles
from separatrix.networks.views import Views
from separatrix.networks.windows import Windows, per_axis, windows
from separatrix.spec import Spec, as_integer, choice, size, static
from separatrix.streams import draw, named, normal


class Network(Spec):
    """A network with one hidden layer: connectivity × width × activation × readout.

    `width` counts hidden units for "full", and filters per window for "local" and "shared".
    `readout` is "positions" (a trained weight for every hidden unit), "pooled" (a trained weight
    for every filter, averaged over windows) or "sum" (all ones, not trained). `bias` gives hidden
    units a bias, `offset` the output one. `start` is a smaller network inside which this one
    begins: its initial parameters are embedded exactly.

    `field` is the size of the windows, or `Views` that say what each of them sees. `groups` cuts
    the windows of a shared network into contiguous runs (2-D: a tuple, a × b tiles) that share
    their weights inside only: 1 is the convolution, as many as there are windows the local network.
    With `border` "wrap" windows continue around the edge. With `outputs` > 1 the scores are (rows,
    outputs), one a class.

    `depth` counts hidden layers, all of the same connectivity, width and activation (a paper that
    counts layers of weights counts one more). Further layers look through windows of `next_field`
    (None: `field`) at stride 1 over the layer before; `pool` averages that many neighbouring
    positions after every layer, or after each as a tuple says. See `networks/layers.py`.

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
    field: object = eqx.field(
        static=True, converter=as_integer, default=None, metadata={"kind": "window"}
    )
    stride: Any = static(default=1)
    activation: Activation = ReLU()
    readout: str = choice("positions", "pooled", "sum", default="positions")
    bias: bool = static(default=True)
    offset: bool = static(default=False)
    initial: Initial = Initial()
    start: Any = None
    groups: Any = static(default=None)
    border: str = choice("valid", "wrap", default="valid")
    outputs: int = static(low=1, default=1)
    depth: int = static(low=1, default=1)
    next_field: Any = static(default=None)
    pool: Any = static(default=1)

    def check(self) -> None:
        if self.connectivity == "full" and self.field is not None:
            raise ParameterError(
                "Network", "field", "None for a fully connected network", self.field
            )
        if self.connectivity != "full" and self.field is None:
            raise ParameterError("Network", "field", "given for a local or shared network", None)
        for name in ("field", "stride", "groups", "next_field"):
            given: Any = getattr(self, name)
            if not isinstance(given, Views) and (given is not None or name == "stride"):
                axes = len(given) if isinstance(given, tuple) else 1
                per_axis(given, min(max(axes, 1), 2), "Network", name)
        if self.connectivity != "shared" and self.groups is not None:
            raise ParameterError(
                "Network", "groups", "None unless the connectivity is 'shared'", self.groups
            )
        if self.border == "wrap" and (self.connectivity == "full" or isinstance(self.field, Views)):
            raise ParameterError(
                "Network",
                "border",
                "'valid' for a full network and for views, which have no edge",
                self.border,
            )
        if isinstance(self.field, Views) and self.stride != 1:
            raise ParameterError(
                "Network", "stride", "1 for views, which are not on a grid", self.stride
            )
        per_axis(self.pool, self.depth, "Network", "pool")
        if self.connectivity == "full" and (self.pool != 1 or self.next_field is not None):
            given = "pool" if self.pool != 1 else "next_field"
            raise ParameterError(
                "Network",
                given,
                "left out for a full network, which has no positions",
                getattr(self, given),
            )
        if self.layered and (isinstance(self.field, Views) or self.start is not None):
            given = "field" if isinstance(self.field, Views) else "start"
            raise ParameterError(
                "Network",
                given,
                "left to networks of one hidden layer without pooling",
                getattr(self, given),
            )
        if self.outputs > 1 and self.readout == "sum":
            raise ParameterError(
                "Network", "readout", "trained when there are several outputs", self.readout
            )
        if self.initial.weights == "signs" and not self.bias:
            raise ParameterError(
                "Network", "bias", "True with the 'signs' initialisation, which sets it", self.bias
            )
        if self.start is not None and not isinstance(self.start, Network):
            raise ParameterError("Network", "start", "a Network or None", self.start)
        if self.start is not None:
            if self.start.layered:
                raise ParameterError(
                    "Network",
                    "start",
                    "a network of one hidden layer without pooling",
                    self.start.depth,
                )
            within = () if self.connectivity == "full" else ("field", "stride", "border")
            for name in ("activation", "readout", "bias", "offset", "outputs", *within):
                if getattr(self.start, name) != getattr(self, name):
                    raise ParameterError(
                        "Network",
                        "start",
                        f"a network with the same `{name}`",
                        getattr(self.start, name),
                    )

    def windows(self, shape: tuple[int, ...]) -> Windows:
        """The windows of this network on inputs of `shape`; refuses, in one sentence, an input that
        it does not fit.

        >>> CNN(field=3, border="wrap").windows((8, 1)).positions
        8
        """
        where = windows(shape, self.field, self.stride, self.border)
        tiles(where.counts, self.groups)
        return where

    def fits(self, shape: tuple[int, ...]) -> None:
        """Refuse, in one sentence, inputs of a shape that some layer does not fit.

        >>> CNN(field=3, depth=2).fits((4, 1))
        Traceback (most recent call last):
        separatrix.errors.ParameterError: the `field` of Network must be at most the input's size (2,), got (3,)
        """
        deep.layers(self, shape)

    def count_groups(self, where: Windows) -> int:
        """How many sets of weights there are over these windows."""
        return (
            where.positions
            if self.connectivity == "local"
            else product(tiles(where.counts, self.groups))
        )

    def layout(self, shape: tuple[int, ...], within: Frame | None = None) -> Layout:
        """Lay the network over inputs of `shape`, in arrays of the sizes of `within`."""
        if self.layered:
            return deep.layout(self, shape, within)
        frame = within or Frame(shape, self.width)
        where = self.windows(frame.shape)
        counts = where.counts if self.connectivity == "full" else where.counts_of(shape[:-1])
        return lay(self, where, frame.width, shape, counts)

    def init(
        self, key: Key[Array, ""], shape: tuple[int, ...], within: Frame | None = None
    ) -> Params:
        """The parameters before training."""
        if self.start is not None:
            from separatrix.networks.embeddings import embed

            parent = self.start.init(key, shape)
            params = embed(
                self.start, parent, shape, to=self.connectivity, groups=self.groups
            ).params
            if params.weights.shape[1] != self.width:
                needed = params.weights.shape[1]
                raise ParameterError(
                    "Network",
                    "width",
                    f"{needed}, the units of the network it starts in",
                    self.width,
                )
            return params
        place = self.layout(shape, within)
        drawn = [
            self._draw_layer(named(key, f"weights {i}" if i else "weights"), each)
            for i, each in enumerate((place, *place.deeper))
        ]
        weights, bias = tuple(zip(*drawn)) if self.layered else drawn[0]
        readout = None
        if self.readout != "sum":
            real, positions = place.read
            mask, units = (
                (real, self.width * positions)
                if self.readout == "positions"
                else (real[0], self.width)
            )
            raw = draw(normal, named(key, "readout"), (*mask.shape, *self.answers))
            readout = (
                raw
                * mask.reshape(*mask.shape, *(1 for _ in self.answers))
                * self.initial.readout
                / jnp.sqrt(1.0 * units)
            )
        return Params(
            weights,
            bias if self.bias else None,
            readout,
            jnp.zeros(self.answers) if self.offset else None,
        )

    def _draw_layer(self, key: Key[Array, ""], place: Layout) -> tuple[Array, Array | None]:
        """The weights and biases of one hidden layer."""
        area = (*place.windows.field, place.windows.channels)
        weights = self.initial.draw_weights(
            key, (place.groups, place.width, *area), place.inside, place.fan_in
        )
        real = place.units[: place.groups]
        bias = real * self.initial.hidden_bias(place.fan_in) if self.bias else None
        return weights * real[:, :, None], bias

    @property
    def pools(self) -> tuple[int, ...]:
        """By how much positions are pooled after each hidden layer."""
        return self.pool if isinstance(self.pool, tuple) else (self.pool,) * self.depth

    @property
    def layered(self) -> bool:
        """Whether there is more than one hidden layer, or pooling: then weights and biases are
        tuples, one array a layer.
        """
        return self.depth > 1 or self.pools != (1,)

    @property
    def answers(self) -> tuple[int, ...]:
        """The shape of the score of one row: () for one output."""
        return () if self.outputs == 1 else (self.outputs,)

    def scores(
        self,
        params: Params,
        patches: Float[Array, "positions span rows"],
        layout: Layout,
        by_row: Float[Array, "positions rows span"] | None = None,
    ) -> Float[Array, " rows"] | Float[Array, "rows outputs"]:
        """The outputs for a batch that is already cut into patches; `by_row` is what the method of
        that name gives.
        """
        if self.layered:
            return self.read(params, deep.hidden(self, params, patches, layout), layout)
        positions, _, rows = patches.shape
        weights, bias = (
            layout.spread(params.weights),
            None if params.bias is None else layout.spread(params.bias),
        )
        if (self.connectivity != "full" or by_row is not None) and self._has_kernels(
            weights.shape[1], patches
        ):
            out = fused.outputs(
                weights, bias, self.coefficients(params, layout), patches, self.activation, by_row
            )
            return out if params.offset is None else out + params.offset
        z = jnp.broadcast_to(weights, (positions, *weights.shape[1:])) @ patches
        z = z if bias is None else z + bias[:, :, None]
        return self.read(params, self.activation(z).reshape(-1, rows), layout)

    def by_row(
        self, patches: Float[Array, "positions span rows"], layout: Layout
    ) -> Float[Array, "positions rows span"] | None:
        """The same patches stored row by row, where kernels want them so: for full networks, whose
        `scores` are no others.

        They have no kernels without, and a training on the same rows makes them once.

        >>> FCN(20).by_row(jnp.ones((1, 400, 512)), FCN(20).layout((400, 1))) is None  # no kernels are asked for
        True
        """
        own = type(self).scores is Network.scores and not self.layered
        wanted = own and self.connectivity == "full" and self._has_kernels(layout.width, patches)
        return fused.row_by_row(patches) if wanted else None

    def _has_kernels(self, width: int, patches: Float[Array, "positions span rows"]) -> bool:
        (_, span, rows), can = patches.shape, self.outputs == 1 and patches.dtype == jnp.float32
        return can and fused.worth_it(
            width, span, rows, self.activation, self.connectivity == "full"
        )

    def read(
        self, params: Params, hidden: Float[Array, "units rows"], layout: Layout
    ) -> Float[Array, " rows"] | Float[Array, "rows outputs"]:
        """The outputs from the activations of all hidden units."""
        coefficients = self.coefficients(params, layout)
        out = (
            coefficients.reshape(-1) @ hidden
            if self.outputs == 1
            else (coefficients.reshape(-1, self.outputs).T @ hidden).T
        )
        return out if params.offset is None else out + params.offset

    def coefficients(
        self, params: Params, layout: Layout
    ) -> Float[Array, "positions width"] | Float[Array, "positions width outputs"]:
        """The weight of every hidden unit in the output, whatever the readout; 0 where a unit is
        padding.
        """
        units, positions = layout.read
        units = units if self.outputs == 1 else units[:, :, None]
        if self.readout == "sum":
            return units
        if self.readout == "pooled":
            return units * (params.readout / positions)
        return units * params.readout

    def apply(
        self, params: Params, x: Float[Array, "rows ..."]
    ) -> Float[Array, " rows"] | Float[Array, "rows outputs"]:
        """The outputs for a batch of inputs."""
        layout = self.layout(x.shape[1:])
        return self.scores(params, layout.cut(x), layout)

    def sized_as(self, frame: "Network") -> "Network":
        """This network, whose sizes may be traced, with the (equal) sizes of `frame`, also in the
        networks that it starts in.
        """
        sized = eqx.tree_at(lambda n: n.width, self, frame.width)
        return (
            sized
            if self.start is None
            else eqx.tree_at(lambda n: n.start, sized, self.start.sized_as(frame.start))
        )

    def with_activation_bias(self, bias: Any) -> "Network":
        """This network with another LSA bias (also a traced one)."""
        if not isinstance(self.activation, LSA):
            raise ParameterError(
                "Learner",
                "lsa_bias",
                "None unless the activation is LSA",
                type(self.activation).__name__,
            )
        return eqx.tree_at(lambda n: n.activation.bias, self, bias)

    def costs(self, shape: tuple[int, ...]) -> deep.Costs:
        """What the hidden layers cost on an input of `shape`: parameters, products, numbers held.

        >>> CNN(field=3, width=2).costs((8, 1)).products
        36
        """
        return deep.costs(self, shape)

    def parameter_count(self, shape: tuple[int, ...]) -> int:
        """How many numbers training may change.

        >>> CNN(field=3, width=2).parameter_count((8, 1))
        20
        """
        found = self.costs(shape)
        out = {"positions": found.read, "pooled": self.width, "sum": 0}[self.readout]
        return found.parameters + (out + self.offset) * self.outputs

    def flops(self, shape: tuple[int, ...]) -> int:
        """Multiply-adds, counted as two operations, of one forward pass on one input.

        >>> FCN(width=10).flops((8, 1))
        180
        """
        found = self.costs(shape)
        return 2 * (found.products + found.read * self.outputs)


def FCN(width: int, **options: Any) -> Network:
    """A fully connected network with `width` hidden units.

    >>> FCN(width=4).connectivity
    'full'
    """
    return Network("full", width, **options)


def LCN(field: Any, width: int = 1, **options: Any) -> Network:
    """A locally connected network: `width` filters at every window of size `field`, each with its
    own weights.

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
