"""The executor of this process: batches that do not fit, devices that fail."""

import jax
import pytest

from running import tiny
from separatrix.engine import Device, Programs, make_plan
from separatrix.engine.execute.executor import InProcess
from separatrix.errors import SeparatrixError


def test_a_batch_on_a_gpu_that_does_not_fit_is_halved_until_it_does():
    sweep = tiny(seeds=5)
    plan = make_plan(sweep, Device("gpu"))
    assert plan.chunks[0].batch >= 5
    tried = []

    class Small(Programs):
        def run(self, trials, frame, batch=1):
            tried.append(batch)
            if batch > 2:
                raise jax.errors.JaxRuntimeError(
                    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 9 bytes."
                )
            return [{"trial": trial.identity} for trial in trials]

    (done,) = InProcess(Small()).run(plan)
    assert [row["trial"] for row in done.rows] == [trial.identity for trial in sweep]
    assert tried == [64, 32, 16, 8, 4, 2]


@pytest.mark.parametrize(
    "message, sentence",
    [
        ("RESOURCE_EXHAUSTED: Out of memory", "one trial alone does not fit"),
        ("INTERNAL: the device is gone\nmore", "the device failed: INTERNAL"),
    ],
)
def test_a_device_that_fails_is_one_sentence(message, sentence):
    class Broken(Programs):
        def run(self, trials, frame, batch=1):
            raise jax.errors.JaxRuntimeError(message)

    with pytest.raises(SeparatrixError, match=sentence) as caught:
        list(InProcess(Broken()).run(make_plan(tiny(), Device("gpu"))))
    assert "\n" not in str(caught.value)
