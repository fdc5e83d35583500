"""The picture of patches."""

import json

import pytest

from separatrix.engine import Lab


def test_a_picture_of_patches_survives_json_and_is_drawn(tmp_path):
    from separatrix.report import draw, save
    from separatrix.studies import Picture, figure_from
    from separatrix.studies.outcome import Outcome
    from separatrix.studies.stability.figures import patch_picture

    (picture,) = patch_picture(Lab(), {"conv": {}, "whole image": {}}, "embedded-photographs")
    plain = json.loads(json.dumps(Outcome((), (picture,)).plain()))["figures"][0]
    assert figure_from(plain) == picture
    assert isinstance(picture, Picture)
    assert "data:image/png" in draw(picture)
    assert save(picture, tmp_path / "p.png").stat().st_size > 1000
    plain["strips"][0][0][0] = [1, 2, 300]
    with pytest.raises(TypeError, match="three numbers from 0 to 255"):
        figure_from(plain)
