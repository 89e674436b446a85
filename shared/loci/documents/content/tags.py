"""The tags of a document, from its front matter, its comments and its text, in one normal form."""

import re
import unicodedata
from collections.abc import Iterable, Iterator

MOST_TAGS = 100
LONGEST_TAG = 64
# A longer line is not prose: what looks like a tag in it is one by accident.
LONGEST_LINE = 10_000
SPACE = re.compile(r"\s+")
COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
TAGS_COMMENT = re.compile(r"\s*tags\s*:(.*)", re.DOTALL | re.IGNORECASE)
# Amalfa writes relations into the same comment: [implements: brief-auth].
RELATION = re.compile(r"\[[^\]]*\]")
INLINE_CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
# After a space or an opening bracket, so not in an address, a link or [[note#heading]]; with a letter, so not a number.
HASHTAG = re.compile(r"(?:(?<=^)|(?<=\s)|(?<=(?<!\])\())#(?=[\d_/-]*[^\W\d_])([\w/-]+)")
COLOUR = re.compile(r"(?=.*\d)(?:[0-9a-f]{3}|[0-9a-f]{6}|[0-9a-f]{8})", re.IGNORECASE)


def tags_of(given: Iterable[str], prose: str) -> tuple[str, ...]:
    """Each tag once: the given ones of the front matter first, then those in `prose`, the text without code blocks."""
    found = [*_split(given), *_in_comments(prose), *_hashtags(prose)]
    return tuple(dict.fromkeys(tag for tag in map(normal_tag, found) if tag))[:MOST_TAGS]


def normal_tag(tag: str) -> str:
    """The form in which tags are stored and compared: lower case, without `#`, `web-sites` for `Web  Sites`."""
    plain = unicodedata.normalize("NFC", tag).strip(" \t\n\r\"'#,;").lower()
    return SPACE.sub("-", plain)[:LONGEST_TAG]


def without_inline_code(prose: str) -> str:
    """The text with spaces in place of `code` within a line."""
    if "`" not in prose:
        return prose
    lines = prose.split("\n")
    return "\n".join(
        INLINE_CODE.sub(lambda span: " " * len(span[0]), line) if "`" in line and len(line) <= LONGEST_LINE else line
        for line in lines
    )


def _split(values: Iterable[str]) -> Iterator[str]:
    """Single tags: `a, b` is two, and so is `#a #b`, but `machine learning` is one."""
    for value in values:
        for part in value.split(","):
            yield from part.split() if part.strip().startswith("#") else [part]


def _in_comments(prose: str) -> Iterator[str]:
    if "<!--" not in prose:
        return
    for comment in COMMENT.findall(without_inline_code(prose)):
        if tags := TAGS_COMMENT.fullmatch(comment):
            yield from _split([RELATION.sub("", tags[1])])


def _hashtags(prose: str) -> Iterator[str]:
    if "#" not in prose:
        return
    for line in COMMENT.sub("", prose).split("\n"):
        if "#" in line and len(line) <= LONGEST_LINE:
            found = HASHTAG.findall(INLINE_CODE.sub("", line) if "`" in line else line)
            yield from (tag.strip("/-") for tag in found if not COLOUR.fullmatch(tag))
