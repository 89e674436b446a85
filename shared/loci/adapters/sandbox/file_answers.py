"""The answer of the program that reads a file. It comes from behind the wall, so it is checked and never believed."""

from pydantic import ValidationError

from loci.core.errors import Refused
from loci.files.reading import Answer, Reading

ENDED = {
    "time": "It takes too long to read",
    "memory": "It needs too much memory to be read",
    "disk": "Too much was read out of it",
}


def checked(said: bytes) -> Reading:
    """The reading in this answer. Raises `Refused` with the reason if nothing could be read."""
    try:
        answer = Answer.model_validate_json(said)
    except ValidationError:
        answer = Answer()
    if answer.reading is None:
        raise Refused(
            answer.unreadable or "The program that reads it gave no valid answer",
            answer.advice or "Save it again in its own program",
            code=answer.code or "FILE_UNREADABLE",
        )
    return answer.reading


def stopped(why: str) -> Refused:
    """The error of a file whose program was ended."""
    told = ENDED.get(why)
    return Refused(
        told or "The program that reads it has crashed",
        "Split it into smaller files" if told else "Open it in its own program and save it again",
        code="FILE_TOO_LARGE" if told else "FILE_UNREADABLE",
    )
