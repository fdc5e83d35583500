"""Random streams derived by name, and arrays whose entries depend only on their index.

This module guarantees two things that `jax.random` does not:

- Streams never overlap. JAX's threefry keys satisfy `fold_in(key, i) == split(key, n)[i]`, so that
  streams with small integers as names can overlap. Here streams have names, and the root keys of a
  trial come from a cryptographic hash of the trial's identity.
- An entry of a random array depends only on the key and its index: a larger array contains the
  smaller one. So neither padding a trial to a larger program nor another batch changes its numbers.

The generator is that of JAX (threefry-2x32, 20 rounds; the tests compare them bit by bit),
implemented here to control the counters. This implementation also compiles and runs faster than
`jax.random.normal` on a CPU (benchmarks/implementations.py).
"""

import hashlib
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, UInt32

from separatrix.errors import SeparatrixError
from separatrix.spec import digest

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def threefry(
    key: Key[Array, ""], high: Any, low: Any
) -> tuple[UInt32[Array, "..."], UInt32[Array, "..."]]:
    """Two words of random bits for every 64-bit counter (high, low).

    >>> import jax, jax.numpy as jnp
    >>> words = threefry(jax.random.key(7), jnp.uint32(0), jnp.uint32(3))
    >>> expected = jax.random.key_data(jax.random.fold_in(jax.random.key(7), 3))
    >>> [int(word) for word in words] == expected.tolist()
    True
    """
    words = jax.random.key_data(key)
    schedule = (words[0], words[1], words[0] ^ words[1] ^ jnp.uint32(0x1BD11BDA))
    a, b = jnp.asarray(high, jnp.uint32) + schedule[0], jnp.asarray(low, jnp.uint32) + schedule[1]
    for block in range(5):
        for turn in ROTATIONS[block % 2]:
            a = a + b
            b = a ^ ((b << turn) | (b >> (32 - turn)))
        a = a + schedule[(block + 1) % 3]
        b = b + schedule[(block + 2) % 3] + jnp.uint32(block + 1)
    return a, b


def root_words(*parts: Any) -> np.ndarray:
    """Two 32-bit words from the hash of plain values, computed on the host: the seed of a root key.

    >>> root_words("data", 0).dtype
    dtype('uint32')
    """
    return np.frombuffer(bytes.fromhex(digest(parts)[:16]), dtype=">u4").astype(np.uint32)


def root_key(words: Any) -> Key[Array, ""]:
    """The typed key made of two 32-bit words.

    >>> root_key(root_words("data", 0)).shape
    ()
    """
    return jax.random.wrap_key_data(jnp.asarray(words, jnp.uint32), impl="threefry2x32")


def named(key: Key[Array, ""], name: str) -> Key[Array, ""]:
    """The stream called `name` under `key`.

    >>> import jax
    >>> bool(named(jax.random.key(0), "train") == named(jax.random.key(0), "test"))
    False
    """
    code = np.frombuffer(hashlib.sha256(name.encode()).digest()[:8], dtype=">u4").astype(np.uint32)
    return _mixed(key, code[0], code[1])


def numbered(key: Key[Array, ""], index: Any) -> Key[Array, ""]:
    """The stream number `index` (which may be traced) under `key`: for steps of a loop.

    >>> import jax
    >>> bool(numbered(jax.random.key(0), 1) == numbered(jax.random.key(0), 2))
    False
    """
    return _mixed(named(key, "numbered"), 0, index)


