"""The example collection holds what its readers and the graph are promised."""

import pytest

from tests.support.each import each
from tests.unit.example.notes import WIKI, Collection, Note, read

EXAMPLE = read()
NOT_WRITTEN = {"kiln-policy", "second-branch"}
# On one topic and not linked, so that there are gaps to find.
GAPS = [
    ("charge-batteries", "swollen-battery"),
    ("sharpen-a-chisel", "sharpening-evening"),
    ("2024-10-27-clock-change", "dates-and-times"),
    ("text-messages-for-reminders", "2025-08-23-duplicate-messages"),
]

each_note = each("note", [pytest.param(note, id=str(note.path)) for note in EXAMPLE.notes])


def test_there_are_at_least_forty_notes() -> None:
    assert len(EXAMPLE.notes) >= 40


def test_no_two_notes_share_a_name() -> None:
    names = [name for note in EXAMPLE.notes for name in note.names]
    assert sorted(names) == sorted(set(names))


@each_note
def test_front_matter_parses(note: Note) -> None:
    assert bool(note.front) == note.text.startswith("---\n")


@each_note
def test_every_link_leads_to_a_note_or_to_one_that_is_known_to_be_missing(note: Note) -> None:
    lost = {link.target for link in note.links if EXAMPLE.target(note, link) is None}
    assert lost <= NOT_WRITTEN


@each_note
def test_every_anchor_is_a_heading_or_a_mark_of_its_note(note: Note) -> None:
    ends = [(EXAMPLE.target(note, link), link.anchor) for link in note.links if link.anchor]
    assert [anchor for end, anchor in ends if end is None or anchor not in end.anchors] == []


@each_note
def test_a_link_to_a_note_that_is_not_written_says_so(note: Note) -> None:
    open_links = [found for found in WIKI.finditer(note.prose) if found[1] in NOT_WRITTEN]
    assert all(note.prose[found.end() :].startswith(" (not written yet)") for found in open_links)


def test_both_missing_notes_are_linked_to() -> None:
    assert {link.target for note in EXAMPLE.notes for link in note.links} >= NOT_WRITTEN


@each_note
def test_every_note_is_linked_with_another(note: Note) -> None:
    assert any(note.path.stem in pair for pair in EXAMPLE.pairs)


@each("pair", GAPS)
def test_two_notes_on_one_topic_are_not_linked(pair: tuple[str, str]) -> None:
    assert _stems(EXAMPLE).issuperset(pair)
    assert frozenset(pair) not in EXAMPLE.pairs


def test_a_link_into_nowhere_is_noticed() -> None:
    note = Note(EXAMPLE.notes[0].path, "[[people]] and [gone](no/such-note.md)")
    assert [EXAMPLE.target(note, link) is None for link in note.links] == [False, True]


def _stems(collection: Collection) -> set[str]:
    return {note.path.stem for note in collection.notes}
