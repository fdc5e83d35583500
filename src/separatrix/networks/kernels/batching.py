"""A kernel for all networks of a batch at once, on flat arrays that hold all of them.

Pallas would batch a kernel by itself. But then it adds where a network begins to every place, and
the compiler, which does not know that nothing overflows, computes the address of every number that
is read; here it computes one address for many that lie at known distances.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

MOST = 2**30  # numbers of an array, whose places are integers of 32 bits
TOGETHER = MOST  # numbers of an array of several networks: with more they run in turn


class Ref(NamedTuple):
    """An array of a kernel, flat, and where this program's network begins in it."""

    ref: Any
    begin: Any

    def load(self, place: Any, more: int = 0) -> Any:
        """The numbers at a place, or a known distance further on."""
        from jax.experimental.pallas import triton

        return triton.load(self.ref.at[_within(self.begin + place) + more])

    def store(self, place: Any, values: Any, more: int = 0) -> None:
        """The way back."""
        from jax.experimental.pallas import triton

        triton.store(self.ref.at[_within(self.begin + place) + more], values)


def call(
    interpret: bool,
    name: str,
    body: Any,
    activation: Any,
    grid: Any,
    given: tuple[Any, ...],
    out: list[Any],
) -> Any:
    """A kernel of one warp a program, for all networks of a batch at once; what is given as None is
    not there.

    `body` is called in the kernel with the activation, a program's place in the grid, and a `Ref`
    for each of the arrays that are given and written.
    """
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton

    numbers, tree = jax.tree.flatten(activation)
    arrays = [
        *[jnp.asarray(number, jnp.float32).reshape(1) for number in numbers],
        *(each for each in given if each is not None),
    ]
    sizes, written = [array.size for array in arrays], [math.prod(shape) for shape, _ in out]
    if max(*sizes, *written) > MOST:
        raise ValueError(
            f"kernels hold arrays of at most {MOST} numbers, got {max(*sizes, *written)}"
        )

    def of_networks(many: int, apart: tuple[bool, ...], *arrays: Any) -> Any:
        def kernel(*refs: Any) -> None:
            *place, network = _places(pl.program_id(0), (*grid, many))
            begins = [network * size if each else 0 for each, size in zip(apart, sizes)]
            begins += [network * size for size in written]
            held = [Ref(ref, begin) for ref, begin in zip(refs, begins)]
            first, rest = held[: len(numbers)], iter(held[len(numbers) :])
            function = jax.tree.unflatten(tree, [each.ref[each.begin] for each in first])
            body(
                function,
                tuple(place),
                *[None if each is None else next(rest) for each in given],
                *rest,
            )

        flat = [array.reshape(-1) for array in arrays]
        shapes = [
            jax.ShapeDtypeStruct((many * size,), dtype) for size, (_, dtype) in zip(written, out)
        ]
        whole = [pl.BlockSpec(each.shape, lambda _: (0,)) for each in (*flat, *shapes)]
        found = pl.pallas_call(
            kernel,
            out_shape=shapes,
            grid=(math.prod(grid) * many,),
            in_specs=whole[: len(flat)],
            out_specs=whole[len(flat) :],
            interpret=interpret,
            compiler_params=None if interpret else triton.CompilerParams(num_warps=1, num_stages=1),
            name=name,
        )(*flat)
        return [each.reshape(many, *shape) for each, (shape, _) in zip(found, out)]

    return [
        each[0]
        for each in _over_networks(of_networks, max(written), 1, (False,) * len(arrays), arrays)
    ]


def _over_networks(
    call: Callable[..., Any], written: int, many: int, apart: tuple[bool, ...], arrays: list[Any]
) -> Any:
    """`call(many, apart, *arrays)`, which under `vmap` is called once with all networks: those
    arrays that are `apart` have one for each.

    `written` are the most numbers that a network's results have.
    """

    @jax.custom_batching.custom_vmap
    def run(*arrays: Any) -> Any:
        return call(many, apart, *arrays)

    @run.def_vmap
    def batched(size: int, moved: Any, *arrays: Any) -> Any:
        if max(size * many * written, *(array.size for array in arrays)) > TOGETHER:
            mapped = [array for array, each in zip(arrays, moved) if each]

            def one(some: Any) -> Any:
                rest = iter(some)
                return run(*[next(rest) if each else array for array, each in zip(arrays, moved)])

            return jax.lax.map(one, mapped), [True] * len(
                jax.eval_shape(one, [each[0] for each in mapped])
            )
        merged = []
        for array, was, each in zip(arrays, apart, moved):
            if was and not each:
                array = jnp.broadcast_to(array, (size, *array.shape))
            if was:
                array = array.reshape(-1, *array.shape[2:])
            elif each and many > 1:
                array = jnp.repeat(array, many, 0)
            merged.append(array)
        found = _over_networks(
            call, written, size * many, tuple(a or b for a, b in zip(apart, moved)), merged
        )
        return [each.reshape(size, many, *each.shape[1:]) for each in found], [True] * len(found)

    return run(*arrays)


def _places(index: Any, sizes: tuple[int, ...]) -> list[Any]:
    """A program's place along each axis of the grid, of which the first changes fastest."""
    found = []
    for size in sizes[:-1]:
        found.append(index % size if size > 1 else 0)
        index = index // size if size > 1 else index
    return [*found, index]


def _within(place: Any) -> Any:
    """The same place.

    It says that nothing overflows where a little is added: the compiler then computes one address
    for many of them.
    """
    return jnp.asarray(place, jnp.int32) & 0x3FFFFFFF
