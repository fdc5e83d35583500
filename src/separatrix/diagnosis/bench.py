"""The bench: runs units (an arm, a field, a sample size, a split) until the time is up, and
remembers them.
"""

import dataclasses
import math
import threading
import time
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from separatrix.data.labelled import Labelled, batches, moments
from separatrix.diagnosis.data_splits import Sizes, Split, sizes_of, split_rows
from separatrix.diagnosis.networks import Net, Weights, initial
from separatrix.diagnosis.settings import REVISION, Settings
from separatrix.diagnosis.sights import Sight, controlled, is_deep, sight, whole
from separatrix.diagnosis.training import Rows, train
from separatrix.diagnosis.widths import COSTS, cost_of, full_width, matched
from separatrix.engine import Lab
from separatrix.engine.plan import cores
from separatrix.engine.programs import compiled, use_compilation_cache

KEPT = 4  # splits whose trained networks are kept for explanations


class Arm(NamedTuple):
    """A network under a control: "" (none), "pixels", "patches" or "labels"; or of the width at
    which it costs what the shared one costs: "parameters" or "products".

    >>> str(Arm("shared", "pixels"))
    'shared, pixels permuted'
    """

    network: str
    control: str = ""

    def __str__(self) -> str:
        words = {
            "pixels": ", pixels permuted",
            "patches": ", patches permuted",
            "labels": ", labels shuffled",
        }
        words |= {cost: f", {cost} matched" for cost in COSTS}
        return self.network + words.get(self.control, "")


FULL, LOCAL, SHARED = Arm("full"), Arm("local"), Arm("shared")
LOCAL_PIXELS, SHARED_PIXELS = Arm("local", "pixels"), Arm("shared", "pixels")
SHARED_PATCHES, SHUFFLED = Arm("shared", "patches"), Arm("shared", "labels")


class Unit(NamedTuple):
    """One training: an arm with a receptive field, on the first `size` training rows of a split.

    >>> Unit(SHARED, 5, 100, 0).size
    100
    """

    arm: Arm
    field: int
    size: int
    split: int


@dataclasses.dataclass(frozen=True)
class Result:
    """What a unit came to: its accuracy, and the outcome on every test row (1 or 0, or the share of
    variance explained there).

    >>> Result(0.5, np.array([1.0, 0.0]), 0.01, 40, 0.6).check
    0.6
    """

    accuracy: float
    rows: np.ndarray
    rate: float
    steps: int
    check: float


