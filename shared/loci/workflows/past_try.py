"""A try of a task after which the task was tried again. A run keeps the newest of them."""

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from loci.core.json import LAST_SECOND

MOST_PAST: Final = 40
LONGEST_ERROR: Final = 200
Moment = Annotated[float, Field(ge=0, le=LAST_SECOND)]
Duration = Annotated[float, Field(ge=-LAST_SECOND, le=1000 * LAST_SECOND)]
"""In milliseconds. A clock may be set back."""


class PastTry(BaseModel):
    """Its task, its number, when it began, how long it took, and the beginning of its error."""

    model_config = ConfigDict(frozen=True)

    task: str
    number: int
    began: Moment
    ms: Duration
    error: Annotated[str, Field(max_length=LONGEST_ERROR)]


def past_try(task: str, number: int, began: float, ms: float, error: str) -> PastTry:
    """The try, with the beginning of its error."""
    shown = error if len(error) <= LONGEST_ERROR else f"{error[: LONGEST_ERROR - 1]}…"
    return PastTry(task=task, number=number, began=began, ms=ms, error=shown)
