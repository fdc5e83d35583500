"""Synthetic data whose truth is known: what a diagnosis must get right.

A truth is a function of a seed to data, with the verdicts that are right of it. The first half was
used while the method was made; the second half (`BLIND_HALF`) was written before the method was
frozen and is run once after. A truth of the second half that leads to a change of the method moves
to the first.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from separatrix.errors import UnknownNameError

CONV, LOCAL = "convolution pays", "locality pays, sharing does not"
NEITHER, OPEN = "neither pays", "cannot tell"


@dataclasses.dataclass(frozen=True)
class Case:
    """A data set of known truth: inputs, labels, what they are, and how to split them."""

    x: np.ndarray
    y: np.ndarray
    kind: str = "signal"
    groups: np.ndarray | None = None


@dataclasses.dataclass(frozen=True)
class Truth:
    """How a case is made, and which verdicts are right of it."""

    make: Callable[[np.random.Generator], Case]
    right: tuple[str, ...]


def patches(
    rng: np.random.Generator,
    k: int,
    d: int,
    noise: float,
    moving: bool = True,
    permuted: bool = False,
    rows: int = 6000,
) -> Case:
    """The task of Lahoti et al.: k patches of d numbers, one of which holds ±w; `moving` says
    whether it is another one in every row.
    """
    w = rng.normal(size=d)
    w /= np.linalg.norm(w)
    y = rng.choice([-1, 1], rows)
    x = noise * rng.normal(size=(rows, k, d))
    place = rng.integers(0, k, rows) if moving else np.full(rows, rng.integers(0, k))
    x[np.arange(rows), place] += y[:, None] * w
    x = x.reshape(rows, k * d)
    return Case(x[:, rng.permutation(k * d)] if permuted else x, y)


def even_patterns(
    rng: np.random.Generator,
    length: int,
    noise: float,
    moving: bool,
    permuted: bool = False,
    rows: int = 6000,
    width: int = 16,
) -> Case:
    """One of two orthogonal patterns, of either sign, at any place or at a fixed one: no linear
    function of the input tells the classes apart.
    """
    y = rng.integers(0, 2, rows)
    x = noise * rng.normal(size=(rows, length))
    first = rng.choice([-1.0, 1.0], width)
    flips = rng.permutation(np.repeat([-1.0, 1.0], width // 2))
    shapes = np.stack([first, first * flips]) / np.sqrt(width)
    last = length - width + 1
    place = rng.integers(0, last, rows) if moving else np.full(rows, rng.integers(0, last))
    x[np.arange(rows)[:, None], place[:, None] + np.arange(width)] += (
        rng.choice([-1.0, 1.0], rows)[:, None] * shapes[y]
    )
    return Case(x[:, rng.permutation(length)] if permuted else x, y)


def chirps(rng: np.random.Generator, rows: int = 3000, length: int = 128) -> Case:
    """A short tone that rises or falls, at any place and phase, in noise."""
    y = rng.integers(0, 2, rows)
    t = np.arange(24) / 24
    phase, place = rng.uniform(0, 2 * np.pi, rows), rng.integers(0, length - 24, rows)
    sweep = np.where(y[:, None] == 1, 2 * t + 3 * t**2, 8 * t - 3 * t**2)
    tone = np.sin(2 * np.pi * sweep + phase[:, None]) * np.hanning(24)
    x = 0.25 * rng.normal(size=(rows, length))
    x[np.arange(rows)[:, None], place[:, None] + np.arange(24)] += tone
    return Case(x, y)


def gratings(rng: np.random.Generator, rows: int = 3000, side: int = 12) -> Case:
    """Images with a small patch of stripes in one of two directions, of any phase and place."""
    y = rng.integers(0, 2, rows)
    u, v = np.meshgrid(np.arange(5), np.arange(5), indexing="ij")
    along = np.where(y[:, None, None] == 1, u + v, u - v)
    stripes = np.sin(1.2 * along + rng.uniform(0, 2 * np.pi, (rows, 1, 1)))
    x = 0.4 * rng.normal(size=(rows, side, side))
    top, left = rng.integers(0, side - 4, (2, rows))
    for row in range(rows):
        x[row, top[row] : top[row] + 5, left[row] : left[row] + 5] += stripes[row]
    return Case(x, y, "image")


def products(
    rng: np.random.Generator, near: bool, rows: int = 6000, length: int = 64, pairs: int = 8
) -> Case:
    """The sign of a sum of products of two numbers each: random directions in a window of four, of
    its own at every place, or coordinates that are truly far apart.
    """
    x = rng.normal(size=(rows, length))
    if near:
        places = 4 * rng.permutation(length // 4)[:pairs, None] + np.arange(4)
        turns = np.linalg.qr(rng.normal(size=(pairs, 4, 4)))[0][:, :2]
        first, second = np.einsum("rps,pds->drp", x[:, places], turns)
    else:
        spots = rng.permutation(length // 2)[:pairs]
        first, second = x[:, spots], x[:, spots + length // 2]
    return Case(x, (rng.choice([-1, 1], pairs) * first * second).sum(1) > 0)


def linear(rng: np.random.Generator, rows: int = 6000, length: int = 120) -> Case:
    """Gaussian rows labelled by a random linear function."""
    x = rng.normal(size=(rows, length))
    return Case(x, x @ rng.normal(size=length) > 0)


def dense(rng: np.random.Generator, rows: int = 6000, length: int = 32) -> Case:
    """Gaussian rows labelled by a random network with dense hidden units."""
    x = rng.normal(size=(rows, length))
    hidden = np.maximum(x @ rng.normal(size=(length, 8)) / np.sqrt(length), 0)
    scores = hidden @ rng.choice([-1.0, 1.0], 8)
    return Case(x, scores > np.median(scores))


def energy(rng: np.random.Generator, rows: int = 4000, length: int = 64) -> Case:
    """Two levels of noise: the same whatever the order of the coordinates."""
    y = rng.integers(0, 2, rows)
    return Case(rng.normal(size=(rows, length)) * np.where(y, 1.15, 1.0)[:, None], y)


def nothing(rng: np.random.Generator, rows: int = 2000, length: int = 60) -> Case:
    """Labels that have nothing to do with the rows."""
    return Case(rng.normal(size=(rows, length)), rng.integers(0, 2, rows))


def bump(rng: np.random.Generator, rows: int = 4000, length: int = 96) -> Case:
    """A regression: the height of a bump that may be anywhere, in noise."""
    height, place = rng.uniform(0.5, 3.0, rows), rng.integers(4, length - 4, rows)
    t = np.arange(length)
    x = height[:, None] * np.exp(-0.5 * ((t - place[:, None]) / 2.0) ** 2)
    return Case(x + 0.3 * rng.normal(size=(rows, length)), height)


def burst(rng: np.random.Generator, share: float, rows: int = 6000, length: int = 100) -> Case:
    """Rare rows with a short burst at any place."""
    y = (rng.random(rows) < share).astype(int)
    x = rng.normal(size=(rows, length))
    shape = 1.5 * rng.choice([-1.0, 1.0], 10)
    place = rng.integers(0, length - 10, rows)
    x[np.arange(rows)[:, None], place[:, None] + np.arange(10)] += y[:, None] * shape
    return Case(x, y)


def leaking(rng: np.random.Generator, rows: int = 3000, length: int = 64) -> Case:
    """Subjects with an offset of their own, whose rows mostly have one class; beside it a pattern
    that moves and tells the class of every row.
    """
    subject = rng.integers(0, 30, rows)
    y = np.where(rng.random(rows) < 0.8, subject % 2, 1 - subject % 2)
    x = 0.5 * rng.normal(size=(30, length))[subject] + 0.6 * rng.normal(size=(rows, length))
    shapes = np.stack([np.ones(8), np.tile([1.0, -1.0], 4)])
    place = rng.integers(0, length - 8, rows)
    x[np.arange(rows)[:, None], place[:, None] + np.arange(8)] += 1.0 * shapes[y]
    return Case(x, y, groups=subject)


def table(rng: np.random.Generator, rows: int = 2000, columns: int = 24) -> Case:
    """A table: thresholds and products of a few columns, in an arbitrary order."""
    x = rng.normal(size=(rows, columns))
    a, b, c, d = rng.permutation(columns)[:4]
    return Case(x, (x[:, a] > 0) ^ (x[:, b] > 0.5) | (x[:, c] + x[:, d] > 2), "table")


def many_classes(rng: np.random.Generator, rows: int = 6000, length: int = 80) -> Case:
    """Five classes, each with a pattern of its own that moves."""
    y = rng.integers(0, 5, rows)
    shapes = rng.normal(size=(5, 10))
    x = 0.8 * rng.normal(size=(rows, length))
    place = rng.integers(0, length - 10, rows)
    x[np.arange(rows)[:, None], place[:, None] + np.arange(10)] += shapes[y]
    return Case(x, y)


def two_channels(rng: np.random.Generator, rows: int = 4000, length: int = 64) -> Case:
    """A signal of two channels; the class is which channel a pattern of either sign moves in."""
    y = rng.integers(0, 2, rows)
    x = 0.5 * rng.normal(size=(rows, length, 2))
    shape = rng.choice([-1.0, 1.0], rows)[:, None] * rng.choice([-1.0, 1.0], 10)
    places = rng.integers(0, length - 10, rows)[:, None] + np.arange(10)
    x[np.arange(rows)[:, None], places, y[:, None]] += shape
    return Case(x, y)


def fixed_gratings(rng: np.random.Generator, rows: int = 4000, side: int = 12) -> Case:
    """Images with stripes of any phase in one of two directions, always at the same place, and with
    stripes of either direction at the other places.
    """
    y = rng.integers(0, 2, rows)
    u, v = np.meshgrid(np.arange(4), np.arange(4), indexing="ij")
    count = (side // 4) ** 2
    turned = rng.integers(0, 2, (rows, count))
    turned[:, rng.integers(0, count)] = y
    along = np.where(turned[:, :, None, None] == 1, u + v, u - v)
    tiles = np.sin(1.2 * along + rng.uniform(0, 2 * np.pi, (rows, count, 1, 1)))
    tiles = tiles.reshape(rows, side // 4, side // 4, 4, 4).swapaxes(2, 3)
    return Case(
        tiles.reshape(rows, side, side) + 0.3 * rng.normal(size=(rows, side, side)), y, "image"
    )


def permuted(case: Case, rng: np.random.Generator) -> Case:
    """A case with one random order of the numbers of all its rows."""
    flat = case.x.reshape(len(case.x), -1)
    order = rng.permutation(flat.shape[1])
    return dataclasses.replace(case, x=flat[:, order].reshape(case.x.shape))


def linear_scores(rng: np.random.Generator, rows: int = 4000, length: int = 80) -> Case:
    """A regression: a random linear function of Gaussian rows, and noise."""
    x = rng.normal(size=(rows, length))
    scores = x @ rng.normal(size=length) / np.sqrt(length)
    return Case(x, scores + 0.5 * rng.normal(size=rows))


def linear_subjects(rng: np.random.Generator, rows: int = 4000, length: int = 60) -> Case:
    """Rows of forty subjects, each with an offset of its own, labelled by a linear function."""
    subject = rng.integers(0, 40, rows)
    x = 0.3 * rng.normal(size=(40, length))[subject] + rng.normal(size=(rows, length))
    return Case(x, x @ rng.normal(size=length) > 0, groups=subject)


OPEN_HALF: dict[str, Truth] = {
    "moving signal, 8 x 8": Truth(lambda r: patches(r, 8, 8, 0.3), (CONV,)),
    "moving signal, 12 x 10": Truth(lambda r: patches(r, 12, 10, 0.3), (CONV,)),
    "moving signal, 20 x 10": Truth(lambda r: patches(r, 20, 10, 0.22), (CONV,)),
    "moving signal, 12 x 10, permuted": Truth(
        lambda r: patches(r, 12, 10, 0.3, permuted=True), (NEITHER,)
    ),
    "fixed signal": Truth(lambda r: patches(r, 12, 10, 0.3, moving=False), (NEITHER,)),
    "even pattern, moving": Truth(lambda r: even_patterns(r, 128, 0.1, True), (CONV,)),
    "even pattern, fixed": Truth(lambda r: even_patterns(r, 128, 0.3, False), (LOCAL,)),
    "even pattern, moving, permuted": Truth(
        lambda r: even_patterns(r, 128, 0.1, True, permuted=True), (NEITHER,)
    ),
    "chirps": Truth(chirps, (CONV,)),
    "gratings": Truth(gratings, (CONV,)),
    "gratings, 8 x 8": Truth(lambda r: gratings(r, side=8), (CONV,)),
    "products of neighbours": Truth(lambda r: products(r, True), (LOCAL,)),
    "products far apart": Truth(lambda r: products(r, False), (NEITHER,)),
    "linear teacher": Truth(linear, (NEITHER,)),
    "dense teacher": Truth(dense, (NEITHER,)),
    "energy": Truth(energy, (NEITHER, OPEN)),
    "nothing": Truth(nothing, (NEITHER, OPEN)),
    "bump, regression": Truth(bump, (CONV,)),
    "burst in 3 %": Truth(lambda r: burst(r, 0.03), (CONV,)),
    "burst in 10 %": Truth(lambda r: burst(r, 0.10), (CONV,)),
    "subjects that leak": Truth(leaking, (CONV,)),
    "table": Truth(table, (NEITHER,)),
    "five classes": Truth(many_classes, (CONV,)),
}
BLIND_HALF: dict[str, Truth] = {
    "moving signal, 300 rows": Truth(lambda r: patches(r, 12, 10, 0.2, rows=300), (CONV, OPEN)),
    "moving signal, 10 000 rows": Truth(lambda r: patches(r, 15, 8, 0.3, rows=10_000), (CONV,)),
    "moving signal, 20 x 10, permuted": Truth(
        lambda r: patches(r, 20, 10, 0.22, permuted=True), (NEITHER,)
    ),
    "even pattern, length 131": Truth(lambda r: even_patterns(r, 131, 0.1, True), (CONV,)),
    "even pattern, fixed, permuted": Truth(
        lambda r: even_patterns(r, 128, 0.3, False, permuted=True), (NEITHER,)
    ),
    "linear teacher, 300 rows": Truth(lambda r: linear(r, 300, 40), (NEITHER, OPEN)),
    "burst in 5 %, length 160": Truth(lambda r: burst(r, 0.05, length=160), (CONV,)),
    "dense teacher, 60 columns": Truth(lambda r: dense(r, length=60), (NEITHER,)),
    "products far apart, 40": Truth(lambda r: products(r, False, length=40, pairs=5), (NEITHER,)),
    "products of neighbours, 40": Truth(lambda r: products(r, True, length=40, pairs=5), (LOCAL,)),
    "bump of 3000 rows": Truth(lambda r: bump(r, 3000, 120), (CONV,)),
    "table of 600 rows": Truth(lambda r: table(r, 600, 16), (NEITHER, OPEN)),
    "nothing, 500 rows": Truth(lambda r: nothing(r, 500, 30), (NEITHER, OPEN)),
    "moving signal, 30 x 5": Truth(lambda r: patches(r, 30, 5, 0.18), (CONV,)),
    "gratings, 20 x 20": Truth(lambda r: gratings(r, side=20), (CONV,)),
    "gratings, permuted": Truth(lambda r: permuted(gratings(r), r), (NEITHER, OPEN)),
    "gratings, fixed": Truth(fixed_gratings, (LOCAL,)),
    "pattern in one of two channels": Truth(two_channels, (CONV,)),
    "five classes, permuted": Truth(lambda r: permuted(many_classes(r), r), (NEITHER,)),
    "linear teacher, regression": Truth(linear_scores, (NEITHER,)),
    "linear teacher, subjects": Truth(linear_subjects, (NEITHER,)),
}
TRUTHS = OPEN_HALF | BLIND_HALF


def case_of(name: str, seed: int) -> tuple[Case, Truth]:
    """A case of a truth, by its name."""
    if name not in TRUTHS:
        raise UnknownNameError("truth", name, TRUTHS)
    code = [seed, *name.encode()]
    return TRUTHS[name].make(np.random.default_rng(code)), TRUTHS[name]


def as_input(case: Case) -> dict[str, Any]:
    """A case as the arguments of `diagnose`."""
    return {"x": case.x, "y": case.y, "kind": case.kind, "groups": case.groups}
