"""Settings: checks, nesting, scales, and what `--set` reads."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.errors import SeparatrixError
from separatrix.studies import (
    SCALES,
    STUDIES,
    Settings,
    at_scales,
    change_settings,
    jobs,
    setting,
)
from separatrix.studies.settings import plain_settings


class Some(Settings, of="demo"):
    count: int = 3
    share: float = 0.5
    flag: bool = False
    word: str = "a"
    sizes: tuple[int, ...] = (1, 2)
    rates: tuple[float, ...] = (0.5,)
    names: tuple[str, ...] = ("CNN",)


class Part(Settings, of="demo.part"):
    steps: int = setting(default=5, low=1)
    share: float = setting(default=0.5, low=0, high=1, open_low=True)


class Whole(Settings, of="demo"):
    crop: str = setting(default="tight", among=("tight", "whole"))
    sizes: tuple[int, ...] = setting(default=(), low=2)
    flag: bool = False
    part: Part = Part()
    seed: int = 0

    def check(self):
        if self.flag and self.part.steps < 3:
            raise SeparatrixError("with the flag there must be three steps")


@pytest.mark.parametrize(
    "make, sentence",
    [
        (lambda: Whole(crop="loose"), "the `crop` of demo must be one of 'tight', 'whole', got"),
        (lambda: Whole(sizes=(4, 1)), "the `sizes` of demo must be an integer >= 2, got 1"),
        (lambda: Whole(sizes=[4]), "the `sizes` of demo must be a tuple, got"),
        (lambda: Whole(flag=1), "the `flag` of demo must be True or False, got 1"),
        (lambda: Whole(part=3), "the `part` of demo must be of type Part, got 3"),
        (lambda: Part(steps=0), "the `steps` of demo.part must be an integer >= 1, got 0"),
        (lambda: Part(steps=1.5), "the `steps` of demo.part must be an integer >= 1, got 1.5"),
        (lambda: Part(share=0), "the `share` of demo.part must be a number in (0, 1], got 0"),
        (lambda: Whole().replace(part={"stps": 3}), "there is no setting of demo.part `stps`; did"),
        (lambda: Whole().replace(flag=True, part={"steps": 2}), "with the flag there must be"),
    ],
)
def test_fields_are_checked(make, sentence):
    with pytest.raises(SeparatrixError) as error:
        make()
    assert str(error.value).startswith(sentence)


def test_nested_settings_are_changed_by_their_dotted_or_written_name():
    whole = Whole(sizes=(2, 3))
    changed = Whole(sizes=(2, 3), part=Part(steps=7))
    assert change_settings(whole, {"part.steps": "7"}, "demo") == changed
    assert change_settings(whole, {"part_steps": "7"}, "demo") == changed
    assert whole.replace(part={"steps": 7}) == changed
    assert plain_settings(changed) == {
        "crop": "tight",
        "sizes": (2, 3),
        "flag": False,
        "part_steps": 7,
        "part_share": 0.5,
        "seed": 0,
    }
    # Checks that tie fields together see all changes at once.
    both = change_settings(Whole(part=Part(steps=2)), {"flag": "true", "part.steps": "3"}, "demo")
    assert both.flag
    assert both.part.steps == 3
    with pytest.raises(
        SeparatrixError, match=r"no setting of demo `part\.stps`; did you mean `part\.steps`"
    ):
        change_settings(whole, {"part.stps": "7"}, "demo")
    with pytest.raises(
        SeparatrixError, match=r"the setting `part\.steps` of demo must be an integer, got"
    ):
        change_settings(whole, {"part.steps": "many"}, "demo")


def test_an_empty_list_can_be_filled():
    assert change_settings(Whole(), {"sizes": "2,3"}, "demo").sizes == (2, 3)


def test_a_scale_says_what_differs():
    scales = at_scales(Whole(), laptop={"crop": "whole"}, full={"part": {"steps": 9}})
    assert list(scales) == list(SCALES)
    assert scales["quick"] == Whole()
    assert scales["laptop"] == Whole(crop="whole")
    assert scales["full"] == Whole(part=Part(steps=9))


def change(name, text):
    return getattr(change_settings(Some(), {name: text}, "demo"), name)


@given(
    st.integers(),
    st.floats(allow_nan=False),
    st.booleans(),
    st.text(),
    st.lists(st.integers(), min_size=1),
)
def test_what_is_written_is_read_back(count, share, flag, word, sizes):
    assert change("count", str(count)) == count
    if share not in (float("inf"), float("-inf")):
        assert change("share", repr(share)) == share
    assert change("share", str(count)) == float(count)
    assert change("flag", str(flag)) is flag
    assert change("flag", str(flag).lower()) is flag
    assert change("word", word) == word
    assert change("sizes", ",".join(map(str, sizes))) == tuple(sizes)
    assert change("sizes", str(tuple(sizes))) == tuple(sizes)
    assert change("sizes", str(sizes)) == tuple(sizes)


@given(st.sampled_from(["count", "share", "flag", "sizes", "rates"]), st.text())
def test_any_text_is_read_or_refused_in_one_sentence(name, text):
    try:
        found = change(name, text)
    except SeparatrixError as error:
        said = str(error)
    else:
        said = ""
        assert type(found) is type(getattr(Some(), name))
        assert ast.literal_eval(repr(found)) == found  # no NaN, no infinity, no object
    assert "\n" not in said
    assert said == "" or said.startswith(f"the setting `{name}` of demo must be ")


@pytest.mark.parametrize(
    "name, text, allowed",
    [
        ("count", "1.5", "an integer"),
        ("count", "true", "an integer"),
        ("count", "", "an integer"),
        ("count", "1" * 5000, "an integer"),
        ("count", "__import__('os')", "an integer"),
        ("share", "half", "a number"),
        ("share", "nan", "a number"),
        ("share", "1e999", "a number"),
        ("share", "1" * 400, "a number"),
        ("share", "1j", "a number"),
        ("flag", "1", "true or false"),
        ("sizes", "", "a list such as 1,2,3"),
        ("sizes", "1,x", "a list such as 1,2,3"),
        ("sizes", "1.5", "a list such as 1,2,3"),
        ("sizes", "(" * 1000, "a list such as 1,2,3"),
        ("rates", "1e999", "a list such as 1,2,3"),
    ],
)
def test_what_does_not_fit_is_refused(name, text, allowed):
    with pytest.raises(SeparatrixError) as error:
        change(name, text)
    assert str(error.value).startswith(f"the setting `{name}` of demo must be {allowed}, got ")
    assert len(str(error.value)) < 200


def test_a_list_of_numbers_may_hold_whole_ones():
    assert change("rates", "1,0.5") == (1.0, 0.5)
    assert all(type(each) is float for each in change("rates", "1,2"))


def test_a_list_of_names_needs_no_quotes():
    assert change("names", "CNN, FCN") == change("names", "('CNN', 'FCN')") == ("CNN", "FCN")
    with pytest.raises(SeparatrixError, match="must be a list"):
        change("names", "")


def test_an_unknown_setting_suggests_the_nearest():
    with pytest.raises(
        SeparatrixError, match="there is no setting of demo `cuont`; did you mean `count`"
    ):
        change("cuont", "3")
    with pytest.raises(
        SeparatrixError,
        match="there is no setting of signal-first `seedz`; did you mean `seed` or `seeds`",
    ):
        jobs(["signal-first"], "quick", 0, ["seedz=3"])


@given(st.text(max_size=20))
def test_any_change_is_read_or_refused_in_one_sentence(text):
    try:
        jobs(["signal-first"], "quick", 0, [text])
    except SeparatrixError as error:
        assert "\n" not in str(error)  # noqa: PT017


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_has_settings_for_every_scale(name):
    study = STUDIES[name]
    assert set(study.scales) == set(SCALES)
    for scale in SCALES:
        settings = study.settings(scale, seed=3)
        assert settings.seed == 3
        assert type(settings) is type(study.settings("quick"))
        for setting_name, now in plain_settings(settings).items():
            if setting_name == "seed":
                continue  # it has an option of its own
            if now == ():
                continue  # an empty list is a scale's choice, and has no text
            assert isinstance(now, bool | int | float | str | tuple), (
                f"--set cannot change {setting_name}"
            )
            text = ",".join(map(str, now)) if isinstance(now, tuple) else str(now)
            assert study.settings(scale, 3, {setting_name: text}) == settings
    with pytest.raises(
        SeparatrixError, match="must be one of 'quick', 'laptop', 'full', got 'huge'"
    ):
        study.settings("huge")
