"""The errors that a caller can act on.

LociError                 code, what happened, what to do next
├─ NotFound               the named thing does not exist (or belongs to somebody else)
├─ Refused                Loci understood the request and will not do it
│  └─ Conflict            somebody else wrote first
├─ Unavailable            a store cannot be reached now; trying again may help
│  ├─ OutOfTime           the time of the request has ended
│  ├─ NoSpace             the disk is full
│  └─ Damaged             a part of the database cannot be read
└─ Misconfigured          the operator must change something before Loci can run

Any other exception is a bug.
"""

from collections.abc import Mapping
from functools import partial
from typing import ClassVar

from loci.core.json import Json

AS_A_FILE = "Add what is large as a file (add_memory with upload_bytes, or loci add), and read it in run_memory_code:\
 get_memory_path(id)"
"""The advice in the error of a call that is too large."""


class LociError(Exception):
    """An error with a code, a sentence that says what happened, and a sentence that says what to do."""

    default_code: ClassVar[str] = "REFUSED"

    def __init__(
        self, what: str, resolution: str, *, code: str | None = None, details: Mapping[str, Json] | None = None
    ) -> None:
        super().__init__(what)
        self.code = code or self.default_code
        self.what = what
        self.resolution = resolution
        self.details = details or {}
        """Further facts for the caller."""

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle it for another process."""
        return partial(type(self), code=self.code, details=dict(self.details)), (self.what, self.resolution)

    def __str__(self) -> str:
        return " ".join(_sentence(one) for one in (self.what, self.resolution) if one)


class NotFound(LociError):
    default_code = "NOT_FOUND"


class Refused(LociError):
    default_code = "REFUSED"


class Conflict(Refused):
    default_code = "CONFLICT"


class CallsUsedUp(Refused):
    """A key may make no more calls before the next month."""

    default_code = "CALLS_USED_UP"


class Unavailable(LociError):
    default_code = "STORE_UNAVAILABLE"


class OutOfTime(Unavailable):
    default_code = "TOOK_TOO_LONG"


class NoSpace(Unavailable):
    default_code = "NO_SPACE"


class Damaged(Unavailable):
    default_code = "DATABASE_DAMAGED"


class Misconfigured(LociError):
    default_code = "MISCONFIGURED"


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "\n")) else f"{text}."
