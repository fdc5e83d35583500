"""Reading a run: damage is named in one sentence."""

import copy
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from run_documents import EVIL, NOTHING_DRAWN, RUN, documents, write

from separatrix.errors import SeparatrixError
from separatrix.report import write_report
from separatrix.report.content import compose
from separatrix.report.html import html_pages
from separatrix.report.markdown import markdown_page
from separatrix.report.read import read_run


def without(docs, name, *path):
    docs = copy.deepcopy(docs)
    at = docs[name]
    for key in path[:-1]:
        at = at[key]
    del at[path[-1]]
    return docs


DAMAGED = {
    "claims are missing": documents(claims=None),
    "claims are cut": documents(claims='[{"id": "lahoti.fi'),
    "claims are no list": documents(claims={}),
    "claims are too deep": documents(claims="[" * 100_000),
    "a claim is no object": documents(claims=[3]),
    "a claim has no evidence": without(documents(), "claims", 0, "evidence"),
    "a verdict is unknown": documents(claims=[documents()["claims"][0] | {"verdict": "maybe"}]),
    "the outcome is missing": documents(outcome=None),
    "the outcome is cut": documents(outcome="{"),
    "a series has no y": without(documents(), "outcome", "figures", 0, "series", 0, "y"),
    "a series is uneven": documents(
        outcome=json.loads(json.dumps(documents()["outcome"]).replace("[0.2, 0.1, 0.0]", "[0.2]"))
    ),
    "a risk is text": documents(
        outcome=json.loads(
            json.dumps(documents()["outcome"]).replace("[0.2, 0.1, 0.0]", '[0.2, "x", 1]')
        )
    ),
    "a row is short": documents(
        outcome=json.loads(
            json.dumps(documents()["outcome"]).replace('["FCN", null, 0.5]', '["FCN"]')
        )
    ),
    "the manifest is cut": documents(manifest="{"),
    "the manifest has no runs": documents(manifest={}),
}


@pytest.mark.parametrize("docs", DAMAGED.values(), ids=DAMAGED)
def test_damage_is_told_in_one_sentence_and_the_old_report_stays(tmp_path, docs):
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "index.html").write_text("old")
    with pytest.raises(SeparatrixError) as error:
        write_report(write(tmp_path, docs))
    assert "\n" not in str(error.value)
    assert [file.read_text() for file in (tmp_path / "report").rglob("*")] == ["old"]


def paths(item, at=()):
    yield at
    for key in (
        item if isinstance(item, dict) else range(len(item)) if isinstance(item, list) else ()
    ):
        yield from paths(item[key], (*at, key))


GOOD = {name: each for name, each in documents().items() if name != "manifest"} | {
    "manifest": {"runs": [RUN, RUN]}
}


junk = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        1e308,
        10**400,
        float("nan"),
        "",
        EVIL,
        [],
        [None],
        ["x"],
        {},
        {"a": 1},
        "\x00\ud800",
    ]
)


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.sampled_from([path for path in paths(GOOD) if len(path) > 1]), junk)
def test_any_spoiled_value_is_shown_or_told(tmp_path, path, value):
    docs = copy.deepcopy(GOOD)
    at = docs
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    told = ""
    try:
        report = compose(read_run(write(tmp_path, docs)))
    except SeparatrixError as error:
        told = str(error)
        report = None
    if report is None:
        assert "\n" not in told
        return
    drawn = {view.anchor: NOTHING_DRAWN for study in report.studies for view in study.figures}
    "".join(html_pages(report, drawn).values()).encode()
    markdown_page(report).encode()
