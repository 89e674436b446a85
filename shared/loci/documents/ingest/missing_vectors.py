"""Embeds what the current model has not embedded."""

from collections.abc import Callable, Iterator

from loci.core.errors import Conflict
from loci.core.identity import Owner
from loci.documents.catalog import Catalog
from loci.documents.ingest.index_writer import BATCH, DocumentDraft, IndexWriter


class MissingVectors:
    """Embeds the documents that the current model has not embedded. It reads their texts from the index."""

    def __init__(self, catalog: Catalog, writer: IndexWriter) -> None:
        self._catalog = catalog
        self._writer = writer

    def run(self, owner: Owner, stop: Callable[[], bool] = lambda: False) -> int:
        """Embed batch after batch until `stop` returns True; return the number of documents.

        If it is stopped or killed, the next run goes on from there.
        """
        model = self._writer.model()
        todo = [one.id for one in self._catalog.documents(owner) if one.model != model] if model else []
        done = 0
        for batch in self._batches(owner, todo):
            for draft in self._writer.embed(owner, batch).drafts:
                if draft.document.model is None:  # the model went away again
                    return done
                done += self._write(owner, draft)
            if stop():
                break
        return done

    def _batches(self, owner: Owner, ids: list[str]) -> Iterator[list[DocumentDraft]]:
        batch: list[DocumentDraft] = []
        for id in ids:
            draft = self._writer.draft_from_index(owner, id)
            if draft is not None:
                batch.append(draft)
            if sum(len(one.chunks) for one in batch) >= BATCH:
                yield batch
                batch = []
        if batch:
            yield batch

    def _write(self, owner: Owner, draft: DocumentDraft) -> int:
        try:
            self._writer.write(owner, draft)
        except Conflict:  # another writer is ingesting it, and so embeds it
            return 0
        return 1
