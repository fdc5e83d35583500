"""The settings of the study `cifar`."""

import pytest

from separatrix.errors import SeparatrixError
from separatrix.studies import find_study
from separatrix.studies.cifar.settings import SCALES, CifarSettings

S = CifarSettings(source="embedded-digits", depths=(2,))


def test_conditions_and_settings():
    assert "embedded-digits instead of CIFAR-10" in S.outside()
    assert (
        CifarSettings(source="cifar10", depths=(2, 4, 6), epochs=125, most_steps=0).outside() == ""
    )
    assert S.steps() == 487  # 24 passes over 1297 images in batches of 64
    assert "24 epochs instead of 125" in S.outside()
    short = S.replace(most_steps=100)  # 6400 rows
    assert short.steps() == 100
    assert "4.9 epochs instead of 125" in short.outside()
    assert not SCALES["full"].most_steps
    with pytest.raises(
        SeparatrixError, match="the `cnn_widths` of cifar must be an integer >= 1, got 0"
    ):
        find_study("cifar").settings("quick", 0, {"cnn_widths": "0"})
