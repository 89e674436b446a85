"""The tags of documents, wherever they are written."""

import re
import unicodedata
from collections.abc import Iterable, Iterator

from loci.markdown.scanners import comments, without_brackets, without_code_spans, without_comments

MOST_TAGS = 100
LONGEST_TAG = 64
# A longer line is not prose: what looks like a tag in it is one by accident.
LONGEST_LINE = 10_000
SPACE = re.compile(r"\s+")
TAGS_COMMENT = re.compile(r"\s*tags\s*:(.*)", re.DOTALL | re.IGNORECASE)
# After a space or an opening bracket, so not in an address, a link or [[note#heading]]; with a letter, so not a number.
HASHTAG = re.compile(r"(?:(?<=^)|(?<=\s)|(?<=(?<!\])\())#(?=[\d_/-]*[^\W\d_])([\w/-]+)")
COLOUR = re.compile(r"(?=.*\d)(?:[0-9a-f]{3}|[0-9a-f]{6}|[0-9a-f]{8})", re.IGNORECASE)


def tags_of(given: Iterable[str], prose: str) -> tuple[str, ...]:
    """The tags, each once: first `given`, from the front matter, then tags in `prose`, the text without code blocks."""
    found = [*_split(given), *_in_comments(prose), *_hashtags(prose)]
    return tuple(dict.fromkeys(tag for tag in map(normal_tag, found) if tag))[:MOST_TAGS]


def normal_tag(tag: str) -> str:
    """The form in which tags are stored and compared: lower case, without `#`, `web-sites` for `Web  Sites`."""
    plain = unicodedata.normalize("NFC", tag).strip(" \t\n\r\"'#,;").lower()
    return SPACE.sub("-", plain)[:LONGEST_TAG]


def with_ancestors(tags: Iterable[str]) -> tuple[str, ...]:
    """The tags, and the tags in which they are nested: `in/nested` is an `in`, too."""
    parts = (tag.split("/") for tag in tags)
    return tuple(dict.fromkeys("/".join(some[:end]) for some in parts for end in range(1, len(some) + 1)))


def without_inline_code(prose: str) -> str:
    """The text with spaces in place of `code` within a line."""
    if "`" not in prose:
        return prose
    return "\n".join(
        without_code_spans(line, lambda span: " " * len(span)) if len(line) <= LONGEST_LINE else line
        for line in prose.split("\n")
    )


def _split(values: Iterable[str]) -> Iterator[str]:
    """Single tags: `a, b` is two, and so is `#a #b`, but `machine learning` is one."""
    for value in values:
        for part in value.split(","):
            yield from part.split() if part.strip().startswith("#") else [part]


def _in_comments(prose: str) -> Iterator[str]:
    if "<!--" not in prose:
        return
    for comment in comments(without_inline_code(prose)):
        if tags := TAGS_COMMENT.fullmatch(comment[1]):
            # Amalfa writes relations into the same comment: [implements: brief-auth].
            yield from _split([without_brackets(tags[1])])


def _hashtags(prose: str) -> Iterator[str]:
    if "#" not in prose:
        return
    for line in without_comments(prose).split("\n"):
        if "#" in line and len(line) <= LONGEST_LINE:
            found = HASHTAG.findall(without_code_spans(line))
            yield from (tag.strip("/-") for tag in found if not COLOUR.fullmatch(tag))
