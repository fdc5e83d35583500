# %% [markdown]
# # A task of your own
#
# Ten lines: `shape`, `draw`, and the risks that every measured risk should be seen beside.

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

    def baselines(self) -> dict[str, float]:
        return {"constant": 0.5, "bayes": 0.0}


# %% [markdown]
# Every bit counts the same wherever it stands: a convolution with windows of one bit has all that
# is needed, in one number.

# %%
task = Majority(11)
learner = sx.Learner(rate=0.05, steps=60, optimizer="adam")
networks = [sx.CNN(field=1, width=16, readout="pooled"), sx.FCN(width=16)]
sweep = sx.Sweep.grid(
    task, networks, learner, samples=[4, 8, 32], seeds=5, measure=sx.Measure(test=1024)
)

lab = sx.Lab()
print(lab.plan(sweep).describe())
table = lab.run(sweep).to_pandas()
print(
    table.groupby(["network.connectivity", "samples"])["risk"]
    .agg(["median", "min", "max"])
    .round(3)
)
print(task.baselines())
