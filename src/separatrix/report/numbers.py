"""Numbers for readers: few digits, and more where an interval needs them."""

import math
import re
from collections.abc import Iterable
from typing import Any

NOTHING = "—"
NOT_MEASURED = "not measured"
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_PROBABILITY = re.compile(r"(^|[\s(])p([ -]?values?)?($|[\s)])", re.IGNORECASE)


def number(value: float | None, digits: int = 4) -> str:
    """A number with a few significant digits, as text.

    Integers have all their digits; numbers just below 1 have enough digits to differ from 1.

    Args:
      value: the number; None, NaN and infinity give a dash.
      digits: how many significant digits.

    >>> [number(value) for value in (0.64157, 1000.0, 12345, 0.9998980, 1.4441e-07, -0.25, None)]
    ['0.6416', '1000', '12,345', '0.9999', '1.44×10⁻⁷', '−0.25', '—']
    """
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return NOTHING
    size = abs(value)
    if size == 0:
        return "0"
    whole = isinstance(value, int) or value.is_integer()
    if size >= (1e9 if whole else 1e6) or size < 1e-4:
        return _scientific(value, min(digits, 3))
    if whole:
        return _signed(_grouped(f"{int(size)}"), value)
    decimals = max(0, digits - 1 - math.floor(math.log10(size)))
    if 0.9 < size < 1:  # an accuracy of 0.99987 is not "1": two digits of 1 - size
        decimals = min(6, max(decimals, 1 - math.floor(math.log10(1 - size))))
    return _signed(_grouped(_stripped(f"{size:.{decimals}f}")), value)


def interval(estimate: float | None, low: float | None = None, high: float | None = None) -> str:
    """An estimate with its interval, as text; without an estimate, the bounds in words.

    Args:
      estimate: the estimate, if there is one.
      low: the lower end; None if it is open.
      high: the upper end; None if it is open.

    >>> interval(0.64157, 0.60805, 0.68424), interval(240, 131, 522), interval(0.0, 0.0, 0.0)
    ('0.642 [0.608, 0.684]', '240 [131, 522]', '0 [0, 0]')
    >>> interval(None, low=4096), interval(None, None, 64), interval(0.5), interval(None)
    ('at least 4096', 'at most 64', '0.5', 'not measured')
    """
    estimate, low, high = (_finite(value) for value in (estimate, low, high))
    write = _writer([value for value in (estimate, low, high) if value is not None])
    if estimate is None:
        if low is not None and high is not None:
            return f"between {write(low)} and {write(high)}"
        if low is not None:
            return f"at least {write(low)}"
        return NOT_MEASURED if high is None else f"at most {write(high)}"
    if low is None and high is None:
        return number(estimate)
    ends = [NOTHING if end is None else write(end) for end in (low, high)]
    return f"{write(estimate)} [{ends[0]}, {ends[1]}]"


def probability(value: float | None) -> str:
    """A p-value; below a thousandth, the text says no more than that.

    >>> probability(0.0312), probability(1e-12), probability(None)
    ('0.031', '<0.001', '—')
    """
    if value is not None and 0 <= value < 0.001:
        return "<0.001"
    return number(value, 2)


