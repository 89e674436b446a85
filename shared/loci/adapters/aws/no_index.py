# ruff: noqa: ARG002 (every call is refused, so no argument is used)
"""`DocumentIndex` for a deployment without a search index: every call fails with that message."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NoReturn

from loci.core.errors import Unavailable
from loci.core.identity import Owner
from loci.search.inference import Embedding
from loci.search.ranking import Candidate, Chunk, IndexCounts, QueryVector, TagsAndDate, Where


class NoIndex:
    """Refuses every call."""

    def put(
        self,
        owner: Owner,
        collection: str,
        document: str,
        chunks: Sequence[Chunk],
        tags_and_date: TagsAndDate,
        *,
        is_new: bool = False,
    ) -> None:
        _refuse()

    def together(self) -> AbstractContextManager[None]:
        _refuse()

    def remove(self, owner: Owner, collection: str, document: str) -> None:
        _refuse()

    def remove_all(self, owner: Owner) -> None:
        """Remove nothing: nothing is here."""

    def embeddings(self, owner: Owner, model: str, hashes: Sequence[str]) -> dict[str, Embedding]:
        _refuse()

    def candidates(
        self,
        owner: Owner,
        collection: str,
        words: Sequence[str],
        vector: QueryVector | None,
        *,
        limit: int,
        where: Where,
    ) -> list[Candidate]:
        _refuse()

    def chunks(self, owner: Owner, collection: str, ids: Sequence[str]) -> dict[str, Chunk]:
        _refuse()

    def passages(self, owner: Owner, collection: str) -> Iterator[Chunk]:
        _refuse()

    def counts(self, owner: Owner, collection: str) -> IndexCounts:
        _refuse()

    def state(self, owner: Owner, collection: str) -> str:
        _refuse()

    def documents(self, owner: Owner, collection: str, among: Sequence[str] | None = None) -> dict[str, int]:
        _refuse()


def _refuse() -> NoReturn:
    raise Unavailable(
        "This deployment has no search index",
        'Set "search" to "vectors" or "domain" in cdk.json and deploy, or set LOCI_SEARCH or LOCI_SEARCH_URL',
        code="INDEX_UNAVAILABLE",
    )
