"""`diagnose`: from rows and labels to an answer."""

import dataclasses
import time
from typing import Any

import numpy as np

from separatrix.data.handed import described, labelled_from
from separatrix.data.labelled import Labelled
from separatrix.data.readers.limits import printable
from separatrix.diagnosis.baselines import MODELS
from separatrix.diagnosis.codes import check_codes
from separatrix.diagnosis.data_splits import Splitting
from separatrix.diagnosis.metrics import WORDS
from separatrix.diagnosis.networks import Candidate
from separatrix.diagnosis.result import (
    MODEL_WORDS,
    Comparison,
    Diagnosis,
    interval_of,
    labels_for,
    needed_words,
    percent,
)
from separatrix.diagnosis.rounds import (
    BLIND,
    WINDOWED,
    Bench,
    arm_name,
    choose_networks,
    compare,
    lower_labels,
)
from separatrix.diagnosis.settings import Settings
from separatrix.diagnosis.verdict import OPEN, Judgement, beaten_by, held_back, judge
from separatrix.engine import Lab
from separatrix.errors import ParameterError, SeparatrixError, UnknownNameError, check_number
from separatrix.inference.intervals import Interval, mean_over_seeds
from separatrix.notes import Note

PLURAL = ("nearest neighbours", "boosted trees")  # models whose words take "need", not "needs"
LEAK = 0.05  # a gap between splits by row and by group that is worth a warning
OPTIONS = ("label", "groups", "split", "ordered", "drop", "kind", "shape", "task", "target")
COMPARED = (
    ("shared", "local"),
    ("shared", "shared, twisted"),
    *((arm, arm_name(arm, "scrambled")) for arm in WINDOWED),
    *((arm, model) for arm in WINDOWED for model in ("full", *MODELS)),
)


def diagnose(
    x: Any,
    y: Any = None,
    *,
    budget: float | None = None,
    label: str | None = None,
    groups: Any = None,
    split: Any = None,
    ordered: bool = False,
    drop: Any = (),
    kind: str = "auto",
    shape: tuple[int, ...] | None = None,
    task: str = "auto",
    metric: str | None = None,
    target: float | None = None,
    ignore: tuple[str, ...] = (),
    name: str | None = None,
    lab: Lab | None = None,
    settings: Settings | None = None,
    **changes: Any,
) -> Diagnosis:
    """Say whether local windows and shared weights pay on labelled data, and what to do.

    Args:
        x: a path or the name of a data set; an array, with `y`; a pair (x, y); a data frame; a
            data set, a loader, or rows (see `separatrix.data.handed.labelled_from`).
        y: the labels, one per row.
        budget: seconds; by default 55. More time only makes the answer surer.
        label: the column or key of the labels.
        groups: one value per row, or the name of a column: rows of a group stay together.
        split: one word per row (train or test), or the name of a column.
        ordered: whether rows are in the order of time; the last quarter is then for testing.
        drop: columns to leave out.
        kind: "signal", "image", "table", or "auto".
        shape: the shape of one row, where it is not clear.
        task: "classification", "regression", or "auto".
        metric: "accuracy", "balanced-accuracy", "auc", "average-precision", "r2", or "auto".
        target: a score; the answer then says how many labels each model needs for it.
        ignore: codes of notes to leave out.
        name: what the data are called.
        lab: a laboratory; with a folder, the same call goes on where the last one stopped.
        settings: all further choices.
        **changes: fields of `Settings`.

    Returns:
        the answer, with everything behind it.

    Raises:
        SeparatrixError: in one sentence, where the data or an option cannot be used.

    >>> x, y = np.random.default_rng(0).normal(size=(60, 8)), np.arange(60) % 2
    >>> print(diagnose(x, y, kind="signal", budget=1e-6).action)
    Give more time with --budget (budget=).
    """
    begin = time.monotonic()
    changes |= {k: v for k, v in (("budget", budget), ("metric", metric)) if v is not None}
    fields = [field.name for field in dataclasses.fields(Settings)]
    for change in changes:
        if change not in fields:
            raise UnknownNameError("option of diagnose", change, (*fields, *OPTIONS))
    if not isinstance(settings, Settings | None):
        raise ParameterError("diagnose", "settings", "a Settings", settings)
    s = dataclasses.replace(settings or Settings(), **changes)
    if target is not None:
        check_number("diagnose", "target", target, 0, 1)
    if lab is not None and not isinstance(lab, Lab):
        raise ParameterError("diagnose", "lab", "a Lab", lab)
    ignore = check_codes((ignore,) if isinstance(ignore, str) else ignore)
    data = labelled_from(
        x,
        y,
        label=label,
        groups=groups,
        split=split,
        drop=drop,
        kind=kind,
        shape=shape,
        task=task,
        name=name,
    )
    data = in_order(data) if ordered else data
    bench = Bench(data, splitting_of(data), s, lab or Lab(budget=s.budget), begin)
    return conclude(bench, target, ignore)


