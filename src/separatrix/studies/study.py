"""Studies: the unit that a user runs."""

import abc
import dataclasses
from typing import Any, ClassVar, Generic, TypeVar

from separatrix.engine import Lab, Sweep
from separatrix.errors import SeparatrixError, check_choice, check_integer
from separatrix.studies.claims import Claim
from separatrix.studies.outcome import Outcome
from separatrix.studies.settings import SCALES, change_settings

SEED_STRIDE = 1_000_000  # the seeds of two runs with different --seed never meet

SettingsT = TypeVar("SettingsT")


class Study(abc.ABC, Generic[SettingsT]):
    """The sweeps, claims and figures that reproduce one theorem or figure.

    Attributes:
        name: its name on the command line.
        title: its title in reports.
        summary: one sentence for `separatrix list`.
        question: the question that its claims answer; reports group claims by it. Without one the
            title stands for it.
        claims: the claims that it decides.
        scales: its `Settings` at each scale (see `at_scales`).
        full_minutes: how long the full scale took when it was last measured, on `full_machine`;
            None where that is not known.
        full_machine: the machine that `full_minutes` is about; it says so where the minutes are
            an estimate.
        beside_trials: what else takes time, in words; `--dry-run`, which counts trials, names it.

    >>> from separatrix.studies import find_study
    >>> find_study("signal-first").settings("quick", seed=0).patches
    10
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    question: ClassVar[str] = ""
    claims: ClassVar[tuple[Claim, ...]]
    scales: ClassVar[dict[str, Any]]
    full_minutes: ClassVar[float | None] = None
    full_machine: ClassVar[str] = "one H200"
    beside_trials: ClassVar[str] = ""

    def settings(
        self, scale: str, seed: int = 0, changes: dict[str, str] | None = None
    ) -> SettingsT:
        """The settings of a scale, with changes as text (what `--set` gets)."""
        check_choice("a study", "scale", scale, SCALES)
        if "seed" in (changes or {}):
            raise SeparatrixError("the seed of a run is set with --seed, not with --set")
        return change_settings(
            dataclasses.replace(self.scales[scale], seed=seed), changes or {}, self.name
        )

    def sweeps(self, settings: SettingsT) -> dict[str, Sweep]:
        """The sweeps of the study, by name; for an adaptive study, the most that it may run."""
        del settings
        return {}

    @abc.abstractmethod
    def conclude(self, lab: Lab, settings: SettingsT) -> Outcome:
        """Run the trials in the laboratory and say what they show."""


def seeds_from(seed: int, count: int, purpose: int = 0) -> range:
    """Seeds of one run for one purpose; seeds of different runs or purposes never meet.

    Args:
        seed: the run's `--seed`.
        count: how many seeds.
        purpose: 0 for results, 1 for tuning.

    >>> seeds_from(2, 3)
    range(2000000, 2000003)
    """
    check_integer("a study", "seeds", count, 1, SEED_STRIDE // 2)
    start = seed * SEED_STRIDE + purpose * SEED_STRIDE // 2
    return range(start, start + count)
