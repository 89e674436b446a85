"""Everything that reads a text of a caller or a document takes time in proportion to it."""

from contextlib import suppress
from datetime import date

import pytest

from loci.authoring.edit_draft import append, replace_exact, replace_section
from loci.authoring.relinking import relinked
from loci.authoring.tagging import tagged
from loci.core.errors import LociError
from loci.documents.document import ids_for
from loci.documents.ingest.local_files import checked_path
from loci.markdown.date_ranges import asked_for_newest, parse_date_range
from loci.markdown.dates import first_day
from loci.markdown.excerpt import ExcerptRequest, read_excerpt
from loci.markdown.front_matter import read_front_matter
from loci.markdown.links import inline_links
from loci.markdown.markdown import parse
from loci.markdown.nouns import relation_named
from loci.markdown.tags import normal_tag
from loci.mcp.tool import wire_name
from loci.search.passages import chunks, passages
from loci.search.snippet import snippet
from loci.search.words import query_words
from tests.support.each import each
from tests.unit.linear.growth import Read, faulty_growth
from tests.unit.linear.shapes import KNOWN, LARGE, document_shapes, repeated, simple_shapes

REFERENCES = {"A": {"href": "a.md"}}
TODAY = date(2026, 1, 17)


def into_passages(text: str) -> None:
    """All that an ingest does before it embeds."""
    parsed = parse("a.md", text.encode())
    found = passages(parsed.text, parsed.blocks, lambda texts: [len(one) // 4 for one in texts])
    chunks("a", "a.md", parsed.title, parsed.text, found)


def either(read: Read) -> Read:
    """To be refused is an answer, too."""

    def tried(text: str) -> None:
        with suppress(LociError, ValueError):
            read(text)

    return tried


OF_DOCUMENTS: dict[str, Read] = {
    "markdown": into_passages,
    "plain text": lambda text: parse("a.txt", text.encode()),
    "adding tags": either(lambda text: tagged("a.md", text.encode(), ["new"])),
    "appending": either(lambda text: append("a.md", text.encode(), "more", None)),
    "a section": either(lambda text: replace_section("a.md", f"# x\n\n{text}".encode(), "more", "x")),
    "an exact edit": either(lambda text: replace_exact("a.md", f"{text}\n\nlast".encode(), "last", "end")),
    "a text that is not there": either(lambda text: replace_exact("a.md", text.encode(), f"{text}.", "end")),
    "new links": either(lambda text: relinked("a.md", text.encode(), {("wiki", "a"): "b", ("path", "a"): "b"})),
    "an excerpt": either(lambda text: read_excerpt(text, ExcerptRequest(heading="x"), lambda texts: [1] * len(texts))),
}
OF_ARGUMENTS: dict[str, Read] = {
    "links": lambda text: [*inline_links(text, REFERENCES)],
    "front matter": lambda text: read_front_matter(["---", *text.split("\n"), "---"]),
    "a tag": normal_tag,
    "a day": first_day,
    "a range of days": either(lambda text: parse_date_range(text, TODAY)),
    "a question for what is newest": asked_for_newest,
    "a question": query_words,
    "a snippet": lambda text: snippet(text, ["a", "jan", "it'", "x_y"], 240),
    "the name of a relation": either(relation_named),
    "the name of a tool": either(wire_name),
    "a heading that is asked for": either(
        lambda text: read_excerpt("# x\n", ExcerptRequest(heading=text), lambda texts: [1] * len(texts))
    ),
    "the path of a document": either(lambda text: checked_path(f"{text}.md")),
    "the id of a path": lambda text: [*ids_for(text)],
}


def slow(readers: dict[str, Read], *, most: int, of_documents: bool) -> list[str]:
    shapes = [*document_shapes()] if of_documents else [*simple_shapes()]
    return [
        f"{name}: {fault}: {shape}"
        for name, read in readers.items()
        for shape, make in shapes
        if (fault := faulty_growth(read, make, most))
    ]


@each("name", KNOWN)
def test_what_has_stopped_a_server_is_read_at_once(name: str) -> None:
    assert faulty_growth(into_passages, repeated(*KNOWN[name]), most=16_000) is None


@each("name", LARGE)
def test_twice_the_document_takes_twice_the_time(name: str) -> None:
    assert faulty_growth(into_passages, LARGE[name], most=256_000) is None


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", OF_DOCUMENTS)
@pytest.mark.parametrize("shape", LARGE)
def test_no_reader_of_documents_is_slow_up_to_the_largest(name: str, shape: str) -> None:
    assert faulty_growth(OF_DOCUMENTS[name], LARGE[shape], most=10_000_000) is None


def test_the_readers_of_documents_are_not_slow() -> None:
    assert slow({"markdown": into_passages}, most=1_000, of_documents=True) == []


def test_the_readers_of_arguments_are_not_slow() -> None:
    assert slow(OF_ARGUMENTS, most=1_000, of_documents=False) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", OF_DOCUMENTS)
def test_no_reader_of_documents_is_slow(name: str) -> None:
    assert slow({name: OF_DOCUMENTS[name]}, most=64_000, of_documents=True) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", OF_DOCUMENTS)
@pytest.mark.parametrize("shape", KNOWN)
def test_what_has_stopped_a_server_is_read_at_once_up_to_a_megabyte(name: str, shape: str) -> None:
    assert faulty_growth(OF_DOCUMENTS[name], repeated(*KNOWN[shape]), most=1_000_000) is None


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", OF_ARGUMENTS)
def test_no_reader_of_arguments_is_slow(name: str) -> None:
    assert slow({name: OF_ARGUMENTS[name]}, most=256_000, of_documents=False) == []
