"""What a process puts into an index until it is killed, and what must be there afterwards."""

import itertools
from collections.abc import Callable

from loci.core.identity import Owner
from loci.search.document_index import DocumentIndex
from loci.search.ranking import TagsAndDate, Where
from tests.contract.indexes import MODEL, NOTES, by_vector, by_words, chunk, embedding, find, put, vector

CHUNKS = 5


def put_until_killed(index: DocumentIndex, owner: Owner, first: int, more: Callable[[], str]) -> None:
    """Put the documents from this number on, each with more text, and print the numbers that are acknowledged."""
    for number in itertools.count(first):
        text = f"river number{number} {more()}"
        whole = [chunk(f"d{number}#{n}", text, embedding(1, n)) for n in range(CHUNKS)]
        put(index, owner, *whole, marks=TagsAndDate((f"tag{number}",), "2026-01-01"))
        # One that is replaced all the time, by fewer or more: the kill is likely to come in the middle.
        put(index, owner, *[chunk(f"last#{n}", f"garden turn{number}", embedding(1, n)) for n in range(1 + number % 7)])
        print(number, flush=True)


def documents_are_whole(index: DocumentIndex, owner: Owner, acknowledged: int) -> None:
    """Check each document that was acknowledged."""
    for number in range(acknowledged + 1):
        wanted = {f"d{number}#{n}" for n in range(CHUNKS)}
        assert index.chunks(owner, NOTES, list(wanted)).keys() == wanted
        found = find(index, owner, f"number{number}", vector(1, 0), where=Where(any_tags=(f"tag{number}",)))
        assert set(by_words(found)) == set(by_vector(found)) == wanted


def replaced_document_is_whole(index: DocumentIndex, owner: Owner, acknowledged: int) -> None:
    """Check the document that was being replaced: it has all of its old text, or all of its new."""
    kept = index.chunks(owner, NOTES, [f"last#{n}" for n in range(10)])
    [text] = {one.text for one in kept.values()}
    turn = int(text.removeprefix("garden turn"))
    assert turn in (acknowledged, acknowledged + 1)
    assert kept.keys() == {f"last#{n}" for n in range(1 + turn % 7)}
    assert set(by_words(find(index, owner, "garden"))) == kept.keys()


def counts_are_what_is_found(index: DocumentIndex, owner: Owner) -> None:
    """Check that no passage is counted that nobody finds, and none found that is not counted."""
    counts = index.counts(owner, NOTES)
    found = find(index, owner, "river garden", vector(1, 0), limit=100_000)
    assert len(by_words(found)) == len(by_vector(found)) == counts.chunks == counts.embedded[MODEL]
