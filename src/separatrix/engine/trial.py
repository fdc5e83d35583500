"""Trials: one (task, network, learner, samples, seed) and the program that turns it into one row."""

from collections.abc import Iterable
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from separatrix.errors import ParameterError, check_integer
from separatrix.learners import Learner, Rows, descend, empirical_loss, network_at
from separatrix.learners.losses import SEVERAL, one_hot
from separatrix.networks import LSA, Frame, Network, Params
from separatrix.probes import Moment, find_probe
from separatrix.spec import Spec, cached, choice, digest_text, size, static, value
from separatrix.streams import draw, named, numbered, root_key, root_words, uniform
from separatrix.tasks import Sample, Task

# Part of every trial's identity: raise it whenever the same trial would give another row (a default
# changed, say), so that old ledgers do not answer.
REVISION = 10


class Measure(Spec):
    """What is measured on a trial, and when.

    `probes` are measured before training and at `times` further moments, spaced "even" or "log"
    over the steps; the training loss and the final risk are always there. `test` is the number of
    fresh rows on which the risk is measured. With `check_rows`, a trial's result is that of the
    moment at which the loss on so many further rows was lowest. With `outcomes`, the row has what
    the network answered on every test row and check row: the score, or, of several outputs, by how
    much the score of the right class exceeds every other.

    >>> Measure(probes=("risk", "alignment"), times=4).schedule(steps=200).tolist()
    [0, 50, 100, 150, 200]
    """

    probes: tuple[str, ...] = static(default=("risk",))
    test: int = static(low=1, default=4096)
    times: int = static(low=1, default=1)
    spacing: str = choice("even", "log", default="even")
    check_rows: int = static(low=0, default=0)
    outcomes: bool = static(default=False)

    def check(self) -> None:
        for name in self.probes:
            find_probe(name)

    def schedule(self, steps: int) -> np.ndarray:
        """The steps at which the trial is measured: strictly ascending from 0 to `steps`."""
        if self.spacing == "even":
            raw = np.linspace(0, steps, self.times + 1)
        else:
            raw = np.concatenate(
                [[0], np.geomspace(steps, 1, self.times)]
            )  # downwards: one time is the last step, not the first
        return np.unique(np.round(raw).astype(np.int64))


