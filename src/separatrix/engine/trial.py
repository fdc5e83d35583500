"""Trials: one (task, network, learner, samples, seed), and the program that makes one row of it."""

from collections.abc import Iterable
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from separatrix.errors import ParameterError, check_integer
from separatrix.learners import Learner, Rows, Run, descend, empirical_loss, network_at
from separatrix.learners.losses import SEVERAL, one_hot
from separatrix.networks import LSA, Frame, Network, Params
from separatrix.probes import Moment, find_probe
from separatrix.spec import Spec, cached, choice, digest_text, size, static, value
from separatrix.streams import draw, named, numbered, root_key, root_words, uniform
from separatrix.tasks import Sample, Task

# Part of every trial's identity. Raise it whenever the same trial would give another row (because a
# default changed, say), so that rows of older ledgers are not reused.
REVISION = 10


class Measure(Spec):
    """What is measured on a trial, and when.

    Every trial is measured before training and after it; the training loss and the risk are always
    measured.

    Args:
        probes: the names of further measurements, among `separatrix.PROBES`.
        test: the number of fresh rows on which the risk is measured.
        times: measurements after the one before training.
        spacing: "even" or "log", how they are spaced over the steps.
        check_rows: the number of further rows that choose a moment: the trial's result is then that
            of the moment at which the loss on them was lowest. 0 takes the last moment.
        start_counts: whether that may be the moment before training. A network that soon is sure
            and sometimes wrong has its lowest loss there, and its lowest risk later.
        outcomes: whether the row has what the network answered on every test row and check row: the
            score, or, of several outputs, by how much the score of the right class exceeds every
            other.

    Raises:
        UnknownNameError: there is no such probe.

    >>> Measure(probes=("risk", "alignment"), times=4).schedule(steps=200).tolist()
    [0, 50, 100, 150, 200]
    """

    probes: tuple[str, ...] = static(default=("risk",))
    test: int = static(low=1, default=4096)
    times: int = static(low=1, default=1)
    spacing: str = choice("even", "log", default="even")
    check_rows: int = static(low=0, default=0)
    outcomes: bool = static(default=False)
    start_counts: bool = static(default=True)

    def check(self) -> None:
        for name in self.probes:
            find_probe(name)

    def schedule(self, steps: int) -> np.ndarray:
        """The steps at which the trial is measured: strictly ascending from 0 to `steps`."""
        if self.spacing == "even":
            raw = np.linspace(0, steps, self.times + 1)
        else:  # downwards: a single time is the last step, not the first
            raw = np.concatenate([[0], np.geomspace(steps, 1, self.times)])
        return np.unique(np.round(raw).astype(np.int64))

    @property
    def names(self) -> tuple[str, ...]:
        """All that is measured, the training loss and the risk first."""
        return "loss", "risk", *(name for name in self.probes if name not in ("loss", "risk"))


