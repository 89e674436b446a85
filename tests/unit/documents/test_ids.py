"""The ids of documents: readable, and never the same for two paths."""

import re
import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from loci.documents.document import DOCUMENT_ID, LONGEST_ID, ids_for, normal_id
from tests.support.each import each

PATHS = st.text(min_size=1).filter(lambda path: "\ud800" not in path)


def first(path: str) -> str:
    return next(ids_for(path))


@each(
    ("path", "id"),
    [
        ("docs/briefs/auth.md", "docs-briefs-auth"),
        ("docs/2026-01-17 Über die Größe.md", "docs-2026-01-17-uber-die-grosse"),
        ("docs/v1.2-notes.md", "docs-v1-2-notes"),
        ("docs/README", "docs-readme"),
        ("docs/会议 Notes.md", "docs-会议-notes"),
        ("Заметки/Сводка №2.md", "заметки-сводка-no2"),
        ("ملاحظات/رسم عرض.md", "ملاحظات-رسم-عرض"),
        ("ガイド/ｶﾞｲﾄﾞ.md", "ガイド-ガイド"),
        ("हिन्दी/सूची.md", "हिन्दी-सूची"),
        ("docs/Łódź 🚀.md", "docs-łodz"),
    ],
)
def test_an_id_is_the_path_in_its_letters(path: str, id: str) -> None:
    assert first(path) == id


@each("path", ["---", "." * 300, "🚀.md"])
def test_a_path_without_letters_has_a_hash(path: str) -> None:
    assert re.fullmatch(r"[0-9a-f]{8}", first(path))


def test_names_that_are_written_alike_have_one_id() -> None:
    assert first("docs/caf\u00e9.md") == first("docs/cafe\u0301.md")


@settings(deadline=None)
@given(PATHS)
def test_every_id_is_short_and_has_only_letters_digits_and_hyphens(path: str) -> None:
    for id in ids_for(path):
        assert {unicodedata.category(one)[0] for one in id.replace("-", "")} <= {*"LNM"}
        assert not id.startswith("-")
        assert not id.endswith("-")
        assert len(id) <= LONGEST_ID
        assert len(id.encode()) <= 2 * LONGEST_ID
        assert normal_id(id) == id
        assert DOCUMENT_ID.fullmatch(id)


@settings(deadline=None)
@given(PATHS)
def test_an_id_is_the_same_from_run_to_run(path: str) -> None:
    assert list(ids_for(path)) == list(ids_for(path))


@settings(deadline=None)
@given(st.lists(PATHS, unique=True, min_size=2, max_size=2))
def test_two_paths_can_always_be_told_apart(paths: list[str]) -> None:
    one, other = (list(ids_for(path))[-1] for path in paths)
    assert one != other


@settings(deadline=None)
@given(st.text(alphabet="abcdefghij/", min_size=200, max_size=400))
def test_a_long_path_ends_in_its_hash(path: str) -> None:
    assert re.search(r"-[0-9a-f]{8}$", first(path))
