"""Regression tasks on spheres, and rows drawn from them once, for several tests."""

import functools

import jax

import separatrix as sx
from separatrix.streams import named

TASKS = [
    sx.SphereTask(12, 3),
    sx.SphereTask(12, 3, teacher="dense", radius=2.0, stride=1),
    sx.PatchSphereTask(4, 3, teacher="local"),
    sx.RepeatedPointTask(4, 3, teacher="local"),
    sx.VocabularyTask(4, 3),
    sx.ConeTask(4, 3, clusters=2, spread=0.05, teacher="local"),
]


@functools.cache
def drawn(task, rows=3000):
    """A truth, rows of it and their noiseless labels."""

    @jax.jit
    def make(key):
        truth = task.truth(named(key, "truth"))
        sample = task.draw(named(key, "rows"), rows, truth)
        return truth, sample, task.clean(sample.x, truth)

    return make(jax.random.key(7))
