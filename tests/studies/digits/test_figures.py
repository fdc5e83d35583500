"""The tables of the study `digits`."""

from separatrix.studies.digits.figures import sensitivity_table
from separatrix.studies.digits.settings import DigitsSettings
from separatrix.studies.digits.trials import DigitsResults


def test_without_variations_there_is_no_table_of_them():
    s = DigitsSettings(source="embedded-digits")
    assert sensitivity_table(s, DigitsResults({}, 0.5)) is None