class Trial(Spec):
    """One (task, network, learner, samples, seed): a pure function to one row.

    The task, the samples and the seed fix the data: networks and learners with the same seed see
    the same rows, and another number of samples draws fresh ones.

    Args:
        task: where the data come from.
        network: what learns.
        learner: how it learns.
        samples: the size of the training set; 0 for the online and population oracles, which need
            none.
        seed: of the data and of the initial parameters.
        measure: what is measured, and when.
        precision: of matrix products: "float32", or the faster "tf32" of recent GPUs (the same as
            float32 on a CPU).

    Raises:
        ParameterError: parts that do not fit each other, such as a window larger than the input.

    >>> import separatrix as sx
    >>> task, network = sx.SignalTask(4, 3, 0.3), sx.CNN(field=1)
    >>> trial = sx.Trial(task, network, sx.Learner(rate=1.0, steps=5), samples=16, seed=0)
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
        learner, network = self.learner, self.network
        if learner.oracle == "empirical" and self.samples < 1:
            allowed = "at least 1 for the empirical oracle"
            raise ParameterError("Trial", "samples", allowed, self.samples)
        if learner.oracle != "empirical" and self.samples:
            allowed = f"0 for the {learner.oracle} oracle"
            raise ParameterError("Trial", "samples", allowed, self.samples)
        network.fits(self.task.shape)
        self._check_probes()
        self._check_outputs()
        if learner.lsa_bias is not None and not isinstance(network.activation, LSA):
            kind = type(network.activation).__name__
            raise ParameterError("Learner", "lsa_bias", "None unless the activation is LSA", kind)

    def _check_probes(self) -> None:
        lacking = {
            "start": (
                self.network.start is None,
                "without subspace probes unless the network has a `start`",
            ),
            "direction": (
                type(self.task).direction is Task.direction,
                "without alignment probes unless the task has a signal",
            ),
            "regression": (
                type(self.task).clean is Task.clean,
                "without regression probes unless the task has noiseless labels",
            ),
        }
        for name in self.measure.probes:
            lacks, allowed = lacking.get(find_probe(name).needs, (False, ""))
            if lacks:
                raise ParameterError("Measure", "probes", allowed, name)
        if self.learner.stop.after_edge is not None and "sharpness" not in self.measure.probes:
            allowed = "with 'sharpness' when the learner stops `after_edge`"
            raise ParameterError("Measure", "probes", allowed, self.measure.probes)

    def _check_outputs(self) -> None:
        outputs, loss = self.network.outputs, self.learner.loss
        # How many classes there are, or which; labels are then the numbers 0, 1, …
        classes = getattr(self.task, "classes", None)
        if classes is None:
            needed, allowed = 1, "1 for labels of ±1"
        else:
            needed = len(classes) if isinstance(classes, tuple) else classes
            allowed = f"the number of the task's classes ({classes})"
        if outputs != needed:
            raise ParameterError("Network", "outputs", allowed, outputs)
        if outputs > 1 and loss not in SEVERAL:
            allowed = f"one of {', '.join(SEVERAL)} for several outputs"
            raise ParameterError("Learner", "loss", allowed, loss)

    @property
    def identity(self) -> str:
        """The hash of what this trial is; equal trials give equal rows."""
        # Through the class: a method bound to a module is a module of its own, and making one takes
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
        >>> learner = sx.Learner(rate=1.0, steps=5)
        >>> trial = sx.Trial(sx.SignalTask(4, 3, 0.3), sx.CNN(field=1), learner, samples=16)
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
    """The trial as a traceable function.

    Args:
        trial: what to run; its numbers may be traced.
        words: the seed material of its random streams (`Trial.root`).
        frame: a trial with the sizes of the program's arrays.
        arrays: the task's stored arrays, passed from outside so that they do not become constants
            of the program; None takes them from the task.

    Returns:
        The row's numbers: how the trial ended, the last measurements, and all of them as traces.

    >>> import separatrix as sx
    >>> learner = sx.Learner(rate=1.0, steps=5)
    >>> trial = sx.Trial(sx.SignalTask(4, 3, 0.3), sx.CNN(field=1), learner, samples=16)
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

    rows_at = _oracle(trial, frame, truth, data, model, cut)

    def evenly(rows: int) -> Array:
        return jnp.full((rows,), 1.0 / rows)

    test = cut(
        task.draw_test(named(data, "test"), measure.test, truth, frame.task), evenly(measure.test)
    )
    direction, check = task.direction(truth), None
    if measure.check_rows:
        drawn = task.draw_check(named(data, "check"), measure.check_rows, truth, frame.task)
        check = cut(drawn, evenly(measure.check_rows) if drawn.weight is None else drawn.weight)

    def moment_at(params: Params, step: Any) -> Moment:
        rows, moving = rows_at(step), learner.trained_parts(params)

        def loss_of(moving: dict[str, Any]) -> Array:
            return empirical_loss(
                learner, network_at(learner, network, step), layout, params._replace(**moving), rows
            )

        loss, gradient = jax.value_and_grad(loss_of)(moving)
        return Moment(
            step=step,
            params=params,
            initial=start,
            gradient=Params(None)._replace(**gradient),
            loss=loss,
            network=network,
            layout=layout,
            direction=direction,
            train=rows,
            test=test,
            loss_of=loss_of,
            moving=moving,
            task=task,
        )

    def measured(params: Params, step: Any, memory: Any) -> Any:
        numbers, remembered = _probed(measure.names, moment_at(params, step), memory)
        if check is not None:
            numbers["check"] = empirical_loss(learner, network, layout, params, check)
        if measure.outcomes:
            for name, rows in {"test": test, "check": check}.items():
                if rows is not None:
                    scores = network.scores(params, rows.patches, layout)
                    numbers[f"outcomes.{name}"] = margins(scores, rows.y)
        return numbers, remembered

    moving = learner.trained_parts(start)
    memory = {
        name: recall(moving)
        for name in measure.names
        if (recall := find_probe(name).recall) is not None
    }
    times = measure.schedule(learner.steps)
    noise_key = None if learner.gradient_noise is None else named(model, "gradient noise")
    run = descend(learner, network, layout, start, rows_at, measured, times, memory, noise_key)
    with_edge = "sharpness" in measure.names and learner.edge_rate is not None
    return _row_of(run, with_edge, measure.start_counts)


def _probed(
    names: tuple[str, ...], moment: Moment, memory: dict[str, Any]
) -> tuple[dict[str, Array], dict[str, Any]]:
    """All measurements at a moment, as numbers by name, and what the next ones will remember."""
    numbers, remembered = {}, {}
    for name in names:
        probe = find_probe(name)
        if probe.recall is None:
            out = probe.measure(moment)
        else:
            out, remembered[name] = probe.measure(moment._replace(memory=memory[name]))
        parts = out if isinstance(out, dict) else {"": out}
        numbers |= {
            f"{name}.{part}" if part else name: jnp.asarray(number, jnp.float32)
            for part, number in parts.items()
        }
    return numbers, remembered


def _row_of(run: Run, with_edge: bool, start_counts: bool) -> dict[str, Array]:
    # The result is the measurement with the lowest check loss, or the last one before the trial
    # stopped.
    was_measured = run.trace["step"] >= 0
    if "check" in run.trace:
        finite = was_measured & jnp.isfinite(run.trace["check"])
        if not start_counts:
            finite &= run.trace["step"] > 0
        place = jnp.argmin(jnp.where(finite, run.trace["check"], jnp.inf))
    else:
        place = jnp.maximum(was_measured.sum() - 1, 0)
    row = {"status": run.status, "steps": run.steps}
    if with_edge:
        row["edge_step"] = run.edge
    if run.clipped is not None:
        row |= {"clipped_steps": run.clipped.steps, "clipped_last": run.clipped.last}
    row |= {name: values[place] for name, values in run.trace.items() if name != "step"}
    traces = {name: values for name, values in run.trace.items() if values.ndim == 1}
    return row | {f"trace.{name}": values for name, values in traces.items()}


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

    def batch_at(step: Any) -> Rows:
        places = draw(uniform, numbered(stream, step), (learner.batch,)) * trial.samples
        chosen = jnp.minimum(places.astype(jnp.int32), trial.samples - 1)
        return Rows(
            rows.patches.take(chosen),
            rows.y[chosen],
            weight,
            None if rows.clean is None else rows.clean[chosen],
        )

    return batch_at
