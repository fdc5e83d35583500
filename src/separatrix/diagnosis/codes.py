"""The notes of a diagnosis: stable codes, with the rule, the reason and the remedy of each."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from separatrix.errors import ParameterError, UnknownNameError


class Code(NamedTuple):
    """When a note appears, why it matters, and what to do."""

    rule: str
    why: str
    remedy: str


CODES: dict[str, Code] = {
    "axes-guessed": Code(
        "Rows have two axes, and the last one may be channels or pixels.",
        "A signal with channels and an image have different windows.",
        "Say `--kind signal` or `--kind image`.",
    ),
    "budget": Code(
        "The budget ended before the answer was sure.",
        "Intervals shrink with every further split.",
        "Give more time (`--budget 5m`); with the same `--out` the work goes on where it stopped.",
    ),
    "channels-first": Code(
        "The first of three axes has 1, 3 or 4 entries and the last has more.",
        "Channels were moved to the end.",
        "Give the `shape` of a row if that is wrong.",
    ),
    "columns": Code(
        "The data are a table.",
        "The order of a table's columns is arbitrary; another order would be another question.",
        "Say `--kind signal` if the columns are samples in time or space.",
    ),
    "conflicting-labels": Code(
        "Identical rows have different labels.",
        "No model can be right about all of them.",
        "Look at these rows; perhaps a column that tells them apart is missing.",
    ),
    "constant-features": Code(
        "Some inputs never vary.", "They tell nothing.", "Leave them out, or ignore this note."
    ),
    "duplicate-rows": Code(
        "Rows repeat earlier rows.",
        "A copy on the other side of a split would be learnt by heart; copies stay on one side.",
        "Remove the copies if they are a mistake.",
    ),
    "few-rows": Code(
        "There are fewer than 200 rows.",
        "Only large differences can be seen.",
        "Label more rows.",
    ),
    "files-left-out": Code(
        "A folder of pictures holds files that are no PNG or JPEG.",
        "They were left out.",
        "Convert them if they belong to the data.",
    ),
    "group-leak": Code(
        "A simple model scores much higher when rows are split at random than by group.",
        "Rows of a group resemble each other; a random split lets a model recognise the group.",
        "Keep splitting by group, here and when you train; the verdict already does.",
    ),
    "imbalanced": Code(
        "One class has at least five times as many rows as another.",
        "Always answering the frequent class looks good in accuracy.",
        "Read the metric that is shown; `--metric` chooses another.",
    ),
    "index-column": Code("A first or last column counts the rows.", "It was left out.", "Nothing."),
    "labels": Code(
        "The budget limits how many labels networks learn from.",
        "Gains may differ with more labels.",
        "A longer budget tries more labels (8 minutes: four times as many).",
    ),
    "links-left-out": Code(
        "A folder of pictures holds links to elsewhere.",
        "They are not followed.",
        "Copy the pictures into the folder.",
    ),
    "missing-models": Code(
        "The budget ended before all models were compared.",
        "The verdict needs all of them.",
        "Give more time.",
    ),
    "numeric-header": Code(
        "The first line of a table without a header holds numbers.",
        "A header of numbers would count as a row.",
        "Remove the line if it is a header.",
    ),
    "near-perfect": Code(
        "A model without windows is within three margins of a perfect score at the smaller number "
        "of labels.",
        "Networks can hardly gain a margin there; fewer labels are compared where possible.",
        "Read the verdict as one about few labels; with all of yours any of these models will do.",
    ),
    "numbered-columns": Code(
        "All columns of inputs have one name and rising numbers, such as t0 to t63.",
        "They are read as samples of a signal; names such as x0 or feature_0 stay a table.",
        "Say `--kind table` if the order of the columns means nothing.",
    ),
    "one-hot": Code("Labels are one-hot rows.", "They are read as class numbers.", "Nothing."),
    "perhaps-group": Code(
        "A column of inputs has few values that repeat, or is named like a subject.",
        "If rows of one value belong together, a random split leaks.",
        "Say `--group COLUMN`, or `--drop COLUMN`.",
    ),
    "perhaps-id": Code(
        "A column of inputs is another number in every row.",
        "An id can carry the order in which rows were collected.",
        "Say `--drop COLUMN`.",
    ),
    "perhaps-images": Code(
        "Rows of a table are a square number of bytes.",
        "They may be images.",
        "Say `--shape 28,28`.",
    ),
    "perhaps-label": Code(
        "A column looks like a second label.",
        "A feature that gives the label away makes every network look good.",
        "Drop it with `--drop COLUMN` if it does.",
    ),
    "rare-class": Code(
        "A class has fewer than five rows.", "It can hardly be learnt or tested.", "Label more."
    ),
    "resized": Code(
        "Pictures differ in size.",
        "They were brought to one size.",
        "Resize them yourself if another size suits.",
    ),
    "rotation": Code(
        "Pictures ask to be rotated when shown (EXIF).",
        "They are read as they are stored.",
        "Rotate the files if needed.",
    ),
    "rows-sampled": Code(
        "A data set that gives rows one by one is large.",
        "Some rows were taken at random.",
        "Hand over an array or a file to use all.",
    ),
    "simple-model": Code(
        "A model without windows and hidden layers does better than every network.",
        "The verdict is about networks like these; the best model here is another one.",
        "Use that model, or more labels.",
    ),
    "skewed-accuracy": Code(
        "A class is rare and the metric is accuracy.",
        "Accuracy hardly notices the rare class; no sure `neither pays` is given.",
        "Use `--metric auto`.",
    ),
    "task-guessed": Code(
        "Labels are whole numbers, which may be classes or amounts.",
        "The losses and metrics differ.",
        "Say `--task classification` or `--task regression`.",
    ),
    "transparency": Code(
        "Pictures have transparent pixels.",
        "Transparency was left out.",
        "Put the pictures on a background first.",
    ),
    "unlearned": Code(
        "No model does better than the best constant answer.",
        "There is nothing to compare.",
        "Check the labels; label more rows.",
    ),
}


def check_codes(codes: Iterable[str]) -> tuple[str, ...]:
    """Refuse codes that there are not.

    >>> check_codes(("bugdet",))
    Traceback (most recent call last):
    separatrix.errors.UnknownNameError: there is no note `bugdet`; did you mean `budget`?
    """
    if not isinstance(codes, Iterable) or isinstance(codes, Mapping):
        raise ParameterError("diagnose", "ignore", "codes of notes", codes)
    codes = tuple(codes)
    for code in codes:
        if code not in CODES:
            raise UnknownNameError("note", str(code), CODES)
    return codes


def catalogue() -> str:
    """All notes as a Markdown table."""
    lines = ["| code | when | why it matters | what to do |", "|---|---|---|---|"]
    lines += [f"| `{name}` | {c.rule} | {c.why} | {c.remedy} |" for name, c in CODES.items()]
    return "\n".join(lines)
