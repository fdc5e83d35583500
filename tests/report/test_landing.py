"""The first screen: cards, headline figures, contradictions, and claims by question."""

from run_documents import documents, write

from separatrix.report.content import compose
from separatrix.report.kept import Kept, KeptFigure, KeptVerdict
from separatrix.report.landing import banner_of, cards_of, groups_of
from separatrix.report.read import read_run


def kept(verdict, statement="The CNN's risk is lower.", scale="full"):
    texts = ("reason", "effect", "study", "folder", "command", "commit", "device")
    about = dict.fromkeys(texts, "") | {"scale": scale}
    about |= {"kind": "", "formula": "", "started": "2026-11-16T10:00:00"}
    verdicts = {"lahoti.first": KeptVerdict(statement, verdict, **about)}
    return Kept(verdicts, {"signal-first": KeptFigure("Risk", "A caption.", scale, "<svg/>")})


def report_of(tmp_path, beside, **changes):
    docs = documents()
    docs["outcome"] |= changes
    return compose(read_run(write(tmp_path, docs)), beside)


def test_a_card_has_the_counts_of_both_runs_and_flags_contradictions(tmp_path):
    for there, flagged in (("supported", 0), ("refuted", 1), ("undecided", 0)):
        beside = kept(there)
        (card,) = cards_of(report_of(tmp_path, beside), beside)
        counts = {verdict: (here, kept) for verdict, here, kept in card.counts}
        assert counts["supported"] == (1, int(there == "supported"))
        assert len(card.contradictions) == flagged
        assert f"supported here; {there} at full scale" in card.sentence
        assert card.kept_figure is not None
        assert card.kept_scales == "full scale"


def test_a_kept_run_says_its_scale_and_shows_its_figure_beside_smaller_runs_only(tmp_path):
    for scale, shown in (("quick", False), ("laptop", True), ("full", True)):
        beside = kept("supported", scale=scale)
        (card,) = cards_of(report_of(tmp_path, beside), beside)
        place = "full scale" if scale == "full" else f"the {scale} scale"
        assert f"supported here; supported at {place}." in card.sentence
        assert card.kept_scales == place
        assert (card.kept_figure is not None) == shown


def test_the_answer_of_a_study_is_the_sentence_and_its_marked_figure_the_headline(tmp_path):
    docs = documents()
    docs["outcome"]["figures"][1]["headline"] = True
    docs["outcome"] |= {"answer": "Sharing saves samples.", "question": "Does sharing pay?"}
    report = compose(read_run(write(tmp_path, docs)), kept("supported"))
    (card,) = cards_of(report, kept("supported"))
    assert card.sentence == "Sharing saves samples."
    assert card.figure.figure.name == "risk-1"
    assert groups_of(report)[0][0].question == "Does sharing pay?"


def test_of_two_headlines_the_one_with_laws_on_two_logarithmic_axes_comes_first(tmp_path):
    docs = documents()
    for figure in docs["outcome"]["figures"]:
        figure["headline"] = True
        figure["series"] *= 2
    docs["outcome"]["figures"][0]["x"]["log"] = False
    report = compose(read_run(write(tmp_path, docs)), kept("supported"))
    (card,) = cards_of(report, kept("supported"))
    assert card.figure.figure.name == "risk-1"


def test_claims_that_were_not_measured_are_not_among_the_groups(tmp_path):
    docs = documents()
    for finding in (docs["claims"][0], docs["outcome"]["findings"][0]):
        finding |= {"verdict": "not measured", "conditions_met": None, "evidence": []}
    report = compose(read_run(write(tmp_path, docs)), kept("supported"))
    assert groups_of(report) == ()


def test_the_scale_is_said_in_words(tmp_path):
    name, words = banner_of(report_of(tmp_path, kept("supported")))
    assert name == "quick"
    assert "smoke test" in words
    assert "Kept verdicts are beside" in words
    assert "Kept" not in banner_of(report_of(tmp_path, kept("supported", "Another.")))[1]
    assert banner_of(report_of(tmp_path, kept("supported"), scale="mine")) == ("mine", "")
