"""Embeddings for documents that have none of the model of now: it has just come, or was changed."""

from collections.abc import Callable, Iterator

from loci.core.errors import Conflict
from loci.core.identity import Owner
from loci.documents.catalog import Catalog
from loci.documents.ingest.index_writer import DocumentDraft, IndexWriter, Progress, silent
from loci.documents.ingest.ingest_run import BATCH


class MissingVectors:
    """Embeds what was taken in before the model came. Files are not read: the index has the texts."""

    def __init__(self, catalog: Catalog, writer: IndexWriter) -> None:
        self._catalog = catalog
        self._writer = writer

    def run(self, owner: Owner, progress: Progress = silent, stop: Callable[[], bool] = lambda: False) -> int:
        """How many documents were filled, batch by batch, until all are or `stop` says so.

        Stopped or killed, the next run goes on where this one was.
        """
        model = self._writer.model()
        todo = [one.id for one in self._catalog.documents(owner) if one.model != model] if model else []
        filled = 0
        for batch in self._batches(owner, todo):
            for draft in self._writer.embed(owner, batch).drafts:
                if draft.document.model is None:  # the model has gone again
                    return filled
                filled += self._write(owner, draft)
                progress(filled, len(todo), draft.document.path)
            if stop():
                break
        return filled

    def _batches(self, owner: Owner, ids: list[str]) -> Iterator[list[DocumentDraft]]:
        batch: list[DocumentDraft] = []
        for id in ids:
            draft = self._writer.indexed(owner, id)
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
        except Conflict:  # it is being ingested, and so embedded
            return 0
        return 1
