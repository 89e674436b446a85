"""Reads plain texts, markdown and tables of text. Their parsers cannot be attacked by a file, so they need no wall."""

import re

from loci.core.errors import Refused
from loci.files.reading import Format, Reading, TextSection

PLAIN: dict[str, Format] = {"txt": "txt", "text": "txt", "log": "txt", "md": "md", "markdown": "md"}
TABLES: dict[str, Format] = {"csv": "csv", "tsv": "tsv", "tab": "tsv"}
HEADING = re.compile(r"^(#{1,6}) ([^\n]*)", re.MULTILINE)
LONGEST_HEADING = 500
MOST_HEADINGS = 50_000
"""Headings after these are read as text: a file has fewer passages."""


def is_plain(name: str, content: bytes) -> bool:
    """True if the file is a plain text by its name, and nothing in its content says otherwise."""
    return _ending(name) in PLAIN and not content[:1024].lstrip().startswith(b"%PDF-") and not _has_zeros(content)


def is_table(name: str, content: bytes) -> bool:
    """True if the file is a table of text by its name, and nothing in its content says otherwise."""
    begin = content[:1024]
    return _ending(name) in TABLES and not (b"%PDF-" in begin or b"<?xml" in begin or _has_zeros(content))


def has_text_name(name: str) -> bool:
    """True if a file with this name ought to be a plain text or a table of text."""
    return _ending(name) in PLAIN or _ending(name) in TABLES


def _ending(name: str) -> str:
    return name.rpartition(".")[2].lower()


def _has_zeros(content: bytes) -> bool:
    """True for packed files, pictures and programs. In a text only UTF-16 has zeros, which its mark says."""
    return b"\0" in content and not content.startswith((b"\xff\xfe", b"\xfe\xff"))


def read_text(name: str, content: bytes) -> Reading:
    """The reading of a file that is a plain text or a table of text."""
    if _ending(name) in PLAIN:
        return read_plain(name, content)
    from loci.files.extract.delimited import rows_of  # a server that only lists its files does without
    from loci.files.extract.unreadable import Limits, Unreadable

    try:
        said = rows_of(content, Limits())
    except Unreadable as error:
        raise Refused(str(error), error.advice, code=error.code) from None
    return Reading.model_validate({"format": TABLES[_ending(name)], **said})


def read_plain(name: str, content: bytes) -> Reading:
    """The text, below each of its headings."""
    text, format = decoded(content), PLAIN[_ending(name)]
    headings = HEADING.finditer(text) if format == "md" else iter(())
    sections: list[TextSection] = []
    remarks: tuple[str, ...] = ()
    above: tuple[str, ...] = ()
    begin, line, level = 0, 1, 0  # of the text below the last heading

    def flush(end: int, next_level: int) -> None:
        body = text[begin:end]
        if body and not body.isspace():
            sections.append(TextSection(text=body, heading=above, first_line=line))
        elif 0 < next_level <= level and above[-1]:  # nothing below the heading has its words
            sections.append(TextSection(text=above[-1], heading=above[:-1], first_line=line - 1))

    for number, one in enumerate(headings):
        if number == MOST_HEADINGS:
            remarks = (f"Only the first {MOST_HEADINGS:,} headings were read as such",)
            break
        flush(max(begin, one.start() - 1), len(one[1]))
        line += text.count("\n", begin, one.start()) + 1
        level = len(one[1])
        title = one[2][: 2 * LONGEST_HEADING].strip().rstrip("#").strip()[:LONGEST_HEADING]
        above = (*above[: level - 1], title)
        begin = one.end() + 1
    flush(len(text), 1)
    if not sections:
        raise Refused("The file is empty", "Add it again with text in it", code="FILE_EMPTY")
    return Reading(format=format, sections=tuple(sections), remarks=remarks)


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