def _mixed(key: Key[Array, ""], high: Any, low: Any) -> Key[Array, ""]:
    """A different key for every 64-bit code (high, low).

    A counter-based generator gives independent streams for any two different keys, so the new key
    need not come from the generator itself, whose 20 rounds every program would have to compile.
    For each code this is a bijection of the key, and for each key one of the code. The
    multiplications by odd numbers make "a" under "b" differ from "b" under "a".
    """
    words = jax.random.key_data(key)
    b = words[1] * jnp.uint32(0x85EBCA77) + jnp.asarray(low, jnp.uint32)
    a = words[0] * jnp.uint32(0x9E3779B1) + jnp.asarray(high, jnp.uint32)
    a = a + (b ^ (b >> 15)) * jnp.uint32(0xC2B2AE3D)
    b = b + (a ^ (a >> 13)) * jnp.uint32(0x27D4EB2F)
    return root_key(jnp.stack([a, b]))


def draw(
    sampler: Callable[[Array], Array], key: Key[Array, ""], shape: tuple[int, ...]
) -> Float[Array, "..."]:
    """Independent draws: `sampler` turns 32 random bits into a number, as `normal`, `uniform`,
    `sign` and `laplace` do.

    >>> import jax
    >>> small = draw(normal, jax.random.key(0), (2, 3))
    >>> large = draw(normal, jax.random.key(0), (4, 5))
    >>> bool((large[:2, :3] == small).all())
    True
    """
    # Each index becomes a 64-bit counter that does not depend on the shape: with at most three axes
    # the first axis has 32 bits, all others have 16.
    limits = (2**32, 2**16, 2**16) if len(shape) <= 3 else (2**16,) * 4
    if len(shape) > 4 or any(n > limit for n, limit in zip(shape, limits)):
        raise SeparatrixError(
            f"cannot draw an array of shape {shape}: axes may have {limits} entries"
        )
    axes = [
        jnp.arange(n, dtype=jnp.uint32).reshape(-1, *(1,) * (len(shape) - 1 - i))
        for i, n in enumerate(shape)
    ]
    pad = jnp.zeros((1,) * len(shape), jnp.uint32)
    first, *rest = axes
    if len(shape) == 4:
        first, rest = (first << 16) | rest[0], rest[1:]
    second, third = [*rest, pad, pad][:2]
    low = jnp.broadcast_to((second << 16) | third, shape)
    bits = threefry(key, jnp.broadcast_to(first, shape), low)[0]
    # Without the barriers the GPU compiler fuses copies of generator and sampler into every use of
    # the numbers, and deciding about that takes up to nine tenths of the compile time.
    return jax.lax.optimization_barrier(sampler(jax.lax.optimization_barrier(bits)))


def uniform(bits: UInt32[Array, "..."]) -> Float[Array, "..."]:
    """Uniform on (0, 1), symmetric about ½ and never an end point.

    >>> float(uniform(jnp.uint32(0))) > 0
    True
    """
    return (bits >> 9).astype(jnp.float32) * 2.0**-23 + 2.0**-24


def normal(bits: UInt32[Array, "..."]) -> Float[Array, "..."]:
    """Standard normal.

    >>> abs(float(normal(jnp.uint32(2**31)))) < 1e-6
    True
    """
    return math.sqrt(2.0) * jax.lax.erf_inv(2.0 * uniform(bits) - 1.0)


def sign(bits: UInt32[Array, "..."]) -> Float[Array, "..."]:
    """-1 or 1.

    >>> float(sign(jnp.uint32(2**31)))
    1.0
    """
    return jnp.where(bits >> 31 == 1, 1.0, -1.0)


def laplace(bits: UInt32[Array, "..."]) -> Float[Array, "..."]:
    """Laplace with unit variance.

    >>> abs(float(laplace(jnp.uint32(2**31)))) < 1e-6
    True
    """
    centred = 2.0 * uniform(bits) - 1.0
    return -jnp.sign(centred) * jnp.log1p(-jnp.abs(centred)) * math.sqrt(0.5)


def level(bits: UInt32[Array, "..."]) -> Float[Array, "..."]:
    """Uniform on an interval about 0, with unit variance.

    >>> abs(float(level(jnp.uint32(2**31)))) < 1e-6
    True
    """
    return (2.0 * uniform(bits) - 1.0) * math.sqrt(3.0)
