"""Whatever people hand over becomes the same checked rows, or one sentence."""

import contextlib

import numpy as np
import pytest

from separatrix.data.handed import described, labelled_from
from separatrix.errors import SeparatrixError

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 6)), np.arange(40) % 2


class DataSet:
    """A data set as PyTorch has them."""

    def __len__(self):
        return 40

    def __getitem__(self, row):
        if not 0 <= row < 40:
            raise IndexError
        return X[row], int(Y[row])


class Rows(DataSet):
    def __getitem__(self, row):
        return {"image": X[row].reshape(2, 3), "label": int(Y[row])}


class Bunch(dict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def frame():
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(X, columns=list("abcdef")).assign(kind=np.where(Y, "yes", "no"))


FORMS = {
    "arrays": lambda: labelled_from(X, Y),
    "lists": lambda: labelled_from(X.tolist(), Y.tolist()),
    "pair": lambda: labelled_from((X, Y)),
    "mapping": lambda: labelled_from({"inputs": X, "target": Y}),
    "bunch": lambda: labelled_from(Bunch(data=X, target=Y, target_names=["no", "yes"])),
    "data set": lambda: labelled_from(DataSet()),
    "loader": lambda: labelled_from([(X[i : i + 16], Y[i : i + 16]) for i in (0, 16, 32)]),
    "generator": lambda: labelled_from((x, y) for x, y in zip(X, Y)),
    "rows of numbers": lambda: labelled_from(
        [dict(zip("abcdef", x)) | {"y": y} for x, y in zip(X, Y)]
    ),
    "columns": lambda: labelled_from(dict(zip("abcdef", X.T)) | {"y": Y}),
    "frame": lambda: labelled_from(frame(), label="kind"),
    "frame and labels": lambda: labelled_from(frame().drop(columns="kind"), Y),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_same_data(form):
    data = FORMS[form]()
    assert data.shape == (6, 1)
    assert np.allclose(data.inputs[..., 0], X, atol=1e-6)
    assert data.labels.tolist() == Y.tolist()


def test_images_in_dictionaries():
    assert labelled_from(Rows(), kind="image").shape == (2, 3, 1)


def test_groups_splits_and_dropped_columns():
    table = frame().assign(
        subject=np.arange(40) % 5, fold=np.where(np.arange(40) < 30, "train", "test")
    )
    data = labelled_from(table, label="kind", groups="subject", split="fold", drop="a")
    assert data.shape == (5, 1)
    assert data.groups.tolist() == (np.arange(40) % 5).tolist()
    assert data.tested.sum() == 10
    assert described(data) == (
        "using 40 rows of 5 columns as a table, dropped a, label = kind, 2 classes, groups = "
        "subject (5), 10 rows kept for testing"
    )
    noted = labelled_from(table.drop(columns="fold"), label="kind")
    assert "perhaps-group" in {note.code for note in noted.notes}
    assert labelled_from(X, Y, groups=np.arange(40) // 4).groups.max() == 9


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((X,), "need labels"),
        ((None,), "need labels"),
        ((object(),), "no labelled data"),
        (([1, 2, 3],), "row 0 is no pair"),
        (({"a": X},), "needs inputs"),
        (([{"a": 1}],), "has no labels called"),
        (([{"a": [1, 2], "b": [1, 2], "y": 0}],), "which is the input"),
        (([(X[0], 0), (X[0, :3], 1)],), "has the shape"),
        ((iter(()),), "no rows"),
        ((X, Y[:5]), "40 rows of inputs but 5 labels"),
        (("digits", Y), "leave y out"),
        ((X, "kind"), "given as label="),
        (([[1, 2], [3]] * 20, Y), "the same shape"),
        ((np.ma.masked_greater(X, 1), Y), "missing"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(given, words):
    with pytest.raises(SeparatrixError, match=words):
        labelled_from(*given)


@pytest.mark.parametrize(
    ("given", "options", "words"),
    [
        ((X, Y), {"label": "kind"}, "left out where y is given"),
        ((X, Y), {"drop": "a"}, "named columns only"),
        ((X, Y), {"name": 7}, "`name` of diagnose must be text"),
        ((DataSet(),), {"label": "kind"}, "have no names"),
        ((DataSet(),), {"drop": "a"}, "have no names"),
        ((Rows(),), {"drop": "imgae"}, "did you mean `image`"),
        (({"x": X, "y": Y},), {"drop": "z"}, "there is no key `z`"),
        (({"x": X, "y": Y},), {"drop": "x"}, "is needed"),
        (({"x": X, "y": Y},), {"label": "z"}, "there is no key `z`"),
        ((Bunch(data=X, target=Y),), {"drop": "a"}, "named columns only"),
        ((Bunch(data=X, target=Y),), {"label": "a"}, "a Bunch has its target"),
    ],
)
def test_no_option_is_left_unsaid(given, options, words):
    with pytest.raises(SeparatrixError, match=words):
        labelled_from(*given, **options)


def test_a_bunch_has_columns_and_a_list_of_two_is_a_pair():
    bunch = Bunch(data=X, target=Y, feature_names=list("abcdef"), target_names=["no", "yes"])
    data = labelled_from(bunch, drop=("a", "a"))
    assert data.shape == (5, 1)
    assert data.classes == ("no", "yes")
    assert data.dropped == ("a",)
    assert labelled_from([X, Y]).shape == (6, 1)
    assert labelled_from(X, Y, shape=[2, 3]).shape == (2, 3, 1)


def test_columns_of_one_name_are_refused():
    pandas = pytest.importorskip("pandas")
    twice = pandas.concat([frame(), frame()], axis=1)
    with pytest.raises(SeparatrixError, match="2 columns called `a`; rename"):
        labelled_from(twice, label="kind")
    with pytest.raises(SeparatrixError, match="`kind` of rows holds text such as `no`"):
        labelled_from(frame().assign(z=1.0 * Y))


def test_names_in_mappings_and_rows_group_split_and_drop():
    subject, fold = np.arange(40) // 4, np.where(np.arange(40) < 30, "train", "test")
    rows = [{"x": x, "y": y, "subject": s, "fold": f} for x, y, s, f in zip(X, Y, subject, fold)]
    table = [dict(zip("abcdef", x)) | {"id": i, "y": y} for i, (x, y) in enumerate(zip(X, Y))]
    whole = {"x": X, "y": Y, "subject": subject, "fold": fold}
    for given in (rows, whole):
        data = labelled_from(given, groups="subject", split="fold")
        assert data.groups.tolist() == subject.tolist()
        assert data.tested.sum() == 10
        assert "groups = subject (10)" in described(data)
        with pytest.raises(SeparatrixError, match="did you mean `subject`"):
            labelled_from(given, groups="subjct")
    assert "perhaps-id" in {note.code for note in labelled_from(table).notes}
    assert labelled_from(table, drop="id").shape == (6, 1)
    parts = labelled_from({"train": (X[:30], Y[:30]), "test": DataSet()})
    assert parts.tested.tolist() == [False] * 30 + [True] * 40


def test_groups_given_as_an_array_beside_a_file_count(tmp_path):
    np.savez(tmp_path / "a.npz", x=X, y=Y)
    groups = np.arange(40) // 4
    assert labelled_from(tmp_path / "a.npz", groups=groups).groups.tolist() == groups.tolist()
    with pytest.raises(SeparatrixError, match="one per row"):
        labelled_from(tmp_path / "a.npz", groups=groups[:3])


def test_errors_of_the_users_classes_are_one_sentence():
    class Broken(DataSet):
        def __getitem__(self, row):
            raise RuntimeError("disk\nfull")

    with pytest.raises(SeparatrixError, match=r"RuntimeError \(disk full\)"):
        labelled_from(Broken())


def test_malformed_inputs_never_raise_anything_else():
    rng = np.random.default_rng(1)
    parts = [
        None,
        0,
        "x",
        b"",
        [],
        {},
        (),
        X,
        X[:0],
        X[:, :1],
        Y,
        np.array("a"),
        float("nan"),
        np.full((30, 3), np.nan),
        np.array([[object()] * 3] * 30),
        [[1], [1, 2]],
        {"x": X},
        {"x": X, "y": Y[:3]},
        [(X, Y, 1)],
        range(40),
        set(),
        lambda: 0,
        1e400,
        np.zeros((30, 2, 2, 2, 2)),
        {"x": None, "y": None},
        [({}, {})],
        [(None, None)] * 30,
        "no-such-file.csv",
        np.eye(30) * 1j,
    ]
    for _ in range(2000):
        pick = [parts[i] for i in rng.integers(0, len(parts), 4)]
        options = {"groups": pick[2], "split": pick[3]} if rng.random() < 0.3 else {}
        with contextlib.suppress(SeparatrixError):
            labelled_from(pick[0], pick[1] if rng.random() < 0.7 else None, **options)
