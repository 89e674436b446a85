"""The embeddings of a long document on their way: a second try goes on where the first one stopped."""

import hashlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import cast

from loci.core.deadline import is_nearly_over, out_of_time
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.core.stores import Record, RecordStore, read_or_none
from loci.search.inference import Embedder, Embedding

KIND = "embedded"
PORTION = 64
"""Passages that are kept together."""
KEPT_SECONDS = 86_400.0
SPARE = 0.15
"""The share of a call's time that no new portion may begin in: the model would not answer in time."""


class PartialEmbeddings:
    """Keeps each portion of a document that has several, until the document is written."""

    def __init__(self, records: RecordStore, clock: Callable[[], float]) -> None:
        self._records = records
        self._clock = clock
        self._kept: dict[tuple[Owner, str], list[str]] = {}

    def make(
        self,
        owner: Owner,
        document: str,
        model: str,
        texts: Mapping[str, str],
        embedder: Embedder,
        report: Callable[[int, int], None],
    ) -> tuple[dict[str, Embedding], int]:
        """The embeddings of the texts, by their hashes: those that are kept, and the model's for the others.

        The number is that of the model's.
        """
        made: dict[str, Embedding] = {}
        new_ones = 0
        hashes, keys = list(texts), list[str]()
        for start in range(0, len(hashes), PORTION):
            portion = hashes[start : start + PORTION]
            name = hashlib.sha256("\n".join([model, *portion]).encode()).hexdigest()
            key = f"{document}/{name[:32]}"
            kept = read_or_none(self._records.get(owner, KIND, key), _embeddings)
            if kept is None:
                if is_nearly_over(SPARE):
                    raise out_of_time()
                new = embedder.passages([texts[hash] for hash in portion])
                kept = dict(zip(portion, new, strict=True))
                new_ones += len(new)
                until = self._clock() + KEPT_SECONDS
                self._records.put(owner, KIND, key, _value(kept), expires_at=until, durable=False)
            made |= kept
            report(len(made), len(texts))
            keys.append(key)
        self._kept[owner, document] = keys
        return made, new_ones

    def forget(self, owner: Owner, document: str) -> None:
        """Remove what was kept of a document that is written now."""
        for key in self._kept.pop((owner, document), ()):
            self._records.remove(owner, KIND, key)


def _value(made: Mapping[str, Embedding]) -> JsonObject:
    return {
        hash: [one.model, b64encode(one.vector).decode(), b64encode(one.bits).decode()] for hash, one in made.items()
    }


def _embeddings(record: Record) -> dict[str, Embedding]:
    rows = cast("dict[str, tuple[str, str, str]]", record.value)
    return {hash: Embedding(model, b64decode(vector), b64decode(bits)) for hash, (model, vector, bits) in rows.items()}
