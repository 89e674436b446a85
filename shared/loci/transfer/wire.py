"""The requests and answers of `/transfer`, on both sides of the wire."""

from base64 import b64decode
from typing import Annotated, Any, Final, Literal, assert_never

from pydantic import BaseModel, ConfigDict, Field

from loci.core.errors import Refused
from loci.core.json import JsonObject
from loci.transfer.items import Clash, LeftOut, New, Same, Verdict, Wish

PIECE: Final = 2_500_000
"""Bytes of contents in one request or answer: as base64, with the rest, they are below what Lambda takes."""
MOST: Final = 500
Hash = Field(pattern="^[0-9a-f]{64}$")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Read(_Strict):
    """Asks for the bytes of a content, from a place on."""

    part: str
    key: str = Field(max_length=2000)
    content: str = Field(max_length=200)
    begin: int = Field(default=0, ge=0)


class Put(_Strict):
    """Brings a piece of a content."""

    sha256: str = Hash
    begin: int = Field(ge=0, lt=10**12)
    base64: str

    def piece(self) -> bytes:
        """The bytes. Raises `Refused`."""
        return decoded(self.base64)


class Take(_Strict):
    """Brings an item. Contents that are not in it came before, in pieces."""

    item: dict[str, Any]
    contents: dict[str, str] = {}


class Wanted(_Strict):
    """A wish on the wire."""

    both: bool = False
    programs: bool = False

    def wish(self) -> Wish:
        """The wish. `programs` is for the person at this machine: over HTTP, it is not granted."""
        return Wish(self.both, from_afar=True)


class Request(_Strict):
    """One of these."""

    read: list[Read] = Field(default=[], max_length=MOST)
    look: list[dict[str, Any]] = Field(default=[], max_length=MOST)
    held: list[Annotated[str, Hash]] = Field(default=[], max_length=MOST)
    put: list[Put] = Field(default=[], max_length=MOST)
    take: list[Take] = Field(default=[], max_length=MOST)
    wish: Wanted = Wanted()
    end: bool = False

    @property
    def only_reads(self) -> bool:
        """True if it changes nothing."""
        return not (self.put or self.take or self.end)


def decoded(text: str) -> bytes:
    """The bytes of this base64. Raises `Refused`."""
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise Refused("A content is no base64", "Send it again", code="BAD_REQUEST") from None


Word = Literal["new", "same", "conflict", "left out"]


def verdict_view(verdict: Verdict) -> JsonObject:
    """The verdict on the wire."""
    match verdict:
        case New():
            return {"is": "new"}
        case Same():
            return {"is": "same"}
        case Clash(why):
            return {"is": "conflict", "why": why}
        case LeftOut(why):
            return {"is": "left out", "why": why}
        case _:
            assert_never(verdict)


def verdict_of(value: Any) -> Verdict:
    """The verdict of the wire."""
    match value:
        case {"is": "new"}:
            return New()
        case {"is": "same"}:
            return Same()
        case {"is": "conflict", "why": str(why)}:
            return Clash(why)
        case {"is": "left out", "why": str(why)}:
            return LeftOut(why)
        case _:
            raise Refused("The server answers something unknown", "Use the same version of Loci on both sides")


def wish_view(wish: Wish) -> JsonObject:
    """The wish on the wire."""
    return {"both": wish.both, "programs": wish.programs}
