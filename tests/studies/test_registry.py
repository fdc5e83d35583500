"""The list of studies: every study has complete claims of its own."""

import pytest

from separatrix.errors import SeparatrixError
from separatrix.studies import PAPERS, STUDIES, find_study


def test_claims_are_complete_and_unlike():
    claims = [claim for study in STUDIES.values() for claim in study.claims]
    assert len({claim.id for claim in claims}) == len(claims)
    for claim in claims:
        assert claim.paper in PAPERS
        for words in (claim.statement, claim.citation, claim.conditions):
            assert words.strip() == words != ""
        assert claim.statement.endswith(".")
    for name, study in STUDIES.items():
        assert study.name == name
        assert study.claims
        assert study.title
        assert study.summary
        assert "\n" not in study.summary


def test_an_unknown_study_suggests_the_nearest():
    with pytest.raises(
        SeparatrixError, match="there is no study `patern-readout`; did you mean `pattern-readout`"
    ):
        find_study("patern-readout")
