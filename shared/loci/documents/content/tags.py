"""The tags of a document, wherever they are written, in one form."""

import re
import unicodedata
from collections.abc import Iterable, Iterator

MOST_TAGS = 100
LONGEST_TAG = 64
# Longer lines are no prose: a tag in one is an accident.
LONGEST_LINE = 10_000
SPACE = re.compile(r"\s+")
COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
TAGS_COMMENT = re.compile(r"\s*tags\s*:(.*)", re.DOTALL | re.IGNORECASE)
# Amalfa writes relations into the same comment, as in [implements: brief-auth].
RELATION = re.compile(r"\[[^\]]*\]")
CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
# Behind a space or an opening bracket, so in no address, no link and no [[note#heading]]; with a letter, so no number.
INLINE = re.compile(r"(?:(?<=^)|(?<=\s)|(?<=(?<!\])\())#(?=[\d_/-]*[^\W\d_])([\w/-]+)")
COLOUR = re.compile(r"(?=.*\d)(?:[0-9a-f]{3}|[0-9a-f]{6}|[0-9a-f]{8})", re.IGNORECASE)


def tags_of(given: Iterable[str], prose: str) -> tuple[str, ...]:
    """Each tag once: those of the front matter, then those that stand in the text; `prose` is the text without code."""
    found = [*_split(given), *_in_comments(prose), *_inline(prose)]
    return tuple(dict.fromkeys(tag for tag in map(normal_tag, found) if tag))[:MOST_TAGS]


def normal_tag(tag: str) -> str:
    """The tag as it is stored and asked for: in lower case, without `#`, `web-sites` for `Web  Sites`."""
    plain = unicodedata.normalize("NFC", tag).strip(" \t\n\r\"'#,;").lower()
    return SPACE.sub("-", plain)[:LONGEST_TAG]


def without_code(prose: str) -> str:
    """The text with spaces where code is within a line."""
    if "`" not in prose:
        return prose
    lines = prose.split("\n")
    return "\n".join(
        CODE.sub(lambda span: " " * len(span[0]), line) if "`" in line and len(line) <= LONGEST_LINE else line
        for line in lines
    )


def _split(values: Iterable[str]) -> Iterator[str]:
    """`a, b` is two tags; so is `#a #b`, but `machine learning` is one."""
    for value in values:
        for part in value.split(","):
            yield from part.split() if part.strip().startswith("#") else [part]


def _in_comments(prose: str) -> Iterator[str]:
    if "<!--" not in prose:
        return
    for comment in COMMENT.findall(without_code(prose)):
        if tags := TAGS_COMMENT.fullmatch(comment):
            yield from _split([RELATION.sub("", tags[1])])


def _inline(prose: str) -> Iterator[str]:
    if "#" not in prose:
        return
    for line in COMMENT.sub("", prose).split("\n"):
        if "#" in line and len(line) <= LONGEST_LINE:
            found = INLINE.findall(CODE.sub("", line) if "`" in line else line)
            yield from (tag.strip("/-") for tag in found if not COLOUR.fullmatch(tag))
