"""The encodings of documents: UTF-8, and UTF-16 with a byte order mark. Other bytes may be no text at all."""

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from loci.core.errors import Refused
from loci.markdown.nouns import BOM

Codec = Literal["utf-8", "utf-16-le", "utf-16-be"]

SAMPLE = 8192
"""Bytes that show if a file is text."""
FEW = 4
"""Control characters in a text that are a slip."""
SHARE = 20
"""Characters of a text for each of its control characters. Content with more of those is no text."""
# Those of line ends, tabs, form feeds, old terminals and manual pages are found in texts.
CONTROLS: Final = bytes((*range(8), *range(14, 27), *range(28, 32), 127))
KINDS: Final[Mapping[bytes, str]] = {
    b"\x89PNG\r\n": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"%PDF-": "a PDF",
    b"PK\x03\x04": "a zip archive, as office documents are",
    b"\x1f\x8b": "a gzip archive",
    b"\x7fELF": "a program",
    b"SQLite format 3\0": "a SQLite database",
    b"\xd0\xcf\x11\xe0": "an old office document",
}
MARKS: Final[Mapping[bytes, Codec]] = {BOM_UTF8: "utf-8", BOM_UTF16_LE: "utf-16-le", BOM_UTF16_BE: "utf-16-be"}


@dataclass(frozen=True, slots=True)
class Encoding:
    """The encoding of a text, and the mark that it begins with."""

    codec: Codec
    bom: bytes

    def decode(self, content: bytes) -> str:
        """The text without its mark. Bytes that are not in the encoding become lone surrogates, if that is possible."""
        if self.codec == "utf-8":
            return content[len(self.bom) :].decode("utf-8", "surrogateescape")
        try:
            return content[len(self.bom) :].decode(self.codec, "surrogatepass")
        except UnicodeDecodeError:
            raise Refused(
                "The document is damaged UTF-16", "Save it as UTF-8, then try again", code="NOT_UTF8"
            ) from None

    def encode(self, text: str) -> bytes:
        """The bytes of a text that `decode` gave, edited or not."""
        return self.bom + text.encode(self.codec, "surrogateescape" if self.codec == "utf-8" else "surrogatepass")


def encoding_of(content: bytes) -> Encoding:
    """The encoding that the mark at the beginning says. Without a mark it is UTF-8."""
    bom = next((bom for bom in MARKS if content.startswith(bom)), b"")
    return Encoding(MARKS.get(bom, "utf-8"), bom)


def decode_text(content: bytes) -> tuple[str, bool]:
    """The text with its mark, with U+FFFD for bytes that are not in its encoding; and False if there are such bytes."""
    codec = encoding_of(content).codec
    try:
        return content.decode(codec), True
    except UnicodeDecodeError:
        return content.decode(codec, "replace"), False


def require_text(name: str, content: bytes) -> None:
    """Raise `Refused` if the content of the document with that name is no text."""
    if reason := _no_text(content):
        raise Refused(
            f"{name} is no text: it is {reason}",
            "Give it the ending of what it is, or save it as UTF-8 text",
            code="NOT_TEXT",
        )


def _no_text(content: bytes) -> str | None:
    if content.startswith((BOM_UTF32_LE, BOM_UTF32_BE)):
        return "UTF-32"
    if kind := next((kind for mark, kind in KINDS.items() if content.startswith(mark)), None):
        return kind
    codec = encoding_of(content).codec
    if codec != "utf-8":
        sample = content[:SAMPLE].decode(codec, "replace").removeprefix(BOM)
        # One byte a character. Those that are not in the encoding count as controls.
        return _if_controls(sample.replace("\ufffd", "\0").encode("latin-1", "replace"))
    reason = _if_controls(content[:SAMPLE])
    if reason and any(content[:SAMPLE:][at::2].count(0) * SHARE > len(content[:SAMPLE]) * 8 for at in (0, 1)):
        return "UTF-16 without a byte order mark"
    return reason


def _if_controls(characters: bytes) -> str | None:
    found = len(characters) - len(characters.translate(None, CONTROLS))
    return "bytes that are no text" if found > FEW and found * SHARE > len(characters) else None
