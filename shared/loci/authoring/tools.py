"""The tools that write and move documents, and undo writes."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from loci.authoring.edit_draft import Mode, checked_draft
from loci.authoring.write_recovery import WrittenDocument
from loci.core.identity import Caller
from loci.core.trust import saw
from loci.documents.foreign import foreign_of, saw_titles
from loci.documents.ingest.local_files import MAX_DOCUMENT_BYTES
from loci.mcp.tool import LociTool, loci_tool

if TYPE_CHECKING:
    from loci.app import App

SHOWN = 100
Name = Annotated[str, Field(min_length=1, max_length=1024, description="id or path of a note")]
Hash = Annotated[str | None, Field(pattern="^[0-9a-f]{64}$", description="`hash` as you read it")]

Text = Annotated[str | None, Field(max_length=MAX_DOCUMENT_BYTES)]


class Tagging(BaseModel):
    """The tags that were added to a document."""

    result: str
    id: str | None = Field(description="null: a dry run on a file that is not ingested yet")
    path: str
    hash: str = Field(description="sha256 of the document after the write, or after what a dry run would write")
    added: list[str] = Field(description="the tags that it did not have, as they are stored")
    dry_run: bool


class LinkView(BaseModel):
    """A link that the document contains."""

    target: str | None = Field(description="the id of the document it leads to; null: no document has that name yet")
    type: str
    title: str = Field(description="the target's title; if there is no target, the name as written")
    line: int | None


class WrittenView(BaseModel):
    """The document after the write."""

    result: str
    id: str | None = Field(description="null: the document no longer exists, or is not indexed yet")
    path: str
    hash: str | None = Field(description="sha256 of the document; use it as expected_hash of the next write")
    changed: bool = Field(description="false: the document was already like this")
    title: str | None
    tags: list[str]
    problems: list[str] = Field(description="problems of its front matter or text")
    links: list[LinkView] = Field(description="its links, including those without a target")
    unfinished: str | None = Field(description="what could not be done after the write, and what to do; null: nothing")


class DeletedView(BaseModel):
    """A document that was deleted."""

    result: str
    path: str = Field(description="undo_write with this path brings it back")
    unfinished: str | None = Field(description="what could not be done after the deletion; null: nothing")


class MovedView(BaseModel):
    """A document that was moved."""

    result: str
    id: str | None = Field(description="its new id; null: not indexed yet")
    path: str = Field(description="undo_write with this path moves it back")
    hash: str
    changed: list[str] = Field(description="the paths of the documents whose links were rewritten")
    unfinished: str | None = Field(description="what could not be done after the move; null: nothing")


class UndoneView(WrittenView):
    """The document after an undo."""

    undone: str = Field(description="the tool whose write was undone, and the time of that write")
    undoable: int = Field(description="the number of earlier writes that can be undone")


def writing_tools(app: "App") -> list[LociTool]:
    """The tools that change documents."""

    def inject_tags(
        file_path: Name,
        tags: Annotated[
            list[Annotated[str, Field(max_length=1000)]],
            Field(min_length=1, max_length=100, description="without the #"),
        ],
        caller: Caller,
        dry_run: Annotated[bool, Field(description="write nothing")] = False,
    ) -> Annotated[CallToolResult, Tagging]:
        """Add tags to a note. Nothing else changes; undo_write undoes it.

        They go into its front matter, or into a comment `<!-- tags: a, b -->`.
        """
        tagging = app.authoring.add_tags(
            caller.owner, file_path, tags, dry_run=dry_run, origin=app.readings.origin(caller)
        )
        written = tagging.written
        verb = "merge" if tagging.is_merged else "inject"
        did = f"Would {verb}" if dry_run else "Successfully " + {"merge": "merged", "inject": "injected"}[verb]
        view = Tagging(
            result=_with_reason(f"{did} {len(tagging.added)} tags into {written.target.place}", written.unfinished),
            id=tagging.document and tagging.document.id,
            path=written.target.path,
            hash=str(written.hash),
            added=list(tagging.added),
            dry_run=dry_run,
        )
        return CallToolResult(
            content=[TextContent(type="text", text=view.result)], structured_content=view.model_dump()
        )

    def write_document(
        path: Name,
        caller: Caller,
        content: Annotated[str, Field(max_length=MAX_DOCUMENT_BYTES)] = "",
        mode: Mode = "create",
        heading: Annotated[str | None, Field(max_length=1000, description="only this section")] = None,
        old: Annotated[Text, Field(description="for edit: exact text, which occurs once")] = None,
        new: Annotated[Text, Field(description="for edit: what to put there")] = None,
        expected_hash: Hash = None,
        supersedes: Annotated[
            str | None, Field(min_length=1, max_length=1024, description="note to mark as superseded")
        ] = None,
    ) -> WrittenView:
        """Write a note in markdown: leave a debrief, add what you learned, replace a section, edit a phrase.

        Returns hash, faults and links (no target: a dead link). To replace, pass the `hash` that you read.

        Example: write_document(path="debriefs/login.md", content="# Login\\n\\nFollows [[login]].")
        """
        draft = checked_draft(mode, content, heading, expected_hash, old, new)
        origin = app.readings.origin(caller)
        written = app.authoring.write(
            caller.owner, path, draft, expect=expected_hash, supersedes=supersedes, origin=origin
        )
        said = {"create": "Created", "append": "Appended to", "replace": "Replaced text of", "edit": "Edited"}[mode]
        place = written.target.place
        result = f"{said} {place}" if written.is_changed else f"{place} says this already"
        result = f"{result}, and marked {supersedes} as superseded" if supersedes else result
        return WrittenView.model_validate(_render(written, result))

    def delete_document(
        path: Name,
        expected_hash: Annotated[str, Field(pattern="^[0-9a-f]{64}$", description="its `hash` as you read it")],
        caller: Caller,
    ) -> DeletedView:
        """Delete a note, with its file. undo_write with its path brings it back."""
        gone = app.authoring.delete(caller.owner, path, expect=expected_hash, origin=app.readings.origin(caller))
        return DeletedView(
            result=_with_reason(f"Deleted {gone.target.place}", gone.unfinished),
            path=gone.target.path,
            unfinished=gone.unfinished,
        )

    def move_document(
        path: Name,
        to: Annotated[str, Field(min_length=1, max_length=1024, description="the new path, where nothing is yet")],
        caller: Caller,
        expected_hash: Hash = None,
    ) -> MovedView:
        """Rename or move a note, and rewrite the links to it in all others. undo_write takes all of it back."""
        moved = app.authoring.move(caller.owner, path, to, expect=expected_hash, origin=app.readings.origin(caller))
        written = moved.written
        links = f", and rewrote links in {len(moved.changed)} documents" if moved.changed else ""
        return MovedView(
            result=_with_reason(f"Moved {moved.source.place} to {written.target.place}{links}", written.unfinished),
            id=written.document and written.document.id,
            path=written.target.path,
            hash=str(written.hash),
            changed=list(moved.changed),
            unfinished=written.unfinished,
        )

    def undo_write(path: Name, caller: Caller, expected_hash: Hash = None) -> UndoneView:
        """Undo a tool's last write to a note, its move or deletion. Undoing its creation removes it.

        The last 20 writes of each note can be undone, one by one. If it has changed since, Loci refuses and shows
        the difference; pass expected_hash to undo it all the same.
        """
        undone = app.authoring.undo(caller.owner, path, expect=expected_hash, origin=app.readings.origin(caller))
        place, write = undone.written.target.place, undone.write
        is_move = write.move and write.by == "move_document"
        did = "Moved it back to {}, with all links" if is_move else "Put back what {} said before"
        result = f"Took {place} away" if undone.written.hash is None else did.format(place)
        if other := undone.other:
            did = "took {} away" if other.hash is None else "took back the change of {}"
            result = f"{result}, and {did.format(other.target.path)}"
        return UndoneView.model_validate(
            {**_render(undone.written, result), "undone": f"{write.by} at {write.at}", "undoable": undone.older}
        )

    def tool(fn: Callable[..., object], title: str, *, destructive: bool = True, idempotent: bool = False) -> LociTool:
        return loci_tool(fn, title=title, writes=True, keeps=True, destructive=destructive, idempotent=idempotent)

    return [
        tool(inject_tags, "Add tags to a document", destructive=False, idempotent=True),
        tool(write_document, "Write a document"),
        tool(move_document, "Move a document"),
        tool(delete_document, "Delete a document", idempotent=True),
        tool(undo_write, "Undo a write"),
    ]


def _render(written: WrittenDocument, result: str) -> dict[str, object]:
    document = written.document
    if document is not None:  # the answer has its title, tags and links, whoever wrote them
        saw(foreign_of(document))
    saw_titles(link.other for link in written.links[:SHOWN])
    return {
        "result": _with_reason(result, written.unfinished),
        "id": document and document.id,
        "path": written.target.path,
        "hash": written.hash,
        "changed": written.is_changed,
        "title": document and document.title,
        "tags": document.tags if document else (),
        "problems": [str(one) for one in document.problems] if document else [],
        "links": [
            LinkView(target=link.other and link.other.id, type=link.relation, title=link.title, line=link.line)
            for link in written.links[:SHOWN]
        ],
        "unfinished": written.unfinished,
    }


def _with_reason(result: str, unfinished: str | None) -> str:
    return f"{result}. {unfinished}" if unfinished else result
