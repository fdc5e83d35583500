"""Structured remarks that travel with a result: what a reader must know before believing a number."""

import dataclasses
from typing import Literal


@dataclasses.dataclass(frozen=True)
class Note:
    """A remark with a code that programs can match and a sentence that people can read.

    >>> Note("left-censored", "warning", "every trial at the smallest size succeeded").severity
    'warning'
    """

    code: str
    severity: Literal["info", "warning", "error"]
    message: str
