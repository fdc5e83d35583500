"""Fixtures of the tests of commands."""

from data_files import small  # noqa: F401 - a fixture
