"""A write that supersedes another note, and its undo, killed at each step: both notes have changed then, or neither."""

from pathlib import Path

import pytest

from loci.core.identity import LOCAL
from loci.documents.foreign import foreign_of
from loci.documents.whole_texts import WriteJournal
from tests.contract.test_moving_crash import FEW, KILLED, MANY, killed, texts

MOVE = 'edits.move(LOCAL, "notes/a.md", "notes/sub/b.md", expect=None)'
WRITE = (
    'edits.write(LOCAL, "notes/sub/b.md", EditDraft("create", "# B"), expect=None, supersedes="notes/a.md",'
    ' origin=__import__("loci.core.trust", fromlist=[""]).Origin(("web",)))'
)
BEFORE = {"a.md": "# A\n\nOld.\n", "c.md": "# C\n\n[[a]]\n"}
AFTER = {
    **BEFORE,
    "a.md": "---\nsuperseded_by: b\nstatus: superseded\n---\n\n# A\n\nOld.\n",
    "sub/b.md": "---\nsupersedes: a\n---\n\n# B\n",
}


@pytest.mark.parametrize("every", [FEW, pytest.param(MANY, marks=pytest.mark.exhaustive)])
def test_both_have_changed_or_neither_and_the_index_knows(tmp_path: Path, every: int) -> None:
    assert MOVE in KILLED
    for what in ("write", "undo"):
        ends = killed(what, every, tmp_path / what, KILLED.replace(MOVE, WRITE), BEFORE)
        assert {len(texts(notes)) for notes, _ in ends} == {len(BEFORE), len(AFTER)}
        for notes, app in ends:
            assert texts(notes) in (BEFORE, AFTER), notes
            parts, is_after = app.documents.parts, texts(notes) == AFTER
            documents = parts.catalog.documents(LOCAL)
            assert {one.path for one in documents} == {f"notes/{path}" for path in texts(notes)}
            successors = parts.supersession.successors(LOCAL, documents, "9999-12-31")
            assert {old: new.id for old, new in successors.items()} == ({"notes-a": "notes-sub-b"} if is_after else {})
            assert WriteJournal(app.records).unfinished(LOCAL) == []
            marked = [one.path for one in documents if foreign_of(one)]
            assert marked == (["notes/a.md", "notes/sub/b.md"] if is_after else []), notes
            if is_after:
                app.authoring.undo(LOCAL, "notes/a.md", expect=None)
            assert texts(notes) == BEFORE
            assert not any(map(foreign_of, parts.catalog.documents(LOCAL)))