def cell(value: Any, column: str = "") -> str:
    """A table cell of any kind.

    >>> cell(True), cell(None), cell("CNN"), cell(0.64157), cell(1e-9, "p-value"), cell([1, 2.5])
    ('yes', '—', 'CNN', '0.6416', '<0.001', '1, 2.5')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return NOTHING
    if isinstance(value, int | float):
        return probability(value) if _PROBABILITY.search(column) else number(value)
    if isinstance(value, list | tuple):
        return ", ".join(cell(item, column) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {cell(item, str(key))}" for key, item in value.items())
    return str(value)


def duration(seconds: float | None) -> str:
    """A measured time, as text.

    >>> duration(0.0312), duration(75.2), duration(7384), duration(None)
    ('0.031 s', '1 min 15 s', '2 h 3 min', '—')
    """
    if _finite(seconds) is None or seconds is None:
        return NOTHING
    if seconds < 60:
        return f"{number(seconds, 2 if seconds < 10 else 3)} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def memory(size: float | None) -> str:
    """A number of bytes, as text.

    >>> memory(1536 * 1024**2), memory(12), memory(None)
    ('1.5 GiB', '12 bytes', '—')
    """
    if _finite(size) is None or size is None:
        return NOTHING
    for unit, scale in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if size >= scale:
            return f"{number(size / scale, 3)} {unit}"
    return f"{number(size)} bytes"


def tick(value: float, powers: bool = False) -> str:
    """A tick's label on a logarithmic axis, in full or as a power of ten.

    >>> [tick(value) for value in (0.001, 1.0, 1000.0)]
    ['0.001', '1', '1000']
    >>> [tick(value, powers=True) for value in (1e-7, 1.0, 2e6)]
    ['10⁻⁷', '1', '2×10⁶']
    """
    if not powers:
        return _grouped(_stripped(f"{value:.6f}"))
    text = _scientific(value, 3)
    if text.endswith("×10⁰"):
        return text[:-4]
    return text[2:] if text.startswith("1×") else text


def number_or_none(value: Any) -> float | None:
    """The value if it is a number, which a file of somebody else's need not hold.

    >>> number_or_none(3), number_or_none("3"), number_or_none(True)
    (3, None, None)
    """
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _writer(values: list[float]) -> Any:
    """A function that writes the numbers of one interval.

    All have the same number of decimals where their sizes are similar.
    """
    sizes = [abs(value) for value in values if value != 0]
    alike = len(set(values)) < 2 or all(float(value).is_integer() for value in values)
    if alike or max(sizes) >= 1e6 or max(sizes) < 1e-4:
        return lambda value: number(value, 3)
    if (
        len({value > 0 for value in values}) == 1
        and len(sizes) == len(values)
        and max(sizes) > 10 * min(sizes)
    ):
        return lambda value: number(value, 3)
    width = max(values) - min(values)
    exponent = math.floor(math.log10(width))
    # The width of the interval shows with one digit, or with two if the first one is small.
    needed = -exponent + (width / 10**exponent < 3)
    decimals = min(8, max(0, needed, 2 - math.floor(math.log10(max(sizes)))))
    return lambda value: _signed(_grouped(f"{abs(value):.{decimals}f}"), round(value, decimals))


def _scientific(value: float, digits: int) -> str:
    mantissa, exponent = f"{abs(value):.{digits - 1}e}".split("e")
    return _signed(f"{_stripped(mantissa)}×10{str(int(exponent)).translate(_SUPERSCRIPTS)}", value)


def _stripped(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def _grouped(text: str) -> str:
    whole, dot, rest = text.partition(".")
    return (f"{int(whole):,}" if len(whole) > 4 else whole) + dot + rest


def _signed(text: str, value: float) -> str:
    return f"−{text}" if value < 0 else text


def decided_at(claim: dict[str, Any]) -> str:
    """The level at which a claim was decided, as a text; empty where chance does not enter.

    >>> decided_at({"kind": "comparison", "level": 0.99583})
    '99.6 %'
    >>> decided_at({"kind": "identity", "level": 0.99583})
    ''
    """
    level = claim.get("level")
    if claim.get("kind") in ("certificate", "identity") or not isinstance(level, int | float):
        return ""
    return f"{100 * level:.3g} %" if level < 0.9995 else f"{100 * level:.5g} %"


def levels_in_words(claims: Iterable[dict[str, Any]]) -> str:
    """The levels that decided the claims of each owner, and the level that is shown.

    >>> levels_in_words([{"paper": "liang", "kind": "trend", "level": 0.99583}])
    'decided at 99.6 % (liang), at most 5 % for any wrong one per owner; intervals are shown at 95
        %'
    """
    levels: dict[str, str] = {}
    for claim in claims:
        if text := decided_at(claim):
            levels.setdefault(claim["paper"], text)
    if not levels:
        return "decided and shown at 95 %"
    owners = ", ".join(f"{text} ({paper})" for paper, text in levels.items())
    return (
        f"decided at {owners}, at most 5 % for any wrong one per owner; intervals are shown at 95 %"
    )