class Trial(Spec):
    """One (task, network, learner, samples, seed): a pure function to one row.

    `samples` is the size of the training set; 0 for the online and population oracles, which need
    none. Tasks and seeds fix the data: different networks and learners with the same seed see the
    same rows, and other sample sizes see fresh ones. `precision` is that of matrix products: full
    float32, or the faster "tf32" of recent GPUs (the same as float32 on a CPU).

    >>> import separatrix as sx
    >>> trial = sx.Trial(sx.SignalTask(4, 3, 0.3), sx.CNN(field=1), sx.Learner(rate=1.0, steps=5), samples=16, seed=0)
    >>> len(trial.identity)
    32
    """

    task: Task
    network: Network
    learner: Learner
    samples: int = size(low=0, default=0)
    seed: int = value(low=0, default=0, integer=True)
    measure: Measure = Measure()
    precision: str = choice("float32", "tf32", default="float32")

    def check(self) -> None:
        if self.learner.oracle == "empirical" and self.samples < 1:
            raise ParameterError(
                "Trial", "samples", "at least 1 for the empirical oracle", self.samples
            )
        if self.learner.oracle != "empirical" and self.samples:
            raise ParameterError(
                "Trial", "samples", f"0 for the {self.learner.oracle} oracle", self.samples
            )
        self.network.fits(self.task.shape)
        for name in self.measure.probes:
            needs = find_probe(name).needs
            if needs == "start" and self.network.start is None:
                raise ParameterError(
                    "Measure",
                    "probes",
                    "without subspace probes unless the network has a `start`",
                    name,
                )
            if needs == "direction" and type(self.task).direction is Task.direction:
                raise ParameterError(
                    "Measure",
                    "probes",
                    "without alignment probes unless the task has a signal",
                    name,
                )
            if needs == "regression" and type(self.task).clean is Task.clean:
                raise ParameterError(
                    "Measure",
                    "probes",
                    "without regression probes unless the task has noiseless labels",
                    name,
                )
        if self.learner.stop.after_edge is not None and "sharpness" not in self.measure.probes:
            raise ParameterError(
                "Measure",
                "probes",
                "with 'sharpness' when the learner stops `after_edge`",
                self.measure.probes,
            )
        classes = getattr(
            self.task, "classes", None
        )  # how many, or which; labels are then the numbers 0, 1, …
        if (
            1 if classes is None else len(classes) if isinstance(classes, tuple) else classes
        ) != self.network.outputs:
            allowed = (
                "1 for labels of ±1"
                if classes is None
                else f"the number of the task's classes ({classes})"
            )
            raise ParameterError("Network", "outputs", allowed, self.network.outputs)
        if self.network.outputs > 1 and self.learner.loss not in SEVERAL:
            raise ParameterError(
                "Learner",
                "loss",
                f"one of {', '.join(SEVERAL)} for several outputs",
                self.learner.loss,
            )
        if self.learner.lsa_bias is not None and not isinstance(self.network.activation, LSA):
            raise ParameterError(
                "Learner",
                "lsa_bias",
                "None unless the activation is LSA",
                type(self.network.activation).__name__,
            )

    @property
    def identity(self) -> str:
        """The hash of what this trial is; equal trials give equal rows."""
        # Through the class: a method bound to a module is a module of its own, whose making takes
        # longer than the hash.
        return cached(
            self, "identity", lambda: digest_text(f"{REVISION} {type(self).canonical(self)}")
        )

    @property
    def steps(self) -> int:
        """The most steps that this trial may take."""
        return self.learner.steps

    def at_seeds(self, seeds: Iterable[int]) -> list[Self]:
        """This trial with other seeds.

        >>> import separatrix as sx
        >>> trial = sx.Trial(sx.SignalTask(4, 3, 0.3), sx.CNN(field=1), sx.Learner(rate=1.0, steps=5), samples=16)
        >>> trial.at_seeds([0, 1]) == [trial, trial.replace(seed=1)]
        True
        """
        wanted = list(seeds)
        for seed in wanted:
            check_integer("Trial", "seed", seed, 0)
        return self.varied("seed", wanted)

    def root(self) -> np.ndarray:
        """Seed material for the trial's two families of streams, (2, 2) words: data first, then the
        model's.
        """
        shared = [self.seed, self.task.canonical(), self.samples]
        return np.stack(
            [root_words("data", *shared), root_words("model", *shared, self.network.canonical())]
        )

    def row_head(self) -> dict[str, Any]:
        """What this trial is, as the leading columns of its row."""
        return {"trial": self.identity} | self.columns()


