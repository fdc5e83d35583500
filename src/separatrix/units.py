"""Times and sizes in the unit that a reader would choose, with two significant digits."""

import math

_TIMES = (("d", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3))
_SIZES = (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0))


def human_seconds(seconds: float) -> str:
    """A time for a person to read.

    >>> [human_seconds(seconds) for seconds in (0.0123, 4.26, 78.0, 10500.0, 250000.0)]
    ['12 ms', '4.3 s', '1.3 min', '2.9 h', '2.9 d']
    """
    return _in_units(seconds, _TIMES)


def human_bytes(size: float) -> str:
    """A number of bytes for a person to read, in powers of 1000.

    >>> [human_bytes(size) for size in (12, 999_999, 1.5e9, 12.3e9)]
    ['12 B', '1 MB', '1.5 GB', '12 GB']
    """
    return _in_units(size, _SIZES)


def _in_units(value: float, units: tuple[tuple[str, float], ...]) -> str:
    """The value in the largest unit of which it holds at least one, after rounding."""
    smallest = units[-1]
    name, unit = next(
        ((name, unit) for name, unit in units if _rounded(value / unit) >= 1), smallest
    )
    return f"{_rounded(value / unit):g} {name}"


def _rounded(value: float) -> float:
    """The value with two significant digits, or without decimals from 100 on."""
    if value == 0:
        return 0.0
    return round(value, max(0, 1 - math.floor(math.log10(abs(value)))))
