"""Structured remarks that accompany a result and qualify it."""

import dataclasses
from typing import Literal


@dataclasses.dataclass(frozen=True)
class Note:
    """A remark on a result.

    Args:
        code: A code that programs can match, such as `left-censored`.
        severity: `info`, `warning` or `error`.
        message: A sentence for people.
    """

    code: str
    severity: Literal["info", "warning", "error"]
    message: str
