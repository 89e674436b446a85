"""What every `DocumentIndex` keeps: each owner's own, whole, nothing stale, and in step with many at once."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from loci.core.identity import Owner
from loci.search.document_index import DocumentIndex
from loci.search.ranking import Chunk, IndexCounts, TagsAndDate
from tests.contract.indexes import (
    EAST,
    MODEL,
    NORTH,
    NOTES,
    OTHER_MODEL,
    by_vector,
    by_words,
    candidate,
    chunk,
    embedding,
    find,
    put,
    someone,
    vector,
)
from tests.contract.stores import at_once
from tests.support.each import each

# Owners and collections


def test_an_owner_reaches_nothing_of_anothers(index: DocumentIndex, ann: Owner, bob: Owner) -> None:
    put(index, ann, chunk("a#0", "the river of ann", EAST))
    put(index, bob, chunk("a#0", "the garden of bob", NORTH))
    assert by_words(find(index, bob, "river ann")) == []
    assert index.chunks(bob, NOTES, ["a#0"])["a#0"].text == "the garden of bob"
    [found] = find(index, bob, "garden", vector(1, 0))
    assert found.cosine == pytest.approx(0, abs=1e-3)  # pyright: ignore[reportUnknownMemberType]
    assert index.embeddings(bob, MODEL, [chunk("a#0", "the river of ann").hash]) == {}
    index.remove(bob, NOTES, "a")
    assert index.counts(ann, NOTES) == IndexCounts(1, 1, {MODEL: 1})
    assert by_vector(find(index, ann, "river", vector(1, 0))) == ["a#0"]


def test_a_collection_reaches_nothing_of_another(index: DocumentIndex, ann: Owner) -> None:
    put(index, ann, chunk("a#0", "river", EAST), collection=NOTES)
    put(index, ann, chunk("a#0", "garden", NORTH), collection="files")
    assert find(index, ann, "garden", collection=NOTES) == []
    assert len(find(index, ann, "river", vector(1, 0), collection="files")) == 1
    assert index.chunks(ann, "files", ["a#0"])["a#0"].text == "garden"
    index.remove(ann, "files", "a")
    assert index.counts(ann, NOTES).chunks == 1


@each("subject", ['"', "' OR 1=1 --", '" OR scope:_1', "*", "_1", "a\x00b", "..", "a b", "é", "%"])
def test_no_owners_name_is_syntax(index: DocumentIndex, ann: Owner, subject: str) -> None:
    put(index, ann, chunk("a#0", "river", EAST))
    other = Owner(ann.subject, subject)
    assert find(index, other, "river", vector(1, 0)) == []
    put(index, other, chunk("b#0", "river", EAST))
    found = find(index, other, "river", vector(1, 0))
    assert by_words(found) == by_vector(found) == ["b#0"]


@each("collection", ['"', "' OR 1=1 --", "*", "note", "notes ", "NOTES", "", "a\x00b", "notes/a"])
def test_no_collections_name_is_syntax(index: DocumentIndex, collection: str) -> None:
    ann = someone()
    put(index, ann, chunk("a#0", "river", EAST))
    assert find(index, ann, "river", vector(1, 0), collection=collection) == []
    put(index, ann, chunk("b#0", "river", EAST), collection=collection)
    found = find(index, ann, "river", vector(1, 0), collection=collection)
    assert by_words(found) == by_vector(found) == ["b#0"]
    assert by_words(find(index, ann, "river")) == ["a#0"]


# Changes


def test_a_document_that_is_put_again_has_its_new_chunks_and_no_others(index: DocumentIndex, ann: Owner) -> None:
    put(index, ann, *[chunk(f"a#{n}", f"river stone{n}", EAST) for n in range(5)], chunk("b#0", "river", EAST))
    put(index, ann, chunk("a#0", "garden", NORTH), chunk("a#1", "river stone1", EAST))
    found = find(index, ann, "river", vector(1, 0))
    assert set(by_words(found)) == {"a#1", "b#0"}
    assert set(by_vector(found)) == {"a#0", "a#1", "b#0"}
    assert index.chunks(ann, NOTES, [f"a#{n}" for n in range(5)]).keys() == {"a#0", "a#1"}
    assert candidate(find(index, ann, "garden", vector(1, 0)), "a#0").cosine == pytest.approx(0, abs=1e-3)  # pyright: ignore[reportUnknownMemberType]


def test_a_removed_document_is_found_by_neither_leg(index: DocumentIndex, ann: Owner) -> None:
    put(index, ann, chunk("a#0", "river", EAST), chunk("b#0", "river", EAST))
    assert len(find(index, ann, "river", vector(1, 0))) == 2
    index.remove(ann, NOTES, "a")
    found = find(index, ann, "river", vector(1, 0))
    assert by_words(found) == by_vector(found) == ["b#0"]
    assert index.chunks(ann, NOTES, ["a#0"]) == {}


def test_a_document_without_chunks_is_none(index: DocumentIndex, ann: Owner) -> None:
    put(index, ann, chunk("a#0", "river", EAST), marks=TagsAndDate(("red",)))
    index.put(ann, NOTES, "a", [], TagsAndDate(("red",)))
    assert index.counts(ann, NOTES) == IndexCounts(0, 0, {})
    assert find(index, ann, "river", vector(1, 0)) == []


def test_removing_what_is_not_there_is_no_error(index: DocumentIndex, ann: Owner) -> None:
    index.remove(ann, NOTES, "a")
    put(index, ann, chunk("ab#0", "river"))
    index.remove(ann, NOTES, "a")
    assert index.counts(ann, NOTES).documents == 1


def test_a_vector_that_comes_later_is_found_and_that_of_a_new_model_replaces_it(
    index: DocumentIndex, ann: Owner
) -> None:
    put(index, ann, chunk("a#0", "river"))
    assert find(index, ann, near=vector(1, 0)) == []
    put(index, ann, chunk("a#0", "river", EAST))
    assert by_vector(find(index, ann, near=vector(1, 0))) == ["a#0"]
    put(index, ann, chunk("a#0", "river", embedding(0, 1, model=OTHER_MODEL)))
    assert find(index, ann, near=vector(1, 0)) == []
    assert by_vector(find(index, ann, near=vector(1, 0, model=OTHER_MODEL))) == ["a#0"]
    assert index.counts(ann, NOTES) == IndexCounts(1, 1, {OTHER_MODEL: 1})


def test_hundreds_of_changes_leave_what_was_put_last(index: DocumentIndex, ann: Owner) -> None:
    for turn in range(1, 41):
        for number in range(3):
            put(index, ann, *[chunk(f"{number}#{n}", f"river turn{turn}", embedding(turn, n)) for n in range(3)])
        found = find(index, ann, f"turn{turn}", vector(1, 0))
        assert len(by_words(found)) == len(by_vector(found)) == 9
    nearest = {one.chunk: one.cosine for one in find(index, ann, near=vector(40, 2))}
    assert all(nearest[f"{number}#2"] == pytest.approx(1, abs=1e-3) for number in range(3))  # pyright: ignore[reportUnknownMemberType]


# What is kept


def test_a_chunk_comes_back_whole(index: DocumentIndex, ann: Owner) -> None:
    text = 'Žluť "quoted" \\ \x00 \u2028 🐎 東京\n\n' + "long " * 20_000
    where = "dir/a.md#0", "dir/a.md", "dir/Ä b.md", "Über > a"
    kept = Chunk(*where, ("Ö > é", ""), 1, 99, text, "abc", "žluť river", embedding(3, 4))
    put(index, ann, kept, chunk("dir/a.md#1", "other"))
    assert index.chunks(ann, NOTES, ["dir/a.md#0"]) == {"dir/a.md#0": kept}
    bare = Chunk("a#0", "a", "", "", (), 1, 1, "", "", "")  # without heading, words or vector
    put(index, ann, bare)
    assert index.chunks(ann, NOTES, ["a#0"]) == {"a#0": bare}


def test_only_the_chunks_that_are_there_come_back(index: DocumentIndex, ann: Owner) -> None:
    put(index, ann, chunk("a#0", "river"), chunk("a#1", "river"))
    assert index.chunks(ann, NOTES, ["a#1", "a#2", "b#0", "", "a#1"]).keys() == {"a#1"}
    assert index.chunks(ann, NOTES, []) == {}


def test_embeddings_are_known_by_hash_across_documents_and_collections(index: DocumentIndex, ann: Owner) -> None:
    river, garden = chunk("a#0", "river", EAST), chunk("b#0", "garden", embedding(0, 1, model=OTHER_MODEL))
    put(index, ann, river, chunk("c#0", "stone"))
    put(index, ann, garden, collection="files")
    hashes = [river.hash, garden.hash, chunk("c#0", "stone").hash, "unknown", river.hash]
    assert index.embeddings(ann, MODEL, hashes) == {river.hash: EAST}
    assert index.embeddings(ann, OTHER_MODEL, hashes) == {garden.hash: garden.embedding}
    assert index.embeddings(ann, MODEL, []) == {}


def test_a_document_may_have_thousands_of_chunks(index: DocumentIndex, ann: Owner) -> None:
    many = [chunk(f"a#{n}", f"river {10_000 + n} " + "word " * 200, embedding(1, n)) for n in range(3000)]
    put(index, ann, *many)
    assert index.counts(ann, NOTES) == IndexCounts(1, 3000, {MODEL: 3000})
    assert by_words(find(index, ann, "12999")) == ["a#2999"]
    assert len(index.chunks(ann, NOTES, [one.id for one in many])) == 3000
    assert len(index.embeddings(ann, MODEL, [one.hash for one in many])) == 3000
    put(index, ann, many[0])
    assert index.counts(ann, NOTES) == IndexCounts(1, 1, {MODEL: 1})


def test_documents_and_chunks_are_counted_and_who_embedded_them(index: DocumentIndex, ann: Owner) -> None:
    put(index, ann, chunk("a#0", "one", EAST), chunk("a#1", "two"), chunk("b#0", "three", EAST))
    put(index, ann, chunk("c#0", "four", embedding(1, model=OTHER_MODEL)))
    assert index.counts(ann, NOTES) == IndexCounts(3, 4, {MODEL: 2, OTHER_MODEL: 1})


def test_documents_are_listed_with_their_numbers_of_chunks(index: DocumentIndex, ann: Owner, bob: Owner) -> None:
    assert index.documents(ann, NOTES) == {}
    put(index, ann, chunk("a#0", "one", EAST), chunk("a#1", "two"), chunk("b#0", "three"))
    put(index, ann, chunk("c#0", "four"), collection="files")
    put(index, bob, chunk("d#0", "five"))
    assert index.documents(ann, NOTES) == {"a": 2, "b": 1}
    put(index, ann, chunk("a#0", "one", EAST))
    index.remove(ann, NOTES, "b")
    assert index.documents(ann, NOTES) == {"a": 1}


def test_documents_are_counted_among_those_that_are_named(index: DocumentIndex, ann: Owner, bob: Owner) -> None:
    put(index, ann, chunk("a#0", "river"), chunk("a#1", "stone"), chunk("b#0", "river"))
    put(index, ann, chunk("elsewhere#0", "river"), collection="files")
    put(index, bob, chunk("his#0", "river"))
    named = ["a", "elsewhere", "his", "none", "a", *(f"none{number}" for number in range(1_200))]
    assert index.documents(ann, NOTES, named) == {"a": 2}
    assert index.documents(ann, NOTES, []) == {}


# Many at once


def test_writers_of_different_documents_do_not_lose_each_others(index: DocumentIndex, ann: Owner) -> None:
    def write(number: int) -> None:
        for turn in range(3):
            put(index, ann, *[chunk(f"{number}#{n}", f"river turn{turn}", embedding(1, n)) for n in range(4)])

    at_once(6, write)
    assert index.counts(ann, NOTES) == IndexCounts(6, 24, {MODEL: 24})
    found = find(index, ann, "turn2", vector(1, 0))
    assert len(by_words(found)) == len(by_vector(found)) == 24


def test_of_writers_of_one_document_one_wins_whole(index: DocumentIndex, ann: Owner) -> None:
    def write(number: int) -> None:
        put(index, ann, *[chunk(f"a#{n}", f"river writer{number}", embedding(1, n)) for n in range(2 + number)])

    at_once(6, write)
    left = index.chunks(ann, NOTES, [f"a#{n}" for n in range(10)])
    [winner] = {one.text for one in left.values()}
    assert winner == f"river writer{len(left) - 2}"
    assert index.counts(ann, NOTES).chunks == len(left)


def test_a_search_meanwhile_finds_a_whole_version_of_the_document(index: DocumentIndex, ann: Owner) -> None:
    def version(turn: int) -> list[Chunk]:
        return [chunk(f"a#{n}", f"river turn{turn}", embedding(1, n)) for n in range(6)]

    def write() -> None:
        for turn in range(1, 15):
            put(index, ann, *version(turn))

    put(index, ann, *version(0))
    seen: list[tuple[set[str], set[str]]] = []
    with ThreadPoolExecutor(1) as threads:
        writing = threads.submit(write)
        while not writing.done():
            found = find(index, ann, "river", vector(1, 0), limit=100)
            seen.append((set(by_words(found)), set(by_vector(found))))
        writing.result()
    whole = {f"a#{n}" for n in range(6)}
    assert seen
    assert [pair for pair in seen if pair != (whole, whole)] == []


def test_another_collection_has_another_state_and_no_search_changes_it(index: DocumentIndex, ann: Owner) -> None:
    states = [index.state(ann, NOTES)]
    put(index, ann, chunk("a#0", "river"))
    states.append(index.state(ann, NOTES))
    put(index, ann, chunk("a#0", "river"), marks=TagsAndDate(("tag",)))
    states.append(index.state(ann, NOTES))
    put(index, ann, chunk("b#0", "river"))
    states.append(index.state(ann, NOTES))
    index.remove(ann, NOTES, "b")
    states.append(index.state(ann, NOTES))
    put(index, ann, chunk("c#0", "river"))
    states.append(index.state(ann, NOTES))
    *contents, after_removal, last = states
    assert len(set(contents)) == len(contents)
    assert after_removal != contents[-1]
    assert last not in (*contents, after_removal)
    find(index, ann, "river")
    assert index.state(ann, NOTES) == states[-1]


def test_every_passage_comes_once_and_whole(index: DocumentIndex, ann: Owner, bob: Owner) -> None:
    kept = [chunk(f"d{number}#0", f"river {number}", EAST) for number in range(3)]
    put(index, ann, *kept)
    put(index, ann, chunk("big#0", "other"), *[chunk(f"big#{number}", "stone") for number in range(1, 1_200)])
    put(index, ann, chunk("elsewhere#0", "river"), collection="files")
    put(index, bob, chunk("his#0", "river"))
    put(index, ann, chunk("big#0", "newer"), *[chunk(f"big#{number}", "stone") for number in range(1, 1_200)])
    found = list(index.passages(ann, NOTES))
    assert len(found) == len({one.id for one in found}) == 1_203
    by_id = {one.id: one for one in found}
    assert [by_id[one.id] for one in kept] == kept
    assert by_id["big#0"].text == "newer"


def test_writes_together_are_found_after_it(index: DocumentIndex, ann: Owner) -> None:
    with index.together():
        put(index, ann, chunk("a#0", "horses cross the river"))
        put(index, ann, chunk("b#0", "a river of stones"))
        index.remove(ann, NOTES, "a")
    assert by_words(find(index, ann, "river")) == ["b#0"]


def test_everything_of_an_owner_is_removed_and_nothing_of_anothers(
    index: DocumentIndex, ann: Owner, bob: Owner
) -> None:
    for collection in (NOTES, "others"):
        for owner in (ann, bob):
            put(index, owner, chunk("a#0", "the river", EAST), chunk("b#0", "a garden"), collection=collection)
    before = find(index, bob, "river", vector(1, 0))
    for _ in range(2):
        index.remove_all(ann)
        for collection in (NOTES, "others"):
            assert find(index, ann, "river", vector(1, 0), collection=collection) == []
            assert index.counts(ann, collection) == IndexCounts(0, 0, {})
            assert index.documents(bob, collection) == {"a": 1, "b": 1}
    assert find(index, bob, "river", vector(1, 0)) == before
    put(index, ann, chunk("c#0", "another river", EAST))
    assert by_words(find(index, ann, "river")) == ["c#0"]
    assert by_words(find(index, bob, "river")) == ["a#0"]
