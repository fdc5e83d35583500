"""The shared cache of compiled programs."""

from running import compilation_cache  # noqa: F401
