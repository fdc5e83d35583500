"""The trials of the study of open questions: the task with its variants, networks and learners, the
floors beside which risks are judged, tuning, and one search per threshold.
"""

import dataclasses
import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, UInt32

from separatrix.engine import Lab, Measure, Trial
from separatrix.errors import ParameterError
from separatrix.inference import SearchPlan
from separatrix.learners import Learner, Ramp
from separatrix.networks import CNN, FCN, LCN, LSA, Initial, Network
from separatrix.spec import rounded_constant, size, value
from separatrix.streams import draw, laplace, level, named, normal, sign, uniform
from separatrix.studies.search import Query, SearchResult, find_thresholds
from separatrix.studies.signal.settings import NETWORKS
from separatrix.studies.signal.trials import SignalRecipe, signal_learner, signal_network
from separatrix.studies.signal_open.settings import (
    MOST_SIGNALS,
    STARTS,
    VARIANTS,
    OpenCell,
    OpenSettings,
)
from separatrix.studies.study import seeds_from
from separatrix.studies.tuning import Choice, Tunable, tune_all
from separatrix.tasks import Sample, SignalTask, Task
from separatrix.theory.signal import true_signal_risk

PROBES = ("risk", "train_risk")
LAWS = {"gaussian": normal, "laplace": laplace, "uniform": level, "sign": sign}
DEEP_WIDTH = 4  # filters per patch in each of two layers; the FCN has as many units as the LCN
DEEP_BIAS = 0.25  # half of the one layer's: the signal passes two thresholds
RELU_WIDTH = 4
COMMON_RATE = 0.3  # of the FCN's base rate under common noise, at which it diverges otherwise
SPARSITY = 0.1  # the ℓ1 penalty, as a share of the noise that a coordinate's gradient has
FLOOR_ROWS = 100_000
FLOOR_BLOCK = 1_000  # rows that share one draw of the signal