def run_trial(
    trial: Trial, words: Any, frame: Trial, arrays: dict[str, Any] | None = None
) -> dict[str, Array]:
    """The trial as a traceable function: its numbers may be traced; its array sizes are those of
    `frame`.

    `arrays` are the task's stored arrays, given from outside so that they do not become constants
    of the program.

    >>> import separatrix as sx
    >>> trial = sx.Trial(sx.SignalTask(4, 3, 0.3), sx.CNN(field=1), sx.Learner(rate=1.0, steps=5), samples=16)
    >>> sorted(run_trial(trial, trial.root(), trial))
    ['loss', 'risk', 'status', 'steps', 'trace.loss', 'trace.risk', 'trace.step']
    """
    task, network, learner, measure = trial.task, trial.network, trial.learner, trial.measure
    data, model = root_key(words[0]), root_key(words[1])
    within = Frame(frame.task.shape, frame.network.width)
    layout = network.layout(task.shape, within)
    truth = task.bind(
        task.truth(named(data, "truth"), frame.task), task.arrays() if arrays is None else arrays
    )
    # A network that starts in another one is never padded (see `frame_of`), so its true sizes are
    # the frame's.
    if network.start is not None:
        network = network.sized_as(frame.network)
    start = network.init(
        named(model, "init"), frame.task.shape if network.start is not None else task.shape, within
    )

    def cut(sample: Sample, weight: Array, reused: bool = False) -> Rows:
        patches = layout.cut(sample.x, reused)
        return Rows(patches, sample.y, weight, task.clean(sample.x, truth))

    def evenly(rows: int) -> Array:
        return jnp.full((rows,), 1.0 / rows)

    rows_at = _oracle(trial, frame, truth, data, model, cut)
    test = cut(
        task.draw_test(named(data, "test"), measure.test, truth, frame.task), evenly(measure.test)
    )
    direction, check = task.direction(truth), None
    if measure.check_rows:
        drawn = task.draw_check(named(data, "check"), measure.check_rows, truth, frame.task)
        check = cut(drawn, evenly(measure.check_rows) if drawn.weight is None else drawn.weight)

    def look(params: Params, step: Any) -> Moment:
        rows = rows_at(step)

        def loss(moving: dict[str, Any]) -> Array:
            return empirical_loss(
                learner, network_at(learner, network, step), layout, params._replace(**moving), rows
            )

        moving = {
            part: getattr(params, part)
            for part in learner.train
            if getattr(params, part) is not None
        }
        now, slope = jax.value_and_grad(loss)(moving)
        gradient = Params(None)._replace(**slope)
        return Moment(
            step,
            params,
            start,
            gradient,
            now,
            network,
            layout,
            direction,
            rows,
            test,
            loss,
            moving,
            task,
        )

    names = ("loss", "risk", *(n for n in measure.probes if n not in ("loss", "risk")))

    def probe_all(params: Params, step: Any, memory: Any) -> Any:
        moment = look(params, step)
        seen, kept = {}, {}
        for name in names:
            found = find_probe(name)
            out = found.measure(
                moment if found.recall is None else moment._replace(memory=memory[name])
            )
            if found.recall is not None:
                out, kept[name] = out
            parts = out if isinstance(out, dict) else {"": out}
            seen |= {
                f"{name}.{part}" if part else name: jnp.asarray(number, jnp.float32)
                for part, number in parts.items()
            }
        if check is not None:
            seen["check"] = empirical_loss(learner, network, layout, params, check)
        if measure.outcomes:
            for part, rows in {"test": test, "check": check}.items():
                if rows is not None:
                    scores = network.scores(params, rows.patches, layout)
                    seen[f"outcomes.{part}"] = margins(scores, rows.y)
        return seen, kept

    moving = {
        part: getattr(start, part) for part in learner.train if getattr(start, part) is not None
    }
    memory = {
        name: recall(moving) for name in names if (recall := find_probe(name).recall) is not None
    }
    run = descend(
        learner, network, layout, start, rows_at, probe_all, measure.schedule(learner.steps), memory
    )
    # The last measurement before the trial stopped is its result.
    last = jnp.maximum((run.trace["step"] >= 0).sum() - 1, 0)
    if check is not None:
        seen = (run.trace["step"] >= 0) & jnp.isfinite(run.trace["check"])
        last = jnp.argmin(jnp.where(seen, run.trace["check"], jnp.inf))
    final = {name: values[last] for name, values in run.trace.items() if name != "step"}
    traces = {f"trace.{name}": values for name, values in run.trace.items() if values.ndim == 1}
    edge = {"edge_step": run.edge} if "sharpness" in names and learner.edge_rate is not None else {}
    clipped = (
        {}
        if run.clipped is None
        else {"clipped_steps": run.clipped.steps, "clipped_last": run.clipped.last}
    )
    return {"status": run.status, "steps": run.steps} | edge | clipped | final | traces


def margins(scores: Array, y: Array) -> Array:
    """The score of every row; of several outputs, by how much the right class's exceeds all others.

    >>> margins(jnp.array([[3.0, 1.0, 2.5]]), jnp.array([0.0])).tolist()
    [0.5]
    """
    if scores.ndim == 1:
        return scores
    right = one_hot(y, scores)
    return (scores * right).sum(-1) - jnp.where(right == 1, -jnp.inf, scores).max(-1)


def _oracle(trial: Trial, frame: Trial, truth: Any, data: Any, model: Any, cut: Any) -> Any:
    """The function from a step to the rows of its gradient."""
    task, learner = trial.task, trial.learner
    if learner.oracle == "population":
        whole = task.population(truth)
        rows = cut(whole, whole.weight, reused=True)
        return lambda step: rows
    if learner.oracle == "online":
        stream, weight = named(data, "online"), jnp.full((learner.batch,), 1.0 / learner.batch)
        return lambda step: cut(
            task.draw(numbered(stream, step), learner.batch, truth, frame.task), weight
        )
    real = jnp.arange(frame.samples) < trial.samples
    rows = cut(
        task.draw(named(data, "train"), frame.samples, truth, frame.task),
        real / jnp.maximum(trial.samples, 1),
        reused=not learner.batch,
    )
    if not learner.batch:
        return lambda step: rows
    stream, weight = named(model, "batches"), jnp.full((learner.batch,), 1.0 / learner.batch)

    def some(step: Any) -> Rows:
        spot = draw(uniform, numbered(stream, step), (learner.batch,)) * trial.samples
        chosen = jnp.minimum(spot.astype(jnp.int32), trial.samples - 1)
        return Rows(
            rows.patches.take(chosen),
            rows.y[chosen],
            weight,
            None if rows.clean is None else rows.clean[chosen],
        )

    return some
