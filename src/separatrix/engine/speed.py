"""How fast a device is: seconds for each kind of counted work, assumed or measured once by
`separatrix doctor --calibrate`.
"""

import dataclasses
import json
import math
import platform
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import jax
import numpy as np
from numpy.typing import ArrayLike

from separatrix.engine.work import Making, Work
from separatrix.errors import SeparatrixError
from separatrix.files import cache_folder, write_bytes
from separatrix.spec import digest

FORMAT = 1  # of the stored file: raise it whenever what is counted changes
PULL = 0.03  # how firmly a fit holds to the assumed seconds where the measured times say nothing


@dataclasses.dataclass(frozen=True)
class Speed:
    """Seconds for one of each quantity of `Work` and of `Making`, on one worker, and those that a
    run takes whatever it does.

    Only estimates use it; what is run, and how it is cut into programs and chunks, never depends on
    it.

    >>> Speed(Work(calls=0.5), Making(programs=2.0), start=4.0).running(Work(calls=3.0))
    1.5
    """

    work: Work
    making: Making
    start: float = 0.0  # until workers are there, and for the report
    measured: bool = False  # on this very machine

    def running(self, work: Work) -> float:
        """The seconds that a worker needs for some work."""
        return _along(self.work, work)

    def compiling(self, making: Making) -> float:
        """The seconds that a worker needs to compile a program."""
        return _along(self.making, making)

    def message(self) -> dict[str, Any]:
        """As it is stored."""
        return {"work": vars(self.work), "making": vars(self.making), "start": self.start}


def _along(seconds: Any, counts: Any) -> float:
    return float(
        sum(a * b for a, b in zip(dataclasses.astuple(seconds), dataclasses.astuple(counts)))
    )


def fit_speed(counts: Sequence[Any], seconds: ArrayLike, prior: Any) -> Any:
    """The seconds for one of each quantity (`Work` or `Making`) that explain measured times, none
    negative, by relative error.

    A quantity that the measurements do not tell apart from others keeps what the `prior` says of
    it.

    >>> found = fit_speed([Making(1.0), Making(1.0, layers=2.0)], [2.0, 6.0], prior=Making(1.0, 1.0, 1.0, 1.0, 1.0))
    >>> round(found.programs, 1), round(found.layers, 1), round(found.spectra, 1)
    (2.0, 2.0, 1.0)
    """
    from scipy.optimize import nnls  # not before: every worker would import it

    times = np.asarray(seconds, float)
    if len(counts) != times.size or not np.all(np.isfinite(times) & (times > 0)):
        raise SeparatrixError(
            f"a fit needs one positive time for each of {len(counts)} measurements, got {times.tolist()}"
        )
    assumed = np.array(dataclasses.astuple(prior))
    table = (
        np.array([dataclasses.astuple(each) for each in counts], float) * assumed / times[:, None]
    )
    pull = PULL * np.eye(assumed.size)
    factors, _ = nnls(
        np.vstack([table, pull]), np.concatenate([np.ones(times.size), np.full(assumed.size, PULL)])
    )
    return type(prior)(*(float(each) for each in factors * assumed))


def machine(workers: int) -> dict[str, Any]:
    """What a calibration holds for: the device, the workers that share it, and the compiler.

    >>> machine(2)["workers"]
    2
    """
    found = jax.devices()[0]
    kind = found.device_kind if found.platform != "cpu" else _processor()
    return {
        "format": FORMAT,
        "platform": found.platform,
        "device": kind,
        "workers": workers,
        "jax": metadata.version("jax"),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def speed_file(workers: int) -> Path:
    """Where the calibration of this machine is kept: in the cache folder, since it can be made
    again.

    >>> speed_file(1) != speed_file(2)
    True
    """
    return cache_folder() / "speed" / f"{digest(machine(workers))}.json"


def keep_speed(speed: Speed, workers: int, **further: Any) -> Path:
    """Store the calibration of this machine, whole or not at all; `further` plain values are kept
    beside it for readers.

    >>> import os, tempfile
    >>> os.environ["SEPARATRIX_CACHE"], before = tempfile.mkdtemp(), os.environ.get("SEPARATRIX_CACHE")
    >>> keep_speed(Speed(Work(calls=0.5), Making()), 2).exists(), find_speed("cpu", 2).work.calls
    (True, 0.5)
    >>> _ = os.environ.pop("SEPARATRIX_CACHE") if before is None else os.environ.update(SEPARATRIX_CACHE=before)
    """
    file = speed_file(workers)
    text = json.dumps(machine(workers) | speed.message() | further, indent=1) + "\n"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SeparatrixError(
            f"cannot keep the calibration in {file.parent}: {error.strerror}; set SEPARATRIX_CACHE"
        ) from error
    write_bytes(file, text)
    return file


def find_speed(kind: str, workers: int) -> Speed:
    """The speed of this machine where it was calibrated for as many workers, else what is assumed
    of a device of this kind.

    A file that is damaged, or of another machine, compiler or format, counts as none.

    >>> find_speed("cpu", 10**6).measured
    False
    """
    assumed = ASSUMED["cpu" if kind == "cpu" else "gpu"]
    try:
        stored = json.loads(speed_file(workers).read_text(encoding="utf-8"))
        if {name: stored[name] for name in machine(workers)} != machine(workers):
            return assumed
        found = Speed(
            Work(**stored["work"]), Making(**stored["making"]), stored["start"], measured=True
        )
        numbers = [
            *dataclasses.astuple(found.work),
            *dataclasses.astuple(found.making),
            found.start,
        ]
        good = all(
            type(each) in (int, float) and math.isfinite(each) and each >= 0 for each in numbers
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return assumed
    return found if good and sum(numbers) > 0 else assumed


# Of one core of a server's CPU, fitted to the 64 programs of the quick studies and most cases of a
# calibration, on a machine that did other work as well (so rather too slow than too fast); and of a
# large GPU, by its data sheet and benchmarks/RESULTS.md, a guess. They are for a machine that was
# not calibrated, and for quantities that a calibration cannot tell apart.
ASSUMED = {
    "cpu": Speed(
        Work(
            calls=8e-3,
            rounds=5.6e-7,
            full=1.6e-11,
            windowed=1.9e-11,
            convolved=5e-12,
            read=2.8e-10,
            activated=1.3e-9,
            shifted=6.4e-9,
            drawn=5.5e-9,
            copied=2.4e-9,
            gathered=3.5e-8,
            updated=3.5e-10,
        ),
        Making(
            programs=2.0,
            layers=0.7,
            convolutions=0.8,
            spectra=5.0,
            probes=0.1,
            minibatches=3.5,
            drawing=1.3,
        ),
        start=5.0,
    ),
    "gpu": Speed(
        Work(
            calls=2e-2,
            rounds=2e-5,
            full=5e-14,
            windowed=1e-13,
            convolved=1e-13,
            read=2e-12,
            activated=4e-12,
            shifted=2e-12,
            drawn=1e-11,
            copied=5e-12,
            gathered=5e-12,
            updated=5e-12,
        ),
        Making(
            programs=2.0,
            layers=0.5,
            convolutions=0.5,
            spectra=2.0,
            probes=0.1,
            minibatches=1.0,
            drawing=1.0,
        ),
        start=15.0,
    ),
}