class VariantTask(Task):
    """The signal task with every variant as a number, so that trials of different variants share
    their compiled programs.

    `signals` (1 to 3), `product` (1: the label is the product of two signs), `law` (which noise, by
    its place among gaussian, laplace, uniform, sign), `unevenness`, `dependence` and `still` (1: a
    fixed position) mean what they mean in `SignalTask`, whose rows these are bit by bit (tested).
    With `narrow` every second patch has two thirds of the dimensions; its signal is that part of
    w*, scaled to norm 1.

    >>> VariantTask(4, 3, 0.3, law=1, unevenness=0.5).plain().distribution
    'laplace'
    """

    patches: int = size(low=1)
    dimension: int = size(low=1)
    noise: float = value(low=0, open_low=True)
    signals: int = value(low=1, high=MOST_SIGNALS, integer=True, default=1)
    product: int = value(low=0, high=1, integer=True, default=0)
    law: int = value(low=0, high=len(LAWS) - 1, integer=True, default=0)
    unevenness: float = value(low=0, high=1, default=0.0)
    dependence: float = value(low=0, high=1, default=0.0)
    still: int = value(low=0, high=1, integer=True, default=0)
    narrow: int = value(low=0, high=1, integer=True, default=0)

    def check(self) -> None:
        if self.patches < MOST_SIGNALS:
            raise ParameterError("VariantTask", "patches", f"at least {MOST_SIGNALS}", self.patches)
        if self.product and self.signals != 2:
            raise ParameterError(
                "VariantTask", "signals", "2 when the label is a product", self.signals
            )

    @property
    def shape(self) -> tuple[int, int]:
        return (self.patches, self.dimension)

    def plain(self) -> SignalTask:
        """The same distribution as the package's own task, which has no narrow patches."""
        if self.narrow:
            raise ParameterError("SignalTask", "narrow", "0: its patches are alike", self.narrow)
        return SignalTask(
            self.patches,
            self.dimension,
            self.noise,
            position="fixed" if self.still else "random",
            signals=self.signals,
            label="product" if self.product else "sign",
            distribution=tuple(LAWS)[self.law],
            unevenness=self.unevenness or None,
            dependence=self.dependence or None,
        )

    def truth(self, key: Key[Array, ""], within: Any = None) -> Float[Array, " channels"]:
        frame = within or self
        raw = draw(normal, key, (frame.dimension,)) * (jnp.arange(frame.dimension) < self.dimension)
        return raw / jnp.linalg.norm(raw)

    def direction(self, truth: Float[Array, " channels"]) -> Float[Array, " channels"]:
        return truth

    def draw(self, key: Key[Array, ""], rows: int, truth: Any, within: Any = None) -> Sample:
        frame = within or self
        patch = jnp.arange(frame.patches)
        here = jnp.arange(MOST_SIGNALS) < self.signals
        signs = draw(sign, named(key, "signs"), (rows, MOST_SIGNALS))
        y = jnp.where(self.product == 1, signs[:, 0] * signs[:, 1], signs[:, 0])
        strength = jnp.where(self.product == 1, signs, y[:, None]) * here
        places = self._places(named(key, "places"), rows, frame)
        signal = ((places[:, :, None] == patch) * strength[:, :, None]).sum(1)  # (rows, patches)

        noise = draw(self._noise, named(key, "noise"), (rows, frame.patches, frame.dimension))
        common = draw(self._noise, named(key, "common"), (rows, frame.dimension))[:, None, :]
        noise = jnp.sqrt(1.0 - self.dependence) * noise + jnp.sqrt(1.0 * self.dependence) * common
        tilt = 2.0 * patch / jnp.maximum(self.patches - 1, 1) - 1.0
        short = (self.narrow == 1) & (patch % 2 == 1)
        width = jnp.where(short, jnp.maximum(2 * self.dimension // 3, 1), self.dimension)
        inside = (patch < self.patches)[:, None] & (jnp.arange(frame.dimension) < width[:, None])
        norm = jnp.sqrt(jnp.maximum((truth**2 * inside).sum(1), 1e-12))
        signal = signal * jnp.where(short, 1.0 / norm, 1.0)
        spread = jnp.sqrt(jnp.maximum(1.0 + self.unevenness * tilt, 0.0))
        # Left to itself a GPU's compiler folds these small arrays, one by one, into the large one
        # and takes half a minute for it.
        signal, spread, inside = jax.lax.optimization_barrier((signal, spread, inside))
        noise = noise * spread[:, None]
        return Sample((self.noise * noise + signal[:, :, None] * truth) * inside, y)

    def _noise(self, bits: UInt32[Array, "..."]) -> Float[Array, "..."]:
        return jax.lax.select_n(
            jnp.asarray(self.law, jnp.int32), *(sampler(bits) for sampler in LAWS.values())
        )

    def _places(self, key: Key[Array, ""], rows: int, frame: Any) -> Any:
        """The patches that carry the signals, computed as SignalTask does: a uniform one, or those
        of the largest scores.
        """
        scores = draw(uniform, key, (rows, frame.patches))
        one = jnp.minimum((scores[:, :1] * self.patches).astype(jnp.int32), self.patches - 1)
        several = jax.lax.top_k(
            jnp.where(jnp.arange(frame.patches) < self.patches, scores, -1.0), MOST_SIGNALS
        )[1]
        # With one signal only the first place has a strength.
        return jnp.where(self.signals == 1, one, several) * (1 - self.still)


def variant_task(variant: str, patches: int, dimension: int, noise: float) -> VariantTask:
    """The task of a variant.

    >>> variant_task("two", 5, 6, 0.3).signals
    2
    """
    return VariantTask(patches, dimension, noise, **VARIANTS[variant].changes)


def sparsity_level(patches: int, dimension: int, noise: float, samples: int) -> float:
    """The ℓ1 penalty: a share of σ√(2 ln(kd)/m)/2, the largest of kd coordinates of pure noise in
    the gradient of a unit at the start.

    >>> sparsity_level(10, 10, 0.3, 400) < sparsity_level(10, 10, 0.3, 100)
    True
    """
    return rounded_constant(
        SPARSITY * noise * math.sqrt(2 * math.log(max(patches * dimension, 2)) / samples) / 2
    )


@functools.lru_cache(maxsize=4096)
def open_network(variant: str, network: str, patches: int, bias: float) -> Network:
    """The network of a threshold: the paper's; of two hidden layers; or, for the product, with ReLU
    and a trained readout.

    >>> open_network("plain", "FCN from CNN", 5, 0.5).start.connectivity
    'shared'
    """
    if network in STARTS:
        full = signal_network("FCN", patches, bias)
        # The start differs in where it points, not in how long it is: a filter begins with the norm
        # that the FCN's units begin with.
        inner = signal_network("CNN", patches, bias).replace(initial=full.initial)
        return full.replace(start=inner) if network == "FCN from CNN" else full
    options: dict[str, Any]
    if variant == "depth-two":
        options = {
            "activation": LSA(DEEP_BIAS),
            "readout": "sum",
            "bias": False,
            "depth": 2,
            "initial": Initial("directions", scale=0.5),
        }
        width = DEEP_WIDTH
    elif variant == "product":
        options = {"offset": True, "readout": "pooled" if network == "CNN" else "positions"}
        width = RELU_WIDTH
    else:
        return signal_network(network, patches, bias)
    if network == "FCN":
        return FCN(width=width * patches, **options)
    return (CNN if network == "CNN" else LCN)(field=1, width=width, **options)


@functools.lru_cache(maxsize=4096)
def open_learner(
    variant: str, network: str, patches: int, steps: int, bias: float, rate: float
) -> Learner:
    """Gradient descent on the logistic loss of the whole batch; `rate` is a factor on the base
    rate.

    Base rates: those of the study `signal` for the paper's networks (and 3k for the FCN that starts
    inside the CNN), a tenth of the CNN's, times k for LCN and FCN, with two layers, 1 for the
    product's; Adam's is 0.03. With ℓ1 the factor is on the penalty (see `open_trial`), not on the
    rate.

    >>> open_learner("depth-two", "LCN", 10, 100, 0.5, 1.0).rate
    Constant(level=3.0)
    """
    if variant == "depth-two":
        base = 0.3 * (1 if network == "CNN" else patches)
        return Learner(
            rate=base * rate, steps=steps, projection="ball", lsa_bias=Ramp(0.0, DEEP_BIAS)
        )
    if variant == "product":
        return Learner(rate=rate, steps=steps)
    if network == "FCN by Adam":
        return Learner(
            rate=0.03 * rate,
            steps=steps,
            optimizer="adam",
            projection="ball",
            lsa_bias=Ramp(0.0, bias),
        )
    factor = 1.0 if network == "FCN with ℓ1" else rate
    if (variant, network) == ("dependent", "FCN"):
        factor *= COMMON_RATE
    return signal_learner(
        "FCN" if network in STARTS else network,
        patches,
        steps,
        SignalRecipe(rate=factor, bias=bias),
    )


@functools.lru_cache(maxsize=4096)
def _task(variant: str, patches: int, dimension: int, noise: float) -> VariantTask:
    return variant_task(variant, patches, dimension, noise)


@functools.lru_cache(maxsize=64)
def _measure(test: int) -> Measure:
    return Measure(PROBES, test=test)


@functools.lru_cache(maxsize=4096)
def _sparse(learner: Learner, level: float) -> Learner:
    return learner.replace(sparsity=level)


def open_trial(s: OpenSettings, cell: OpenCell, rate: float, samples: int, seed: int) -> Trial:
    """One trial of the study.

    >>> open_trial(OpenSettings(), OpenCell("laplace", "CNN", 5), 1.0, 8, 0).task.law
    1
    """
    steps = s.product.steps if cell.variant == "product" else s.steps
    network = open_network(cell.variant, cell.network, cell.patches, s.bias)
    learner = open_learner(cell.variant, cell.network, cell.patches, steps, s.bias, rate)
    if cell.network == "FCN with ℓ1":
        learner = _sparse(
            learner, rate * sparsity_level(cell.patches, s.dimension, s.noise, samples)
        )
    noise = s.noise_of(cell.variant, cell.patches)
    task = _task(cell.variant, cell.patches, s.dimension_of(cell.variant), noise)
    return Trial(task, network, learner, samples, seed, _measure(s.test))


@dataclasses.dataclass(frozen=True)
class Floor:
    """The floor of a variant, its standard error (0 where it is exact), and the best linear rule's
    risk where one learns it.
    """

    risk: float
    error: float
    linear: float
    rule: str


def floor_of(lab: Lab, s: OpenSettings, variant: str, patches: int) -> Floor:
    """The floor of a variant at a cell, computed once for its parameters.

    It is the risk of Σ φ_b(<w*, x_i>), the network that knows the signal; for the product, which
    that network cannot express, the Bayes rule's.
    """
    noise = s.noise_of(variant, patches)
    parameters = {
        "variant": variant,
        "patches": patches,
        "dimension": s.dimension_of(variant),
        "noise": noise,
        "bias": s.bias,
        "rows": FLOOR_ROWS,
    }
    risks = lab.remember("variant-floor", parameters, lambda: simulate_floor(**parameters))
    rule = "the Bayes rule" if variant == "product" else "the network that knows the signal"
    if variant in ("plain", "one", "depth-two", "dimensions"):
        return Floor(true_signal_risk(patches, noise, s.bias), 0.0, risks["linear"], rule)
    return Floor(risks["risk"], risks["error"], risks["linear"], rule)


def simulate_floor(
    variant: str, patches: int, dimension: int, noise: float, bias: float, rows: int
) -> dict[str, float]:
    """Risks on a fixed sample of the variant, drawn with NumPy (not with the code that draws the
    trials' rows).

    >>> risks = simulate_floor("plain", 8, 6, 0.3, 0.5, rows=20_000)
    >>> abs(risks["risk"] - true_signal_risk(8, 0.3, 0.5)) < 5 * risks["error"]
    True
    """
    rng = np.random.default_rng(20240315)
    wrong, linear = 0.0, 0.0
    for _ in range(rows // FLOOR_BLOCK):
        inner, y = _projections(rng, variant, patches, dimension, noise)
        if VARIANTS[variant].changes.get("product"):
            # The likelihoods given ±1 are sums over pairs of cosh(a_i ± a_j), whose difference is
            # the sum of sinh(a_i)·sinh(a_j).
            tilt = np.sinh(inner / noise**2)
            score = tilt.sum(1) ** 2 - (tilt**2).sum(1)
        else:
            score = (inner - np.clip(inner, -bias, bias)).sum(1)
        wrong += _errors(score, y)
        linear += _errors(inner.sum(1), y)
    risk = wrong / rows
    return {
        "risk": risk,
        "error": math.sqrt(max(risk * (1 - risk), 1 / rows) / rows),
        "linear": linear / rows,
    }


def _errors(score: np.ndarray, y: np.ndarray) -> float:
    return float((0.5 * (1 - np.sign(score * y))).sum())


def _projections(
    rng: np.random.Generator, variant: str, patches: int, dimension: int, noise: float
) -> tuple[np.ndarray, np.ndarray]:
    """<w*, x_i> of every patch for a block of rows with one random w*, and the labels."""
    changes: dict[str, Any] = VARIANTS[variant].changes
    signals, share = changes.get("signals", 1), changes.get("dependence", 0.0)
    law = tuple(LAWS)[changes.get("law", 0)]
    truth = rng.standard_normal(dimension)
    truth /= np.linalg.norm(truth)

    def drawn(*shape: int) -> np.ndarray:
        match law:
            case "gaussian":
                return rng.standard_normal(shape)
            case "laplace":
                return rng.laplace(scale=math.sqrt(0.5), size=shape)
            case "uniform":
                return rng.uniform(-math.sqrt(3.0), math.sqrt(3.0), shape)
            case _:
                return rng.choice([-1.0, 1.0], shape)

    own = drawn(FLOOR_BLOCK, patches, dimension) @ truth
    inner = (
        math.sqrt(1 - share) * own
        + math.sqrt(share) * (drawn(FLOOR_BLOCK, dimension) @ truth)[:, None]
    )
    tilt = 2.0 * np.arange(patches) / max(patches - 1, 1) - 1.0
    inner = noise * inner * np.sqrt(1 + changes.get("unevenness", 0.0) * tilt)
    places = rng.permuted(np.tile(np.arange(patches), (FLOOR_BLOCK, 1)), axis=1)[:, :signals]
    places = places * (1 - changes.get("still", 0))
    signs = rng.choice([-1.0, 1.0], (FLOOR_BLOCK, signals))
    product = bool(changes.get("product"))
    y = signs.prod(1) if product else signs[:, 0]
    inner[np.arange(FLOOR_BLOCK)[:, None], places] += signs if product else y[:, None]
    return inner, y


Floors = dict[tuple[str, int], Floor]
Choices = dict[tuple[str, str], Choice[float]]


def measure_floors(lab: Lab, s: OpenSettings) -> Floors:
    """The floor of every variant at every number of patches."""
    return {
        pair: floor_of(lab, s, *pair)
        for pair in dict.fromkeys((cell.variant, cell.patches) for cell in s.wanted())
    }


def target_of(s: OpenSettings, floor: Floor, variant: str) -> float:
    """The risk that counts as success: the floor plus the margin.

    >>> round(target_of(OpenSettings(), Floor(0.04, 0.0, 0.1, ""), "uneven"), 2)
    0.09
    """
    return floor.risk + s.margin_of(variant)


def open_plan(s: OpenSettings, cell: OpenCell) -> SearchPlan:
    """The range and precision of a search, and where it begins: rough multiples of the paper's
    laws, which decide nothing else.

    Local networks cannot express the product, so theirs begins at the largest size.

    >>> open_plan(OpenSettings(), OpenCell("product", "CNN", 8)).start
    2048.0
    """
    k, d = cell.patches, s.dimension_of(cell.variant)
    local = cell.variant == "product" and cell.network != "FCN"
    largest = s.product.largest if cell.variant == "product" else s.largest
    scale = {"CNN": 1.0 * (k + d), "LCN": 0.8 * k * (k + d)}.get(cell.network, 6.0 * k * k * d)
    least = (
        2 if local else s.least[NETWORKS.index(cell.network) if cell.network in NETWORKS else -1]
    )
    noise = s.noise_of(cell.variant, k)
    start = largest if local else min(max(noise**2 * scale * 4, 4.0, least), largest)
    return SearchPlan(
        minimum=least, maximum=largest, width=s.width, max_trials=s.trials, start=float(start)
    )


def open_query(s: OpenSettings, cell: OpenCell, target: float, chosen: Choice[float]) -> Query:
    """How a threshold is searched.

    >>> query = open_query(OpenSettings(), OpenCell("uneven", "LCN", 5), 0.1, Choice(1.0, {}))
    >>> query.trial(16, 0).samples
    16
    """
    return Query(
        lambda samples, seed: open_trial(s, cell, chosen.option, samples, seed),
        lambda row: row["risk"] <= target,
        open_plan(s, cell),
        seeds_from(s.seed, 1)[0],
    )


def tune_open(lab: Lab, s: OpenSettings, floors: Floors) -> Choices:
    """The learning rate of every variant and network, chosen at its first cell from one grid, on
    seeds that no result uses.
    """
    learners: dict[tuple[str, str], Tunable[float]] = {}
    for cell in s.wanted():
        learners.setdefault(
            (cell.variant, cell.network),
            _tunable(s, cell, target_of(s, floors[cell.variant, cell.patches], cell.variant)),
        )
    return tune_all(
        lab,
        learners,
        s.tune.rates,
        seeds_from(s.seed, s.tune.seeds, purpose=1),
        s.tune.factors,
        s.round,
    )


def _tunable(s: OpenSettings, cell: OpenCell, target: float) -> Tunable[float]:
    def trial(rate: float, samples: int, seed: int) -> Trial:
        return open_trial(s, cell, rate, samples, seed)

    return Tunable(trial, lambda row: row["risk"] <= target, open_plan(s, cell))


def measure_open(
    lab: Lab, s: OpenSettings, floors: Floors, tuned: Choices
) -> dict[OpenCell, SearchResult]:
    """Every threshold of the study."""
    queries = {}
    for cell in s.wanted():
        target = target_of(s, floors[cell.variant, cell.patches], cell.variant)
        queries[cell] = open_query(s, cell, target, tuned[cell.variant, cell.network])
    return find_thresholds(lab, queries, "thresholds", s.round, PROBES)
