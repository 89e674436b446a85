"""A document with more tags, as bytes: where it has tags already they are joined, else a comment ends it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loci.core.errors import Refused
from loci.documents.content.front_matter import read_front_matter
from loci.documents.content.markdown import Parsed, outline_of, parse
from loci.documents.content.tags import COMMENT, MOST_TAGS, TAGS_COMMENT, tags_of, without_code
from loci.documents.writing.raw_text import Raw, raw
from loci.documents.writing.tag_field import with_tags


@dataclass(frozen=True, slots=True)
class Tagged:
    """The document as it is to be."""

    content: bytes
    added: tuple[str, ...]
    """Tags that it did not have."""
    is_merged: bool
    """There were tags where these were put."""


def tagged(path: str, content: bytes, tags: Sequence[str]) -> Tagged:
    """The document of that path with these tags, too. Doing it twice is the same as once."""
    wanted = checked_tags(tags)
    before = parse(path, content)
    added = tuple(tag for tag in wanted if tag not in before.tags)
    if not added:
        return Tagged(content, (), is_merged=True)
    if len(before.tags) + len(added) > MOST_TAGS:
        raise Refused(f"A document has {MOST_TAGS} tags at most", "Give it fewer", code="TOO_MANY_TAGS")
    for candidate, is_merged in _candidates(path, raw(content), added):
        after = parse(path, candidate)
        if set(after.tags) == {*before.tags, *added} and _is_same_otherwise(before, after):
            return Tagged(candidate, added, is_merged)
    raise Refused(
        f"There is no place in {path} where tags would be read", "Close its code blocks and comments", code="NO_PLACE"
    )


def checked_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """The tags as they are stored, each once; `Refused` where one would not be read again as it is written."""
    found = tuple(tag for given in tags for tag in tags_of([given], ""))
    if not found:
        raise Refused("None of these is a tag", "Give tags of letters, such as security", code="BAD_TAG")
    for tag in found:
        if not tag.isprintable() or set(tag) & set("`<>") or tags_of((), _comment([tag])) != (tag,):
            raise Refused(f"{tag[:80]!r} cannot be written as a tag", "Use letters, digits, - and /", code="BAD_TAG")
    return tuple(dict.fromkeys(found))


def _candidates(path: str, content: Raw, tags: Sequence[str]) -> Iterator[tuple[bytes, bool]]:
    """The bytes with the tags where they may be put, the best place first, and whether tags are there already."""
    matter = read_front_matter(content.lines)
    if matter.lines and not matter.problem:
        begin = len(content.lines[0]) + 1
        if edit := with_tags("\n".join(content.lines[1 : matter.lines - 1]), tags):
            start, behind = content.place(begin + edit.start), content.place(begin + edit.behind)
            yield content.replaced(start, behind, edit.new), True
    text = _prose(path, content, matter.lines)
    for comment in reversed(list(COMMENT.finditer(text))):
        if TAGS_COMMENT.fullmatch(comment[1]):
            said = comment[1].rstrip()
            at = content.place(comment.start(1) + len(said))
            yield content.replaced(at, at, (" " if said[-1] in ":," else ", ") + ", ".join(tags)), True
    line = _comment(tags)
    end = len(content.text)
    if not content.text:
        yield content.replaced(0, 0, f"{line}\n"), False
    elif content.lines[-1]:
        yield content.replaced(end, end, f"\n\n{line}"), False
    else:
        is_blank = len(content.lines) > 1 and not content.lines[-2].strip()
        yield content.replaced(end, end, f"{line}\n" if is_blank else f"\n{line}\n"), False
    if matter.lines < len(content.lines):
        top = content.starts[matter.lines]
        yield content.replaced(top, top, f"{line}\n\n"), False


def _prose(path: str, content: Raw, skip: int) -> str:
    """All lines, with spaces where front matter and code are."""
    kept = list(content.lines)
    code = outline_of(path, kept, skip).code
    for first, behind in ((0, skip), *code):
        kept[first:behind] = [" " * len(line) for line in kept[first:behind]]
    return without_code("\n".join(kept))


def _comment(tags: Sequence[str]) -> str:
    return f"<!-- tags: {', '.join(tags)} -->"


def _is_same_otherwise(before: Parsed, after: Parsed) -> bool:
    """Whether the front matter says the same, but for its tags, and the headings are the same."""

    def rest(one: Parsed) -> dict[str, tuple[str, ...]]:
        return {name: values for name, values in one.front_matter.fields.items() if name not in ("tags", "tag")}

    titles = [[heading.title for heading in one.headings] for one in (before, after)]
    return rest(before) == rest(after) and titles[0] == titles[1]
