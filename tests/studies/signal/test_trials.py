"""The map that the signal study sketches beside its thresholds."""

import dataclasses

import pytest

from separatrix.engine import Lab
from separatrix.errors import ParameterError
from separatrix.studies.search import find_thresholds
from separatrix.studies.signal.figures import sketch_figures
from separatrix.studies.signal.settings import SCALES, SignalSettings
from separatrix.studies.signal.study import sketch_note
from separatrix.studies.signal.trials import map_settings, sketch_queries


def test_the_sketch_draws_every_place_and_says_that_it_is_one():
    s = SignalSettings(map_places=(1, 3), round=60)
    found = find_thresholds(Lab(workers=0), sketch_queries(s), "map", s.round)
    (figure,), note = sketch_figures(s, found), sketch_note(s)
    assert figure.columns == figure.rows == (1, 3)
    texts = [text for row in figure.texts for text in row]
    assert len(texts) == 4
    assert "not run" not in texts
    assert note.code == "map"
    assert "no claim rests on it" in note.message


def test_a_scale_without_a_map_names_the_study_that_has_one():
    s = SCALES["full"]
    assert map_settings(s) is None
    assert sketch_queries(s) == {}
    figures, note = sketch_figures(s, {}), sketch_note(s)
    assert figures == ()
    assert "separatrix run signal-map" in note.message


def test_the_sketch_measures_the_study_s_own_question():
    s = dataclasses.replace(SCALES["quick"], noise=0.2, margin=0.07, bias=0.4, seed=5)
    m = map_settings(s)
    assert (m.noise, m.margin, m.bias, m.seed) == (0.2, 0.07, 0.4, 5)
    assert m.target == pytest.approx(s.target(m.patches, s.noise))
    with pytest.raises(
        ParameterError,
        match="the `map_places` of signal must be at least two different numbers, or none",
    ):
        SignalSettings(map_places=(4,))
