"""The records beside S3 Vectors: the head of each document, and the state of each collection."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from loci.adapters.aws.vector_fields import Run, VectorKey, keys_of
from loci.core.errors import Conflict, Unavailable
from loci.core.identity import Owner
from loci.core.ids import content_id, random_id
from loci.core.json import JsonObject
from loci.core.storage_keys import VECTORS
from loci.core.stores import ABSENT, Record, RecordStore, every

TRIES: Final = 50


@dataclass(frozen=True, slots=True)
class Generation:
    """One version of a document's passages."""

    runs: list[Run]
    texts: dict[str, str]
    """The facts of passages that are too long for the index, by their numbers."""


@dataclass(frozen=True, slots=True)
class Head:
    """The generations of a document's passages that may be in the index."""

    visible: int = 0
    """The one that searches show; 0 if the document has no passages."""
    generations: dict[int, Generation] = field(default_factory=dict[int, Generation])

    def begun(self, new: Generation, now: int) -> "Head":
        """The head before a new generation is written."""
        # Clocks differ between machines: the later write must be newer all the same.
        return replace(self, generations={**self.generations, max(now, *(1 + one for one in self.generations), 1): new})

    def committed(self, generation: int) -> "Head":
        """The head after it was written whole."""
        if generation not in self.generations and generation > self.visible:
            raise busy()  # somebody has removed the document meanwhile, and perhaps a part of this
        return replace(self, visible=max(generation, self.visible))

    def removed(self) -> "Head":
        return replace(self, visible=0)

    def without(self, generations: Collection[int]) -> "Head":
        kept = {number: one for number, one in self.generations.items() if number not in generations}
        return replace(self, generations=kept)

    @property
    def shown(self) -> Generation:
        return self.generations.get(self.visible, Generation([], {}))

    @property
    def models(self) -> Counter[str]:
        """The number of visible passages by the model of their vectors; of those without one, by an empty text."""
        counts = Counter[str]()
        for run in self.shown.runs:
            counts[run.model] += len(run.numbers)
        return counts

    def keys(self, document: str) -> Iterator[VectorKey]:
        """The keys of all visible passages."""
        return keys_of(document, self.visible, self.shown.runs)


class Heads:
    """The heads of the documents, each changed by compare-and-set."""

    def __init__(self, records: RecordStore) -> None:
        self._records = records

    def of(self, owner: Owner, collection: str, documents: Iterable[str]) -> dict[str, Head]:
        """The heads of those among the documents that have passages."""
        names = {_key(collection, one): one for one in documents}
        found = self._records.get_all(owner, VECTORS, [*names]) if names else {}
        heads = {names[key]: _head(record) for key, record in found.items()}
        return {document: head for document, head in heads.items() if head.visible}

    def all(self, owner: Owner, collection: str) -> Iterator[tuple[str, Head]]:
        """The heads of all documents with passages."""
        prefix = _key(collection, "")
        for record in every(self._records, owner, VECTORS, prefix):
            if (head := _head(record)).visible:
                yield record.key.removeprefix(prefix), head

    def change(self, owner: Owner, collection: str, document: str, changed: Callable[[Head], Head]) -> Head:
        """Change the head, and return it as it is then. A head without generations is removed."""
        key = _key(collection, document)
        for _ in range(TRIES):
            record = self._records.get(owner, VECTORS, key)
            head = changed(_head(record))
            version = record.version if record else ABSENT
            try:
                if head.generations:
                    self._records.put(owner, VECTORS, key, _value(head), expect_version=version)
                elif record:
                    self._records.remove(owner, VECTORS, key, expect_version=version)
                return head
            except Conflict:
                continue
        raise busy()

    def remove_all(self, owner: Owner) -> None:
        """Remove the owner's records of the index."""
        for record in [*every(self._records, owner, VECTORS)]:
            self._records.remove(owner, VECTORS, record.key)

    def touch(self, owner: Owner, collection: str) -> None:
        """Give the collection a new state."""
        self._records.put(owner, VECTORS, f"state:{_key(collection, '')}", {"state": random_id()})

    def state(self, owner: Owner, collection: str) -> str:
        record = self._records.get(owner, VECTORS, f"state:{_key(collection, '')}")
        return str(record.value.get("state")) if record else ""


def busy() -> Unavailable:
    """Others keep writing the same document."""
    return Unavailable("The index did not take the document (others keep writing it)", "Try again", code="INDEX_BUSY")


def _key(collection: str, document: str) -> str:
    return f"{content_id(collection)}:{document}"


def _head(record: Record | None) -> Head:
    if record is None or record.is_damaged:
        return Head()
    value = cast("dict[str, Any]", record.value)
    generations = {
        int(number): Generation([Run(*run) for run in one["runs"]], one["texts"])
        for number, one in value["generations"].items()
    }
    return Head(value["visible"], generations)


def _value(head: Head) -> JsonObject:
    generations: JsonObject = {
        str(number): {"runs": [[run.first, run.last, run.model] for run in one.runs], "texts": {**one.texts}}
        for number, one in head.generations.items()
    }
    return {"visible": head.visible, "generations": generations}
