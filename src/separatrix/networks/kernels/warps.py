"""What the threads of a warp do together inside a kernel.

It is written in Pallas for its Triton backend, and interpreted, slowly, where there is no GPU. A
program is a warp, and a vector has one number per thread. Nothing is padded.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

WARP = 32  # threads


def divisor(number: int, most: int) -> int:
    """The largest divisor of a number that is not above `most`.

    >>> divisor(20, 32), divisor(96, 32), divisor(37, 32)
    (20, 32, 1)
    """
    return max(part for part in range(1, min(number, most) + 1) if number % part == 0)


def threads(interpret: bool) -> Any:
    """The threads' places in their warp.

    The instruction hides them from the compiler, which would otherwise fold them into whatever is
    added and compute every address separately.
    """
    return jnp.arange(WARP) if interpret else asm("mov.b32 $0, $1;", jnp.arange(WARP), kind="r")


def multiply_add(interpret: bool, one: Any, other: Any, more: Any) -> Any:
    """`one * other + more`, rounded once, in one instruction.

    Triton as XLA calls it would emit two.
    """
    if interpret:
        return one * other + more
    return asm("fma.rn.f32 $0, $1, $2, $3;", jnp.broadcast_to(one, more.shape), other, more)


def of_thread(interpret: bool, vector: Any, place: Any) -> Any:
    """One thread's number, given to all threads."""
    if interpret:
        return jnp.broadcast_to(vector[place], vector.shape)
    if isinstance(place, int):
        return asm(f"shfl.sync.idx.b32 $0, $1, {place}, 31, -1;", vector)
    return asm(
        "shfl.sync.idx.b32 $0, $2, $1, 31, -1;",
        jnp.broadcast_to(place, vector.shape),
        vector,
        kinds="r",
    )


def exchange(interpret: bool, vector: Any, distance: int) -> Any:
    """For every thread, the number of the thread whose place differs in one bit."""
    if interpret:
        return jnp.flip(vector.reshape(-1, 2, distance), 1).reshape(-1)
    return asm(f"shfl.sync.bfly.b32 $0, $1, {distance}, 31, -1;", vector)


def asm(instruction: str, *operands: Any, kind: str = "f", kinds: str = "") -> Any:
    """A PTX instruction for each thread.

    Operands are of this `kind` (f: float32, r: an integer), except the first ones, whose kinds are
    the letters of `kinds`.
    """
    from jax.experimental.pallas import triton

    shape = [jax.ShapeDtypeStruct(operands[-1].shape, operands[-1].dtype)]
    constraints = ",".join([f"={kind}", *kinds, *[kind] * (len(operands) - len(kinds))])
    return triton.elementwise_inline_asm(
        instruction, args=list(operands), constraints=constraints, pack=1, result_shape_dtypes=shape
    )[0]


def bit(place: int) -> Any:
    """An integer with one bit.

    >>> [int(bit(place)) for place in (0, 1, 31)]
    [1, 2, -2147483648]
    """
    return np.uint32(1 << place).view(np.int32)


def sums(interpret: bool, lane: Any, vectors: list[Any]) -> tuple[Any, Any]:
    """The sums of at most 32 vectors over the threads of a warp, in about as many exchanges as
    there are vectors (one by one they would need five each).

    At each distance two vectors become one: half of the threads go on with the first, half with the
    second. Each thread gets one sum and the number of the vector that it belongs to; with fewer
    than 32 vectors, several threads get the same sum.
    """
    place, many = jnp.zeros_like(lane), len(vectors)
    for level, distance in enumerate((16, 8, 4, 2, 1)):
        upper = (lane & distance) != 0
        place = place + jnp.where(upper, 1 << level, 0)
        pairs = [vectors[i : i + 2] for i in range(0, len(vectors), 2)]
        vectors = []
        for pair in pairs:
            keep, give = (
                (pair[0], pair[0])
                if len(pair) == 1
                else (jnp.where(upper, pair[1], pair[0]), jnp.where(upper, pair[0], pair[1]))
            )
            vectors.append(keep + exchange(interpret, give, distance))
    for level in (4, 3, 2, 1, 0) if many < WARP else ():
        place = jnp.where((place >> level) >= -(-many >> level), place & ~(1 << level), place)
    return vectors[0], place
