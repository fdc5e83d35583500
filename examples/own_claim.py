# %% [markdown]
# # A claim of your own
#
# Majority of signs: does a convolution with windows of one bit need fewer samples than a fully
# connected network? One call answers with thresholds, a verdict, a figure and a page.

# %%
import jax
import jax.numpy as jnp

import separatrix as sx


class Majority(sx.Task):
    """An odd number of signs; the label is what most of them are."""

    bits: int = sx.static(low=1)

    @property
    def shape(self) -> tuple[int, int]:
        return (self.bits, 1)

    def draw(self, key, rows: int, truth=None, within=None) -> sx.Sample:
        x = jax.random.rademacher(key, (rows, *self.shape), float)
        return sx.Sample(x, jnp.sign(x.sum((1, 2))))


# %% [markdown]
# The goal is a risk of 0.1. The comparison measures simple rules, too, and warns where one of them
# reaches the goal: here a linear rule does, so nobody needs a network for this task.

# %%
found = sx.compare(
    task_of=lambda n: Majority(n),
    networks={"CNN": sx.CNN(field=1, width=16, readout="pooled"), "FCN": sx.FCN(width=16)},
    over={"n": [7, 15]},
    goal=0.1,
    learner=sx.Learner(rate=0.05, steps=60, optimizer="adam"),
    samples=(2, 256),
    max_trials=40,
    measure=sx.Measure(test=512),
)
print(found)

# %% [markdown]
# In a notebook `found` shows itself with its figure. `found.plot("samples.pdf")` saves the figure
# for a slide, and `found.report("results/majority")` writes a page.

# %%
print(found.to_frame().round(1).to_string(index=False))
