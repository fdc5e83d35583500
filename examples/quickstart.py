# %% [markdown]
# # Quickstart: three networks, the same samples
#
# A signal hides in one of eight noisy patches. Who finds it, from how many samples?

# %%
import separatrix as sx

task = sx.SignalTask(patches=8, dimension=8, noise=0.3)
common = {"activation": sx.LSA(0.5), "readout": "sum", "bias": False}
networks = {
    "CNN": sx.CNN(field=1, initial=sx.Initial("directions", scale=0.05), **common),
    "LCN": sx.LCN(field=1, initial=sx.Initial("directions", scale=0.05), **common),
    "FCN": sx.FCN(width=8, initial=sx.Initial("directions", scale=0.7), **common),
}
rates = {"CNN": 3.0, "LCN": 12.0, "FCN": 24.0}

# %% [markdown]
# The learner ramps the activation's threshold up from 0 and keeps weights in the unit ball. Each
# network has a rate of its own.


# %%
def sweep_of(name: str) -> sx.Sweep:
    """The trials of one network."""
    learner = sx.Learner(
        rate=rates[name], steps=100, projection="ball", lsa_bias=sx.Ramp(0.0, 0.5, share=0.5)
    )
    return sx.Sweep.grid(
        task, networks[name], learner, samples=[16, 32, 128], seeds=6, measure=sx.Measure(test=1024)
    )


lab = sx.Lab()
for name in networks:
    table = lab.run(sweep_of(name)).to_pandas()
    risks = table.groupby("samples")["risk"].agg(["median", "min", "max"]).round(3)
    print(f"{name}, {networks[name].parameter_count(task.shape)} parameters\n{risks}\n")

# %% [markdown]
# Never a risk without its baselines: a constant answer, the best linear rule, the best rule of all.

# %%
print({name: round(risk, 3) for name, risk in task.baselines().items()})
