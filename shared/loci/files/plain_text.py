"""Reads plain texts and markdown. They need no parser, so they need no wall: they are found at once."""

from loci.core.errors import Refused
from loci.files.reading import Format, Reading, TextSection

PLAIN: dict[str, Format] = {"txt": "txt", "text": "txt", "log": "txt", "md": "md", "markdown": "md"}


def is_plain(name: str, content: bytes) -> bool:
    """True if the file is a plain text by its name, and nothing in its content says otherwise."""
    return has_plain_name(name) and not content.lstrip().startswith(b"%PDF-") and not _has_zeros(content)


def has_plain_name(name: str) -> bool:
    """True if a file with this name ought to be a plain text."""
    return name.rpartition(".")[2].lower() in PLAIN


def _has_zeros(content: bytes) -> bool:
    """True for packed files, pictures and programs. In a text only UTF-16 has zeros, which its mark says."""
    return b"\0" in content and not content.startswith((b"\xff\xfe", b"\xfe\xff"))


def read_plain(name: str, content: bytes) -> Reading:
    """Split the text into sections, between empty lines and under their headings."""
    text = decoded(content)
    sections: list[TextSection] = []
    heading: tuple[str, ...] = ()
    block: list[str] = []
    first, level = 1, 0
    is_markdown = PLAIN[name.rpartition(".")[2].lower()] == "md"

    def flush(next_level: int) -> None:
        body = "\n".join(block)
        if body.strip():
            sections.append(TextSection(text=body, heading=heading, first_line=first))
        elif 0 < next_level <= level and heading[-1]:  # nothing below the heading has its words
            sections.append(TextSection(text=heading[-1], heading=heading[:-1], first_line=first - 1))

    for number, line in enumerate(text.split("\n"), 1):
        marks = len(line) - len(line.lstrip("#")) if is_markdown else 0
        if 0 < marks <= 6 and line[marks : marks + 1] == " ":
            flush(marks)
            heading = (*heading[: marks - 1], line[marks:].strip().rstrip("#").strip()[:500])
            block, first, level = [], number + 1, marks
        else:
            block.append(line)
    flush(1)
    if not sections:
        raise Refused("The file is empty", "Add it again with text in it", code="FILE_EMPTY")
    return Reading(format=PLAIN[name.rpartition(".")[2].lower()], sections=tuple(sections))


def decoded(content: bytes) -> str:
    """The text of a file: UTF-8, UTF-16 with its mark, else Latin-1; every kind of line end becomes a line feed."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = content.decode("utf-16", "replace")
    else:
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = content.decode("cp1252", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")