class Bench:
    """Runs units on a data set, on all cores, until a deadline; finished units are read back from
    the lab.

    >>> from separatrix.data.labelled import as_labelled
    >>> data = as_labelled(np.random.default_rng(0).normal(size=(60, 8)), np.arange(60) % 2)
    >>> bench = Bench(data, Settings(recipe=Settings().recipe._replace(steps=8, looks=2)), Lab())
    >>> bench.run([Unit(FULL, 0, 20, 0)])
    >>> len(bench.results)
    1
    """

    def __init__(self, data: Labelled, settings: Settings, lab: Lab, begin: float | None = None):
        settings = settings.suited(is_deep(data.shape))
        self.data, self.settings, self.lab = data, settings, lab
        self.sizes: Sizes = sizes_of(len(data), settings)
        self.results: dict[Unit, Result] = {}
        # Where receptive fields are compared: the pilot's results, if sizes changed after it.
        self.tried, self.tried_size = self.results, self.sizes.learn
        now = time.monotonic()
        self.begin = now if begin is None else begin
        # On a busy machine the page takes longer, as did all that came before.
        self._page = max(
            min(1.5, 0.1 * settings.budget), min(0.6 * (now - self.begin), 0.15 * settings.budget)
        )
        self.ended = False  # whether the budget stopped something
        self.spare = (
            min(3.0, 0.05 * settings.budget) if settings.explain else 0.0
        )  # seconds that the verdict leaves to its explanations
        self.params: dict[
            Unit, Weights
        ] = {}  # of plain networks at the largest size, as far as they were trained here
        self._programs: dict[Any, Any] = {}
        self._guard, self._locks = threading.Lock(), {}
        self._seconds: dict[tuple[str, int], float] = {}
        self._pace: dict[Any, float] = {}
        self._compiling = 0.0
        self._splits: dict[int, Split] = {}
        self._rows: dict[int, tuple[Rows, Rows, Rows]] = {}
        self.labels = data.labels.astype(np.float32)
        if not data.classes:
            self.labels = (self.labels - self.labels.mean()) / max(float(self.labels.std()), 1e-12)
        use_compilation_cache()

    @property
    def left(self) -> float:
        """Seconds until the deadline; a little is kept for the page."""
        return self.begin + 0.97 * self.settings.budget - self._page - time.monotonic()

    @property
    def threads(self) -> int:
        """How many trainings run at once."""
        return max(1, self.lab.workers or cores())

    @property
    def pilot_share(self) -> float:
        """The share of the budget that the choice of a receptive field may take; two layers cost
        more, and the field matters less to them.
        """
        return 0.15 if is_deep(self.data.shape) else 0.3

    def pace(self, arm: Arm, field: int) -> float | None:
        """Seconds of a training for every step between two looks; None where none was run."""
        return self._pace.get(self._kind(Unit(arm, field, 0, 0)))

    def restart(self, settings: Settings) -> None:
        """Go on with other sizes: splits are drawn anew, and what was run is set aside in `tried`."""
        self.tried, self.tried_size = dict(self.results), self.sizes.learn
        self.settings, self.sizes = settings, sizes_of(len(self.data), settings)
        for each in (self.results, self.params, self._programs, self._splits, self._rows):
            each.clear()

    def split(self, number: int) -> Split:
        """The rows of a split."""
        if number not in self._splits:
            self._splits[number] = split_rows(
                self.data.duplicate_groups, self.sizes, self.settings.seed, number
            )
        return self._splits[number]

    def sight(self, arm: Arm, field: int, split: int = 0) -> Sight:
        """What the windows of an arm see in a split: controls draw another order for every split."""
        if arm.network == "full":
            return whole(self.data.shape)
        pixels = math.prod(self.data.shape[:-1])
        return controlled(
            sight(self.data.shape, field),
            arm.control,
            pixels,
            np.random.default_rng([self.settings.seed, split, 13]),
        )

    def net(self, arm: Arm, field: int) -> Net:
        """The network of an arm; the full one has as many units as cost what the local one's
        windows cost.
        """
        outputs, channels = max(1, len(self.data.classes)), self.data.shape[-1]
        for cost in COSTS:
            if arm.control == cost:
                target = cost_of(self.net(SHARED, field), self.sight(SHARED, field), channels, cost)
                return matched(
                    self.net(Arm(arm.network), field),
                    self.sight(arm, field),
                    target,
                    channels,
                    cost,
                )
        width, counts = self.settings.width, self.sight(arm, field).counts
        if arm.network != "full":
            return Net(
                arm.network == "shared",
                width,
                outputs,
                self.settings.growth * width if counts else 0,
                counts,
            )
        width = full_width(self.data.shape, width, self.settings.growth)
        return Net(False, width, outputs, width if counts else 0, counts)

    def run(self, units: Iterable[Unit], share: float = 1.0, ending: bool = True) -> None:
        """Run the units that have no result yet, in order, as far as the time allows: all that is
        left of it, or up to a share of the budget.

        With `ending`, work that the time did not allow is said to have been ended by the budget.
        """
        reserve = (1 - share) * self.settings.budget if share < 1.0 else self.spare
        expected = self._expected if share < 1.0 else self.careful
        queue = [unit for unit in dict.fromkeys(units) if unit not in self.results]
        threads = self.threads
        with ThreadPoolExecutor(threads, "diagnose") as pool:
            going: dict[Future[Result], Unit] = {}
            while queue or going:
                while queue and len(going) < threads:
                    # What would not be finished in time is passed over: others may be cheaper.
                    unit = next(
                        (each for each in queue if expected(each) <= self.left - reserve), None
                    )
                    if unit is None:
                        self.ended, queue = self.ended or (ending and share == 1.0), []
                        break
                    queue.remove(unit)
                    going[pool.submit(self._one, unit)] = unit
                done, _ = wait(going, return_when=FIRST_COMPLETED)
                for future in done:
                    self.results[going.pop(future)] = future.result()
                if self.lab.progress is not None:
                    spent = time.monotonic() - self.begin
                    self.lab.progress(
                        "diagnosis (seconds of the budget)",
                        round(min(spent, self.settings.budget)),
                        round(self.settings.budget),
                    )

    def _expected(self, unit: Unit) -> float:
        # Before anything has run nothing is known, and the first unit is tried; a new program has
        # to be compiled first.
        known = self._seconds.get((unit.arm.network, unit.field))
        return (
            1.2 * known
            if known is not None
            else self._compiling + max(self._seconds.values(), default=0.0)
        )

    def careful(self, unit: Unit) -> float:
        """Seconds that a unit may take, with its program where that is not compiled yet; unlike in
        the pilot, sizes are told apart.
        """
        pace = self._pace.get(self._kind(unit))
        if pace is not None:
            return 1.3 * pace * float(self._every(unit.size))
        return self._compiling + max(self._seconds.values(), default=0.0)

    def _kind(self, unit: Unit) -> tuple[str, str, int]:
        """What units with the same program have in common."""
        return unit.arm.network, unit.arm.control if unit.arm.control in COSTS else "", unit.field

    def parameters(self, unit: Unit) -> dict[str, Any]:
        """What a unit is, as plain values: the name under which it is remembered."""
        s = self.settings
        field = (
            0 if unit.arm == FULL else unit.field
        )  # a full network sees everything, but its matched width follows the windows
        deep = {"second": s.growth} if is_deep(self.data.shape) else {}
        return deep | {
            "revision": REVISION,
            "data": self.data.digest,
            "arm": list(unit.arm),
            "field": field,
            "size": unit.size,
            "split": unit.split,
            "seed": s.seed,
            "width": s.width,
            "rows": [*self.sizes[:3]],
            "recipe": [*s.recipe[:3], *s.recipe.rates],
        }

    def _one(self, unit: Unit) -> Result:
        plain = self.lab.remember("diagnose", self.parameters(unit), lambda: self._trained(unit))
        rows = np.array(
            [int(each) for each in plain["rows"]]
            if isinstance(plain["rows"], str)
            else plain["rows"],
            float,
        )
        return Result(plain["accuracy"], rows, plain["rate"], plain["steps"], plain["check"])

    def _trained(self, unit: Unit) -> dict[str, Any]:
        view, net = self.sight(unit.arm, unit.field, unit.split), self.net(unit.arm, unit.field)
        learn, check, test = self.rows(unit.split)
        if unit.arm.control == "labels":
            rng = np.random.default_rng([self.settings.seed, unit.split, 14])
            learn, check = (part._replace(y=_shuffled(part, rng)) for part in (learn, check))
        learn = learn._replace(count=np.int32(min(unit.size, int(learn.count))))
        rng = np.random.default_rng([self.settings.seed, unit.split, 15])
        start = initial(
            net, len(view.places), view.places.shape[1] * self.data.shape[-1], len(view.pool), rng
        )
        order = rng.integers(
            0,
            int(learn.count),
            (self.settings.recipe.steps + self.settings.recipe.looks, self.settings.recipe.batch),
            np.int32,
        )
        given = (start, order, view.places, view.pool, self._every(unit.size), learn, check, test)
        program = self._program(net, given)
        begin, key = time.monotonic(), (unit.arm.network, unit.field)
        out = jax.device_get(program(*given))
        took, kind = time.monotonic() - begin, self._kind(unit)
        self._seconds[key] = max(took, 0.5 * self._seconds.get(key, 0.0))
        self._pace[kind] = max(
            took / float(self._every(unit.size)), 0.7 * self._pace.get(kind, 0.0)
        )
        if not unit.arm.control and unit.size == self.sizes.ladder[-1] and unit.split < KEPT:
            self.params[unit] = Weights(*out["params"])
        count = int(test.count)
        found = out["rows"][:count]
        rows: Any = (
            "".join("1" if each > 0.5 else "0" for each in found)
            if self.data.classes
            else [round(float(each), 6) for each in found]
        )
        return {
            "accuracy": float(out["accuracy"]),
            "check": float(out["check"]),
            "rate": round(float(out["rate"]), 9),
            "steps": int(out["steps"]),
            "rows": rows,
        }

    def weights(self, unit: Unit) -> Weights | None:
        """The trained weights of a plain network at the largest size; trained again where only its
        result is known, None without time for that.
        """
        if unit not in self.params and self.careful(unit) <= self.left:
            self._trained(unit)
        return self.params.get(unit)

    def _every(self, size: int) -> np.int32:
        """Steps between two looks: fewer rows need fewer steps."""
        recipe = self.settings.recipe
        return np.int32(
            max(1, round(recipe.steps / recipe.looks * math.sqrt(size / self.sizes.ladder[-1])))
        )

    def _program(self, net: Net, given: tuple[Any, ...]) -> Any:
        key = net, given[2].shape
        with self._guard:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._programs:
                recipe, begin = self.settings.recipe, time.monotonic()
                lowered = jax.jit(partial(train, net, recipe)).lower(*given)
                # A GPU spends most of a short budget on trying ways to write products; a CPU's
                # programs are as they were in the proof.
                self._programs[key] = compiled(
                    lowered, math.inf if jax.default_backend() == "cpu" else 0.0
                )
                self._compiling = max(self._compiling, time.monotonic() - begin)
        return self._programs[key]

    def rows(self, number: int) -> tuple[Rows, Rows, Rows]:
        """The rows of a split as the programs take them: standardised by the training rows, padded
        to equal sizes.
        """
        with self._guard:
            if number not in self._rows:
                split = self.split(number)
                standard = moments(self.data, split.learn)
                if len(self._rows) > 3:  # splits come one after another; a few are kept
                    self._rows.pop(next(iter(self._rows)))
                parts = zip(split, (self.sizes.learn, self.sizes.check, self.sizes.test))
                learn, check, test = (self._gather(part, size, standard) for part, size in parts)
                self._rows[number] = learn, check, test
            return self._rows[number]

    def _gather(self, chosen: np.ndarray, size: int, standard: Any) -> Rows:
        shape = self.data.shape
        x = np.zeros((size, math.prod(shape[:-1]), shape[-1]), np.float32)
        y = np.zeros(size, np.float32)
        place = 0
        for some, _ in batches(self.data, chosen, 256, standard):
            x[place : place + len(some)] = some.reshape(len(some), -1, shape[-1])
            place += len(some)
        y[: len(chosen)] = self.labels[chosen]
        return Rows(x, y, np.int32(len(chosen)))


def _shuffled(part: Rows, rng: np.random.Generator) -> np.ndarray:
    y, count = np.array(part.y), int(part.count)
    y[:count] = rng.permutation(y[:count])
    return y
