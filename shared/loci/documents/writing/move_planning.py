"""Plans a move: which documents have links that would lead elsewhere, and how these are to be written."""

from collections.abc import Iterator
from dataclasses import replace

from loci.core.errors import Refused
from loci.core.identity import Owner
from loci.core.ids import random_id
from loci.core.stores import ABSENT
from loci.documents.catalog import Catalog
from loci.documents.document import Document
from loci.documents.document_links import NO_LINKS
from loci.documents.graph.graph import Graph, Graphs
from loci.documents.graph.link_resolution import DocumentNames
from loci.documents.ingest.index_writer import IndexWriter
from loci.documents.writing.history import hash_of
from loci.documents.writing.move_plan import MovePlan, Place
from loci.documents.writing.relinking import NewTargets, Relinking, last_name, last_names, relinked
from loci.documents.writing.write_recovery import WriteRecovery
from loci.documents.writing.write_targets import WriteTarget, WriteTargets

MOST_LINKING = 500
"""Documents that one move may change."""


class MovePlanner:
    """Finds what a move must change."""

    def __init__(
        self,
        catalog: Catalog,
        writer: IndexWriter,
        graphs: Graphs,
        targets: WriteTargets,
        recovery: WriteRecovery,
    ) -> None:
        self._catalog = catalog
        self._writer = writer
        self._graphs = graphs
        self._targets = targets
        self._recovery = recovery

    def plan(self, owner: Owner, source: WriteTarget, goal: WriteTarget, content: bytes) -> MovePlan:
        """The plan to move the document, which has that content. `Refused` if a link cannot be written anew."""
        old = self._recovery.index(owner, source)
        if old is None:
            raise Refused(f"{source.place} is just being changed", "Try again", code="BUSY")
        graph = self._graphs.of(owner)
        id, root = self._catalog.find(owner, goal.path).id, goal.root and goal.root.id
        draft = self._writer.draft(id, goal.path, root, content, ABSENT)
        new = replace(draft.document, former=())
        aliases = {one: said.aliases for one, said in graph.source.written.items()} | {id: draft.mentions.aliases}
        documents = {one.id: one for one in graph.documents.values() if one.id != old.id}
        relinking = Relinking(
            DocumentNames((*documents.values(), old), aliases | {old.id: draft.mentions.aliases}),
            DocumentNames((*documents.values(), new), aliases),
            old,
            new,
            {one.id: one.path for one in documents.values()},
        )
        own = relinking.new_targets(old.written_at or old.path, new.path, content)
        found = list(_touched(graph, relinking, draft.mentions.aliases))
        if len(found) > MOST_LINKING:
            raise Refused(
                f"{len(found):,} documents link to {source.place}, and one move may change {MOST_LINKING}",
                "Move it in an editor that rewrites links, or leave it where it is: links can name it by an alias",
                code="TOO_MANY_LINKS",
            )
        return MovePlan(
            id=random_id(),
            source=Place(source.path, source.root and source.root.id),
            goal=Place(goal.path, root),
            before=str(hash_of(content)),
            after=str(hash_of(relinked(new.path, content, own))),
            former=old.former,
            own=own,
            linking=tuple(self._linking(owner, relinking, found)),
        )

    def _linking(self, owner: Owner, relinking: Relinking, found: list[Document]) -> Iterator[tuple[Place, NewTargets]]:
        for one in found:
            target = self._targets.at(owner, one.path, one.root)
            text = target and self._recovery.stored_text(owner, target)
            content = text and text.read()
            if not target or not text or content is None:
                continue
            try:
                self._recovery.expect_whole(owner, target, content)
                new = relinking.new_targets(one.written_at or one.path, one.path, content)
                text.stamp()  # Refused now, not halfway, if the file is write-protected
            except Refused as error:
                what = f"The links in {one.path} cannot be rewritten: {error.what}"
                raise Refused(what, error.resolution, code=error.code) from None
            if new:
                yield Place(one.path, one.root), new


def _touched(graph: Graph, relinking: Relinking, aliases: tuple[str, ...]) -> Iterator[Document]:
    """The other documents with a link that leads to the document before or after the move."""
    names = last_names([relinking.old, relinking.new], aliases) | {""}
    for id, document in graph.documents.items():
        if id == relinking.old.id:
            continue
        for mention in graph.source.written.get(id, NO_LINKS).mentions:
            if last_name(mention.target) in names:
                source = document.written_at or document.path
                before = relinking.before.resolve(source, mention)
                after = relinking.after.resolve(source, mention)
                if before and (before.document == relinking.old.id or (after and after.document == relinking.new.id)):
                    yield document
                    break
