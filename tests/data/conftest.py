"""Fixtures of the tests of data."""

from data_files import small  # noqa: F401 - a fixture
