"""The network of the three papers: one hidden layer (or several) with one of three connectivities.

Every unit looks through a window. A fully connected network has one window, the whole input; a
locally connected network has its own weights at every window; a convolutional network shares them.
With patches laid out (positions, span, rows), all three are one batched matrix product followed by
one vector-matrix product. Of the implementations timed on a CPU core it is also the fastest
(benchmarks/implementations.py).
"""

import math
from typing import Any, NoReturn

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from separatrix.errors import ParameterError
from separatrix.networks import cost, kernels, layers
from separatrix.networks.activations import LSA, Activation, ReLU
from separatrix.networks.initial import Initial
from separatrix.networks.layout import Frame, Layout, Params, Patches, lay, product, tiles
from separatrix.networks.maps import Maps, see
from separatrix.networks.pooling import Heads, pooled_features
from separatrix.networks.views import Views
from separatrix.networks.windows import Windows, per_axis, windows
from separatrix.spec import Spec, as_integer, choice, size, static, value
from separatrix.streams import draw, named, normal

Scores = Float[Array, " rows"] | Float[Array, "rows outputs"]


class Network(Spec):
    """A network: connectivity × width × activation × readout, of one hidden layer or several.

    `FCN`, `LCN` and `CNN` make the three connectivities. A new function of the input is a subclass
    that overrides `scores`, `init` or `windows`.

    Args:
        connectivity: "full", "local" or "shared".
        width: hidden units of a full network; filters per window of a local or shared one.
        field: the size of the windows, one integer or a tuple with one per axis, or `Views` that
            say what each window sees. None for a full network.
        stride: the step from one window to the next, as `field`.
        activation: the function of the hidden units.
        readout: "positions" (a trained weight for every hidden unit), "pooled" (a trained weight
            for every filter, averaged over windows) or "sum" (all ones, not trained).
        bias: whether hidden units have a bias.
        offset: whether the output has one.
        initial: the distribution of the parameters before training.
        start: a smaller network inside which this one begins; its initial parameters are embedded
            exactly.
        groups: the number of sets of weights of a shared network: its windows are divided into so
            many contiguous tiles (2-D: a tuple, a × b tiles), and each tile shares its weights. 1
            is the convolution; as many as there are windows is the local network.
        border: "valid", or "wrap" for windows that continue around the edge.
        outputs: the number of scores per row; more than one for classes.
        depth: the number of hidden layers, all of the same connectivity, width and activation (a
            paper that counts layers of weights counts one more).
        next_field: the windows of further layers, at stride 1 over the layer before; None for
            `field`.
        pool: how many neighbouring positions are pooled after every layer; a tuple has one number
            per layer.
        pooling: whether pooling takes their "mean" or their "max".
        maps: what each window sees, in numbers that a program takes: windows of several sizes and
            scrambled inputs then share a program.
        heads: which features the readout reads: means over regions of windows, the maximum over
            windows, or both; None reads every window.
        place_bias: whether a shared layer has a bias of its own at every window: 1, or 0 for the
            first window's bias everywhere (both in one program); None for one bias per filter.

    Raises:
        ParameterError: fields that contradict each other, such as `groups` of a local network.

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
    pooling: str = choice("mean", "max", default="mean")
    maps: Maps | None = None
    heads: Heads | None = None
    place_bias: int | None = value(low=0, high=1, default=None, integer=True)

    def check(self) -> None:
        full, has_views = self.connectivity == "full", isinstance(self.field, Views)
        if full and self.field is not None:
            self._refuse("field", "None for a fully connected network")
        if not full and self.field is None:
            self._refuse("field", "given for a local or shared network")
        for name in ("field", "stride", "groups", "next_field"):
            sizes: Any = getattr(self, name)
            if not isinstance(sizes, Views) and (sizes is not None or name == "stride"):
                axes = len(sizes) if isinstance(sizes, tuple) else 1
                per_axis(sizes, min(max(axes, 1), 2), "Network", name)
        if self.connectivity != "shared" and self.groups is not None:
            self._refuse("groups", "None unless the connectivity is 'shared'")
        if self.border == "wrap" and (full or has_views):
            self._refuse("border", "'valid' for a full network and for views, which have no edge")
        if has_views and self.stride != 1:
            self._refuse("stride", "1 for views, which are not on a grid")
        per_axis(self.pool, self.depth, "Network", "pool")
        if full and (self.pool != 1 or self.next_field is not None):
            name = "pool" if self.pool != 1 else "next_field"
            self._refuse(name, "left out for a full network, which has no positions")
        if self.layered and (has_views or self.start is not None):
            name = "field" if has_views else "start"
            self._refuse(name, "left to networks of one hidden layer without pooling")
        if self.outputs > 1 and self.readout == "sum":
            self._refuse("readout", "trained when there are several outputs")
        if self.initial.weights == "signs" and not self.bias:
            self._refuse("bias", "True with the 'signs' initialisation, which sets it")
        self._check_maps_and_heads()
        if self.start is not None:
            self._check_start()

    def _check_maps_and_heads(self) -> None:
        windowed = self.connectivity != "full" and not isinstance(self.field, Views)
        if self.maps is not None:
            if not windowed or self.border != "valid" or self.groups is not None:
                self._refuse("maps", "None unless windows end at the border and have no groups")
            if not isinstance(self.field, int) or not isinstance(self.stride, int):
                self._refuse("field", "one integer, as `stride`, where there are `maps`")
            if self.maps.side is not None and self.layered:
                self._refuse("maps", "without `side` for networks of several layers")
        if self.heads is not None and (not windowed or self.readout != "positions" or self.start):
            self._refuse("heads", "None unless a windowed network reads positions")
        if self.place_bias is not None:
            one = self.connectivity == "shared" and not self.layered and self.groups is None
            if not one or not self.bias:
                self._refuse("place_bias", "None unless one shared layer has a bias")

    def _check_start(self) -> None:
        if not isinstance(self.start, Network):
            self._refuse("start", "a Network or None")
        if self.start.layered:
            self._refuse("start", "a network of one hidden layer without pooling", self.start.depth)
        within = () if self.connectivity == "full" else ("field", "stride", "border")
        for name in ("activation", "readout", "bias", "offset", "outputs", *within):
            other = getattr(self.start, name)
            if other != getattr(self, name):
                self._refuse("start", f"a network with the same `{name}`", other)

    def _refuse(self, name: str, allowed: str, *other: Any) -> NoReturn:
        raise ParameterError("Network", name, allowed, *(other or (getattr(self, name),)))

    def windows(self, shape: tuple[int, ...]) -> Windows:
        """The windows of this network on inputs of `shape`.

        Raises:
            ParameterError: the input does not fit the network.

        >>> CNN(field=3, border="wrap").windows((8, 1)).positions
        8
        """
        where = windows(shape, self.field, self.stride, self.border)
        if self.maps is not None and self.maps.positions is not None:
            return Windows(
                space=(math.prod(shape[:-1]),),
                field=(math.prod(where.field),),
                stride=(1,),
                channels=shape[-1],
                views=self.maps,
            )
        tiles(where.counts, self.groups)
        return where

    def fits(self, shape: tuple[int, ...]) -> None:
        """Refuse inputs of a shape that some layer does not fit.

        >>> CNN(field=3, depth=2).fits((4, 1))
        Traceback (most recent call last):
        separatrix.errors.ParameterError: the `field` of Network must be ... (2,), got (3,)
        """
        layers.layers(self, shape)

    def count_groups(self, where: Windows) -> int:
        """How many sets of weights there are over these windows."""
        if self.connectivity == "local":
            return where.positions
        return product(tiles(where.counts, self.groups))

    def layout(self, shape: tuple[int, ...], within: Frame | None = None) -> Layout:
        """Lay the network over inputs of `shape`, in arrays of the sizes of `within`."""
        frame, sight = within or Frame(shape, self.width), None
        if self.maps is not None:
            field: Any = self.field
            sight = see(self.maps, shape, frame.shape, field, self.stride)
        if self.layered:
            return layers.layout(self, shape, within)._replace(sight=sight)
        where, full = self.windows(frame.shape), self.connectivity == "full"
        counts = where.counts if full else where.counts_of(shape[:-1])
        # Kernels read full patches row by row, and only if no subclass overrides `scores`.
        by_row = full and self.outputs == 1 and type(self).scores is Network.scores
        if sight is None:
            return lay(self, where, frame.width, shape, counts)._replace(by_row=by_row)
        out = lay(self, where, frame.width, shape, sight.counts)
        real = jnp.arange(sight.places.shape[1]) < sight.area
        inside = real[:, None] * out.inside.reshape(-1, where.channels)
        return out._replace(
            sight=sight, inside=inside.reshape(out.inside.shape), fan_in=sight.area * shape[-1]
        )

    def init(
        self, key: Key[Array, ""], shape: tuple[int, ...], within: Frame | None = None
    ) -> Params:
        """The parameters before training.

        Args:
            key: a JAX random key.
            shape: the shape of one input, channels last.
            within: the sizes of the arrays, where they are larger than this network needs.
        """
        if self.start is not None:
            return self._embedded_start(key, shape)
        place = self.layout(shape, within)
        drawn = [
            self._draw_layer(named(key, f"weights {i}" if i else "weights"), layer)
            for i, layer in enumerate((place, *place.deeper))
        ]
        weights, bias = tuple(zip(*drawn)) if self.layered else drawn[0]
        return Params(
            weights=weights,
            bias=bias if self.bias else None,
            readout=None if self.readout == "sum" else self._draw_readout(key, place),
            offset=jnp.zeros(self.answers) if self.offset else None,
        )

    def _embedded_start(self, key: Key[Array, ""], shape: tuple[int, ...]) -> Params:
        from separatrix.networks.embeddings import embed

        parent = self.start.init(key, shape)
        params = embed(self.start, parent, shape, to=self.connectivity, groups=self.groups).params
        units = params.only_layer.weights.shape[1]
        if units != self.width:
            self._refuse("width", f"{units}, the units of the network it starts in")
        return params

    def _draw_layer(self, key: Key[Array, ""], place: Layout) -> tuple[Array, Array | None]:
        """The weights and biases of one hidden layer."""
        area = (*place.windows.field, place.windows.channels)
        weights = self.initial.draw_weights(
            key, (place.groups, place.width, *area), place.inside, place.fan_in
        )
        real = place.units[: place.groups]
        real_bias = real if self.place_bias is None else place.units
        bias = real_bias * self.initial.hidden_bias(place.fan_in) if self.bias else None
        return weights * real[:, :, None], bias

    def _draw_readout(self, key: Key[Array, ""], place: Layout) -> Float[Array, "..."]:
        real, positions = place.read
        if self.heads is not None:
            mask, units = self._read_heads(place)
        elif self.readout == "positions":
            mask, units = real, self.width * positions
        else:
            mask, units = real[0], self.width
        raw = draw(normal, named(key, "readout"), (*mask.shape, *self.answers))
        return (
            raw
            * mask.reshape(*mask.shape, *(1 for _ in self.answers))
            * self.initial.readout
            / jnp.sqrt(1.0 * units)
        )

    def _read_heads(self, place: Layout) -> tuple[Float[Array, "features width"], Any]:
        """Which entries of the readout over pooled features are real, and how many they are."""
        assert self.heads is not None
        real, positions = place.read
        axes = len(place.grid)
        along = self.heads.along(axes)
        means = positions if along is None else math.prod(along)
        mask = self.heads.mask(self.heads.count_of(axes, len(real)))[:, None] * real[0]
        return mask, self.width * (self.heads.means * means + self.heads.maximum)

    @property
    def pools(self) -> tuple[int, ...]:
        """By how much positions are pooled after each hidden layer."""
        return self.pool if isinstance(self.pool, tuple) else (self.pool,) * self.depth

    @property
    def layered(self) -> bool:
        """Whether there are several hidden layers, or pooling.

        Weights and biases are then tuples with one array per layer.
        """
        return self.depth > 1 or self.pools != (1,)

    @property
    def answers(self) -> tuple[int, ...]:
        """The shape of the score of one row: () for one output."""
        return () if self.outputs == 1 else (self.outputs,)

    def scores(self, params: Params, patches: Patches, layout: Layout) -> Scores:
        """The outputs for a batch that is already cut into patches.

        Args:
            params: the parameters.
            patches: what `layout.cut` makes of a batch.
            layout: what `layout` gives for the inputs' shape.

        Returns:
            One score per row; with several outputs, (rows, outputs).
        """
        if self.layered:
            return self.read(params, layers.hidden(self, params, patches, layout), layout)
        layer, windows = params.only_layer, patches.by_span
        positions, _, rows = windows.shape
        weights = layout.spread(layer.weights)
        bias = None if layer.bias is None else layout.spread(layer.bias)
        if self.place_bias is not None and layer.bias is not None:
            bias = jnp.where(self.place_bias == 1, layer.bias, layer.bias[:1])
        if self._uses_kernels(weights.shape[1], patches):
            coefficients = self.coefficients(params, layout)
            out = kernels.outputs(
                weights, bias, coefficients, windows, self.activation, patches.by_row
            )
            return out if params.offset is None else out + params.offset
        z = jnp.broadcast_to(weights, (positions, *weights.shape[1:])) @ windows
        z = z if bias is None else z + bias[:, :, None]
        return self.read(params, self.activation(z).reshape(-1, rows), layout)

    def _uses_kernels(self, width: int, patches: Patches) -> bool:
        _, span, rows = patches.by_span.shape
        full = self.connectivity == "full"
        if (full and patches.by_row is None) or self.outputs > 1:
            return False
        if self.heads is not None or self.place_bias is not None:
            return False
        in_float32 = patches.by_span.dtype == jnp.float32
        return in_float32 and kernels.suits(width, span, rows, self.activation, full)

    def read(self, params: Params, hidden: Float[Array, "units rows"], layout: Layout) -> Scores:
        """The outputs from the activations of all hidden units."""
        if self.heads is not None:
            real, positions = layout.read
            active = hidden.reshape(*real.shape, -1)
            hidden = pooled_features(self.heads, active, layout.grid, positions)
            hidden = hidden.reshape(-1, active.shape[-1])
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
        if self.heads is not None:  # of every pooled feature
            units, _ = self._read_heads(layout)
        units = units if self.outputs == 1 else units[:, :, None]
        if self.readout == "sum":
            return units
        readout: Any = params.readout
        return units * (readout / positions) if self.readout == "pooled" else units * readout

    def apply(self, params: Params, x: Float[Array, "rows ..."]) -> Scores:
        """The outputs for a batch of inputs.

        Args:
            params: the parameters.
            x: inputs (rows, length, channels) or (rows, height, width, channels).
        """
        layout = self.layout(x.shape[1:])
        return self.scores(params, layout.cut(x), layout)

    def sized_as(self, frame: "Network") -> "Network":
        """This network with the (equal) sizes of `frame`, which are not traced.

        The networks that it starts in are sized in the same way.
        """
        sized = eqx.tree_at(lambda n: n.width, self, frame.width)
        if self.start is None:
            return sized
        return eqx.tree_at(lambda n: n.start, sized, self.start.sized_as(frame.start))

    def with_activation_bias(self, bias: Any) -> "Network":
        """This network with another LSA bias, which may be traced."""
        if not isinstance(self.activation, LSA):
            kind = type(self.activation).__name__
            raise ParameterError("Learner", "lsa_bias", "None unless the activation is LSA", kind)
        return eqx.tree_at(lambda n: n.activation.bias, self, bias)

    def costs(self, shape: tuple[int, ...]) -> cost.Costs:
        """What the hidden layers cost on an input of `shape`: parameters, products, numbers held.

        >>> CNN(field=3, width=2).costs((8, 1)).products
        36
        """
        return cost.costs(self, shape)

    def parameter_count(self, shape: tuple[int, ...]) -> int:
        """How many numbers training may change.

        >>> CNN(field=3, width=2).parameter_count((8, 1))
        20
        """
        return cost.parameter_count(self, shape)

    def flops(self, shape: tuple[int, ...]) -> int:
        """Operations of one forward pass on one input; a multiply-add counts as two.

        >>> FCN(width=10).flops((8, 1))
        180
        """
        return cost.flops(self, shape)


def FCN(width: int, **options: Any) -> Network:
    """A fully connected network.

    Args:
        width: the number of hidden units.
        **options: further fields of `Network`.

    >>> FCN(width=4).connectivity
    'full'
    """
    return Network("full", width, **options)


def LCN(field: Any, width: int = 1, **options: Any) -> Network:
    """A locally connected network: every window has its own weights.

    Args:
        field: the size of the windows: an integer, a tuple with one per axis, or `Views`.
        width: filters per window.
        **options: further fields of `Network`.

    >>> LCN(field=3, width=4).connectivity
    'local'
    """
    return Network("local", width, field, **options)


def CNN(field: Any, width: int = 1, **options: Any) -> Network:
    """A convolutional network: all windows share their weights.

    Args:
        field: the size of the windows: an integer, a tuple with one per axis, or `Views`.
        width: filters per window.
        **options: further fields of `Network`.

    >>> CNN(field=3, width=4).connectivity
    'shared'
    """
    return Network("shared", width, field, **options)
