"""Runs one kernel for all networks of a batch, on flat arrays that hold all of them.

Pallas could batch a kernel by itself. But then it would add the network's base offset to every
index, and the compiler, which does not know that nothing overflows, would compute the address of
every number that is read. Here it computes one address for many numbers at known distances.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

MOST = 2**30  # numbers in an array, because places are integers of 32 bits
TOGETHER = MOST  # numbers in an array of several networks: with more they run one after another


class Ref(NamedTuple):
    """A kernel's array, flat, and the place where this program's network begins in it."""

    ref: Any
    begin: Any

    def load(self, place: Any, more: int = 0) -> Any:
        """Read the numbers at a place, or a known distance further on."""
        from jax.experimental.pallas import triton

        return triton.load(self.ref.at[_within(self.begin + place) + more])

    def store(self, place: Any, values: Any, more: int = 0) -> None:
        """Write numbers to a place, or a known distance further on."""
        from jax.experimental.pallas import triton

        triton.store(self.ref.at[_within(self.begin + place) + more], values)


def call(
    interpret: bool,
    name: str,
    body: Any,
    activation: Any,
    grid: Any,
    operands: tuple[Any, ...],
    results: list[tuple[tuple[int, ...], Any]],
) -> Any:
    """Call a kernel with one warp per program, for all networks of a batch at once.

    Args:
        interpret: run the kernel in Python, for machines without a GPU.
        name: the kernel's name in profiles.
        body: called inside the kernel with the activation, the program's place in the grid, and a
            `Ref` for each operand and each result.
        activation: the units' activation; its numbers become operands.
        grid: programs along each axis, of which the first changes fastest.
        operands: one network's arrays; the body receives None for an operand that is None.
        results: the shape and dtype of each result of one network.

    Returns:
        One network's results; under `vmap`, those of all networks.

    Raises:
        ValueError: an array has more than `MOST` numbers.
    """
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton

    numbers, tree = jax.tree.flatten(activation)
    arrays = [
        *[jnp.asarray(number, jnp.float32).reshape(1) for number in numbers],
        *(operand for operand in operands if operand is not None),
    ]
    sizes, written = [array.size for array in arrays], [math.prod(shape) for shape, _ in results]
    if max(*sizes, *written) > MOST:
        raise ValueError(
            f"kernels hold arrays of at most {MOST} numbers, got {max(*sizes, *written)}"
        )

    def of_networks(many: int, apart: tuple[bool, ...], *arrays: Any) -> Any:
        def kernel(*refs: Any) -> None:
            *place, network = _places(pl.program_id(0), (*grid, many))
            begins = [network * size if own else 0 for own, size in zip(apart, sizes)]
            begins += [network * size for size in written]
            placed = [Ref(ref, begin) for ref, begin in zip(refs, begins)]
            first, rest = placed[: len(numbers)], iter(placed[len(numbers) :])
            function = jax.tree.unflatten(tree, [number.ref[number.begin] for number in first])
            body(
                function,
                tuple(place),
                *[None if operand is None else next(rest) for operand in operands],
                *rest,
            )

        flat = [array.reshape(-1) for array in arrays]
        shapes = [
            jax.ShapeDtypeStruct((many * size,), dtype)
            for size, (_, dtype) in zip(written, results)
        ]
        whole = [pl.BlockSpec(array.shape, lambda _: (0,)) for array in (*flat, *shapes)]
        out = pl.pallas_call(
            kernel,
            out_shape=shapes,
            grid=(math.prod(grid) * many,),
            in_specs=whole[: len(flat)],
            out_specs=whole[len(flat) :],
            interpret=interpret,
            compiler_params=None if interpret else triton.CompilerParams(num_warps=1, num_stages=1),
            name=name,
        )(*flat)
        return [array.reshape(many, *shape) for array, (shape, _) in zip(out, results)]

    out = _over_networks(of_networks, max(written), 1, (False,) * len(arrays), arrays)
    return [array[0] for array in out]


def _over_networks(
    call: Callable[..., Any], written: int, many: int, apart: tuple[bool, ...], arrays: list[Any]
) -> Any:
    """`call(many, apart, *arrays)`, which `vmap` turns into one call with all networks.

    An array that is `apart` has one part per network; the networks share the others. `written` is
    the size of a network's largest result.
    """

    @jax.custom_batching.custom_vmap
    def run(*arrays: Any) -> Any:
        return call(many, apart, *arrays)

    @run.def_vmap
    def batched(size: int, moved: Any, *arrays: Any) -> Any:
        if max(size * many * written, *(array.size for array in arrays)) > TOGETHER:
            mapped = [array for array, is_mapped in zip(arrays, moved) if is_mapped]

            def one(parts: Any) -> Any:
                rest = iter(parts)
                return run(
                    *[next(rest) if is_mapped else array for array, is_mapped in zip(arrays, moved)]
                )

            results = jax.eval_shape(one, [array[0] for array in mapped])
            return jax.lax.map(one, mapped), [True] * len(results)
        merged = []
        for array, was_apart, is_mapped in zip(arrays, apart, moved):
            if was_apart and not is_mapped:
                array = jnp.broadcast_to(array, (size, *array.shape))
            if was_apart:
                array = array.reshape(-1, *array.shape[2:])
            elif is_mapped and many > 1:
                array = jnp.repeat(array, many, 0)
            merged.append(array)
        out = _over_networks(
            call, written, size * many, tuple(a or b for a, b in zip(apart, moved)), merged
        )
        return [array.reshape(size, many, *array.shape[1:]) for array in out], [True] * len(out)

    return run(*arrays)


def _places(index: Any, sizes: tuple[int, ...]) -> list[Any]:
    """A program's place along each axis of the grid, of which the first changes fastest."""
    places = []
    for size in sizes[:-1]:
        places.append(index % size if size > 1 else 0)
        index = index // size if size > 1 else index
    return [*places, index]


def _within(place: Any) -> Any:
    """The same place, with a hint that adding a little to it does not overflow.

    The compiler then computes one address for many places.
    """
    return jnp.asarray(place, jnp.int32) & 0x3FFFFFFF
