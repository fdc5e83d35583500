"""Random streams derived by name, never by position.

JAX's threefry keys satisfy `fold_in(key, i) == split(key, n)[i]`, so streams told apart by small integers can overlap. Here
every stream has a name, every trial's root key comes from a cryptographic hash of what the trial is, and arrays are drawn so
that a longer array begins with the shorter one: padding never changes what a trial sees.
"""

import hashlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from separatrix.spec import digest


def root_words(*parts: Any) -> np.ndarray:
    """Two 32-bit words from the hash of plain values: the seed material of a root key (computed on the host).

    >>> root_words("data", 0).dtype
    dtype('uint32')
    """
    code = bytes.fromhex(digest(parts)[:16])
    return np.frombuffer(code, dtype=">u4").astype(np.uint32)


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
    # Two folds with 32 hashed bits each: a name cannot collide with a small index, nor (to 2^-64) with another name.
    code = hashlib.sha256(name.encode()).digest()
    for start in (0, 4):
        key = jax.random.fold_in(key, int.from_bytes(code[start : start + 4], "big"))
    return key


def draw(sampler: Callable[..., Array], key: Key[Array, ""], shape: tuple[int, ...]) -> Array:
    """An array whose entry at an index depends only on the key and that index: larger shapes extend smaller ones.

    >>> import jax
    >>> small = draw(jax.random.normal, jax.random.key(0), (2, 3))
    >>> large = draw(jax.random.normal, jax.random.key(0), (4, 5))
    >>> bool((large[:2, :3] == small).all())
    True
    """
    if len(shape) == 1:
        return sampler(key, shape)
    keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.arange(shape[0], dtype=jnp.uint32))
    return jax.vmap(lambda k: draw(sampler, k, shape[1:]))(keys)
