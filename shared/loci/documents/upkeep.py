"""Upkeep of documents: work that a server does when it starts, and while it runs."""

from collections.abc import Callable
from contextlib import suppress

from loci.core.errors import LociError
from loci.core.identity import LOCAL, Owner
from loci.documents.ingest.index_writer import COLLECTION
from loci.documents.parts import DocumentParts
from loci.search.ranking import QueryVector, Where


class Upkeep:
    """Repairs, embeds and warms up."""

    def __init__(self, parts: DocumentParts) -> None:
        self._parts = parts

    def repair(self, owner: Owner) -> None:
        """Finish or take back writes that a crash interrupted."""
        self._parts.edits.repair(owner)

    def model(self) -> str | None:
        """The identity of the model that embeds; None if there is none."""
        model = self._parts.embedder.model()
        return model.identity if model else None

    def embed_missing(self, owner: Owner, stop: Callable[[], bool] = lambda: False) -> None:
        """Embed the passages that have no vector of the current model."""
        self._parts.missing_vectors.run(owner, stop=stop)

    def warm_search(self) -> None:
        """Load the model and the vectors; otherwise the first search would wait half a second for them.

        The cross-encoder is not loaded: it may take gigabytes, and not every server gets a search.
        """
        with suppress(LociError):  # the first search reports the problem
            asked = self._parts.embedder.query("warm")
            near = QueryVector.of(asked.model, asked.vector)
            self._parts.index.candidates(LOCAL, COLLECTION, ["warm"], near, limit=1, where=Where())

    def warm_ingestion(self) -> None:
        """Load the model, so that the first file does not wait for it."""
        with suppress(LociError):
            if self._parts.embedder.model():
                self._parts.embedder.passages(["warm"])