def in_order(data: Labelled) -> Labelled:
    """Rows that are in the order of time, the last quarter of which is for testing."""
    if data.tested is not None:
        raise SeparatrixError(
            f"{printable(data.name)} says which rows are for testing; leave out --ordered "
            "(ordered=) or the split"
        )
    return dataclasses.replace(data, tested=np.arange(len(data)) >= len(data) - len(data) // 4)


def splitting_of(data: Labelled) -> Splitting:
    """How the rows of a data set may be split."""
    together = data.duplicate_groups if data.groups is None else data.groups
    return Splitting(together, data.groups is not None, data.tested)


def conclude(bench: Bench, target: float | None = None, ignore: tuple[str, ...] = ()) -> Diagnosis:
    """Choose networks, compare them until the answer is sure, and put it into words."""
    s = bench.settings
    lower_labels(bench)
    choose_networks(bench)
    done, wanted, judged = 0, s.first, None
    while {*WINDOWED, "full"} <= set(bench.chosen) and done < wanted:
        before, first = bench.left, done
        # A GPU takes all splits of a look at once; a CPU a few at a time, so that the splits that
        # the budget allows are whole.
        step = wanted - done if bench.lab.device.batched else 2
        while done < wanted and (done == first or bench.left > 0):
            compare(bench, range(done, min(done + step, wanted)))
            done = min(done + step, wanted)
        per_split = (before - bench.left) / (done - first)
        judged = judge(bench)
        if done < wanted:
            break
        # Splits that do not fit into the budget would not be finished.
        if judged.verdict in OPEN and bench.left > 2 * per_split:
            wanted = min(2 * wanted, s.splits)
    judged = judged or Judgement("cannot tell", "cannot tell", "cannot tell", "shared", (), "full")
    judged = held_back(bench, judged)
    scores = {
        model: points
        for model in (*WINDOWED, *BLIND, arm_name("shared", "twisted"))
        if (points := _points(bench, model))
    }
    simple = beaten_by(bench) if done else ""
    best = _recommended(bench, judged, scores)
    saved, headline, action = _words(bench, judged, scores, best, simple)
    # A leak is first: the first screen has room for three warnings.
    notes = (*_leak(bench), *bench.data.notes, *_notes(bench, judged, done, simple))
    networks = {name: candidate for name, (candidate, _) in bench.chosen.items()}
    return Diagnosis(
        name=bench.data.name,
        verdict=judged.verdict,
        headline=headline,
        action=action,
        recommended=best,
        locality=judged.locality,
        sharing=judged.sharing,
        window=networks[judged.arm].side if judged.arm in networks else 0,
        metric=WORDS[bench.metric],
        scores=scores,
        comparisons=tuple(_comparison(bench, *pair) for pair in COMPARED),
        labels_saved=saved,
        labels_needed={}
        if target is None
        else {m: needed_words(p, target) for m, p in scores.items() if "," not in m},
        networks=networks,
        tried=tuple(bench.tried),
        notes=tuple(note for note in notes if note.code not in ignore),
        about={
            "rows": len(bench.data),
            "shape": list(bench.data.shape),
            "kind": bench.data.kind,
            "task": bench.data.task,
            "classes": len(bench.data.classes),
            "using": described(bench.data),
            "constant": bench.constant,
            "margin": s.margin,
            "labels": list(bench.sizes.labels),
            "tested": bench.sizes.test,
            "checked": bench.sizes.check,
            "splits": done,
            "trials": bench.trials,
            "seconds": round(time.monotonic() - bench.begin, 1),
            "budget": s.budget,
            "seed": s.seed,
            "sure": s.sure,
            "beats": s.beats,
            "steps": s.training_steps,
            "target": target,
            "rival": judged.rival,
        },
        examples=_examples(bench.data),
    )


def _examples(data: Labelled) -> tuple[tuple[str, np.ndarray], ...]:
    """The first row of every class, of at most six; of a regression, its first row."""
    if data.kind == "tabular":
        return ()
    if not data.classes:
        return (("a row", np.asarray(data.inputs[0])),)
    first = [int(np.argmax(data.labels == i)) for i in range(min(len(data.classes), 6))]
    return tuple((data.classes[i], np.asarray(data.inputs[at])) for i, at in enumerate(first))


def _points(bench: Bench, model: str) -> tuple[tuple[int, Interval], ...]:
    found = ((size, bench.scores(model, size)) for size in bench.sizes.labels)
    return tuple(
        (size, mean_over_seeds(scores, bench.settings.level))
        for size, scores in found
        if len(scores) > 1
    )


def _comparison(bench: Bench, first: str, second: str) -> Comparison:
    level, sizes = bench.settings.level, bench.sizes.labels
    at = ((n, interval_of(bench.gain(first, second, (n,)), level)) for n in sizes)
    return Comparison(
        first,
        second,
        interval_of(bench.gain(first, second, sizes), level),
        tuple((n, found) for n, found in at if found is not None),
    )


def _recommended(bench: Bench, judged: Judgement, scores: dict[str, Any]) -> str:
    """The model to use: the windowed network that pays, or the best of the others."""
    if judged.verdict == "convolution pays":
        return "shared"
    if judged.locality == "pays":
        return judged.arm
    blind = [m for m in ("full", *MODELS) if m in scores]
    usable = (
        blind
        if judged.verdict == "neither pays"
        else [*blind, *(w for w in WINDOWED if w in scores)]
    )
    if not usable:
        return "full"
    return max(usable, key=lambda model: scores[model][-1][1].estimate)


def _windows(candidate: Candidate, kind: str, axes: int) -> str:
    unit = {"image": "pixels", "signal": "samples"}.get(kind, "columns")
    side = " x ".join([str(candidate.side)] * axes)
    step = "" if candidate.stride == 1 else f" at stride {candidate.stride}"
    return f"windows of {side} {unit}{step}"


def _words(
    bench: Bench, judged: Judgement, scores: dict[str, Any], best: str, simple: str
) -> tuple[str, str, str]:
    """How many labels are saved, the answer, and what to do."""
    axes, kind = len(bench.data.shape) - 1, bench.data.kind
    if not scores:
        return (
            "",
            "cannot tell: the budget ended before the networks were compared",
            ("Give more time with --budget (budget=)."),
        )
    top, metric = bench.sizes.top, WORDS[bench.metric]

    def at_top(model: str) -> str:
        return percent(scores[model][-1][1].estimate) if model in scores else "?"

    rival = judged.rival
    against = f"{at_top(rival)} for {MODEL_WORDS[rival]}"
    saved = ""
    if judged.locality == "pays":
        candidate, _ = bench.chosen[best]
        goal = scores[rival][-1][1].estimate
        low, high = labels_for(scores[best], goal)
        factor = top / high if high else 0.0
        if factor > 1.05:
            more = "at least " if low == 0.0 else "about "
            saved = f"{more}{factor:.1f} times fewer than {MODEL_WORDS[rival]} for {percent(goal)}"
        first_labels, first_score = scores[best][0]
        where = (
            ""
            if set(judged.sizes) == set(bench.sizes.labels)
            else (f" with {' and '.join(map(str, judged.sizes))} labels")
        )
        what = f"{axes}-D convolution" if best == "shared" else "layer of local windows"
        shares = {
            "pays": "local windows and shared weights pay",
            "does not pay": "local windows pay, sharing their weights does not",
            "cannot tell": "local windows pay; whether to share their weights is not settled",
        }[judged.sharing]
        headline = f"{shares}{where}: {at_top(best)} {metric} at {top} labels, {against}"
        own = "" if best == "shared" else " with weights of its own at every window"
        needs = needed_words(scores[rival], first_score.estimate)
        action = (
            f"Use a {what}{own}, {_windows(candidate, kind, axes)}; it reaches "
            f"{percent(first_score.estimate)} with {first_labels} labels, for which "
            f"{MODEL_WORDS[rival]} {'need' if rival in PLURAL else 'needs'} {needs}."
        )
    elif judged.verdict == "neither pays":
        windowed = judged.arm
        headline = (
            f"neither local windows nor shared weights pay: {at_top(windowed)} {metric} with them "
            f"at {top} labels, {against}"
        )
        action = f"Use {MODEL_WORDS[best]}; windows bring nothing here."
    elif judged.held:
        s, rows = bench.settings, bench.reserve * bench.sizes.top
        headline = (
            f"cannot tell: with {top} of about {rows:.0f} labels neither local windows nor shared "
            f"weights pay ({at_top(judged.arm)} {metric} with them, {against}), but more labels "
            "may change that"
        )
        action = (
            f"Give more time: --budget {s.next_budget // 60}m compares {4 * s.most_labels} labels; "
            f"with {top}, {MODEL_WORDS[best]} did best."
        )
    elif not judged.learned:
        headline = "cannot tell: no model does better than the best constant answer"
        more = "rows of more groups" if bench.how.by_group else "more rows"
        action = f"Check the labels, or label {more}."
    else:
        headline = (
            f"cannot tell: the differences are within the error ({at_top(judged.arm)} {metric} "
            f"with windows at {top} labels, {against})"
        )
        action = (
            f"Give more time (--budget 5m) or more labels; so far {MODEL_WORDS[best]} did best."
        )
    if simple:
        beaten = percent(max(scores[net][-1][1].estimate for net in (*WINDOWED, "full")))
        headline = (
            f"{MODEL_WORDS[simple]} {'do' if simple in PLURAL else 'does'} better than all "
            f"networks here ({at_top(simple)} against {beaten}); among networks, {headline}"
        )
        if judged.locality != "pays":
            action = f"Use {MODEL_WORDS[simple]}."
    return saved, headline, action


def _notes(bench: Bench, judged: Judgement, done: int, simple: str) -> list[Note]:
    s, out = bench.settings, []
    if done and judged.verdict in OPEN and done < s.splits and not judged.held:
        words = f"the budget of {s.budget:g} s ended after {done} splits; more time makes it surer"
        out.append(Note("budget", "info", words))
    if not done:
        out.append(Note("missing-models", "warning", "the budget ended before a comparison"))
    if bench.sizes.top == s.most_labels and bench.reserve > 1.0:
        words = f"networks learn from at most {bench.sizes.top} of {len(bench.data)} rows"
        out.append(Note("labels", "info", f"{words}; gains may differ with more labels"))
    if bench.ceiling:
        model, labels, score = bench.ceiling
        words = (
            f"{MODEL_WORDS[model]}: {percent(score)} on check rows with {labels} labels is near "
            "perfect and "
            "leaves little to gain"
        )
        if bench.sizes.labels[0] < labels:
            words += f"; fewer labels are compared ({bench.sizes.labels[0]} and {bench.sizes.top})"
        out.append(Note("near-perfect", "warning", words))
    if simple:
        words = f"{MODEL_WORDS[simple]} beat every network at {bench.sizes.top} labels"
        out.append(Note("simple-model", "warning", words))
    if bench.balanced and bench.metric == "accuracy":
        words = "a class is rare and accuracy hardly notices it; use --metric auto"
        out.append(Note("skewed-accuracy", "warning", words))
    if not judged.learned:
        words = "no model does better than the best constant answer"
        out.append(Note("unlearned", "warning", words))
    if bench.data.kind == "tabular":
        words = "the order of a table's columns is arbitrary; another order is another question"
        out.append(Note("columns", "info", words))
    return out


def _leak(bench: Bench) -> tuple[Note, ...]:
    """A warning where a simple model recognises groups when rows are split at random."""
    if not bench.how.by_group or bench.how.tested is not None or not bench.answers:
        return ()
    s = dataclasses.replace(bench.settings, splits=2)
    rows = Bench(bench.data, Splitting(bench.data.duplicate_groups), s, bench.lab, bench.begin)
    labels = min(rows.sizes.top, bench.sizes.top)
    # Neighbours are quick and are asked however late it is.
    for model in PLURAL[: 1 if bench.left < -5.0 else 2]:
        at_random = [rows.baseline(model, labels, split).score for split in (0, 1)]
        by_group = bench.scores(model, bench.sizes.top)
        if len(by_group) and np.mean(at_random) - by_group.mean() > LEAK:
            words = (
                f"rows of a group resemble each other: split at random, {model} score "
                f"{percent(float(np.mean(at_random)))}, split by group "
                f"{percent(float(by_group.mean()))}; the verdict splits by group"
            )
            return (Note("group-leak", "warning", words),)
    return ()
