"""The vectors of tools: kept by the hash of their texts, and made on a thread while searches go on without them."""

import hashlib
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from loci.core.errors import LociError
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.core.stores import Record, RecordStore, read_or_none
from loci.gateway.tool_words import KnownTool, in_words, parameters_of
from loci.sandbox.supervisor.daemon_threads import DAEMON_THREADS
from loci.search.inference import Embedder, rows_of

VECTORS = "tool_vectors"
"""The kind of the record: by model, the vectors of the tools that an owner has now."""
LONGEST = 300
"""Characters of a description that are embedded. More blur what the tool does: they are details and examples."""
LONGEST_NAMES = 200
"""Characters of the names of its parameters."""
BATCH = 32
ROOM = 500
"""The number of vectors that are kept beyond twice the number of tools."""


@dataclass(frozen=True, slots=True)
class Nearness:
    """How near a request is to tools in meaning."""

    cosines: Mapping[str, float]
    """The cosine of the request to each tool that is embedded, by its id; empty without a model."""
    missing: int = 0
    """The number of tools that a model will embed, and has not yet."""


class ToolEmbeddings:
    """Compares requests with tools in meaning, as far as the tools are embedded."""

    def __init__(self, records: RecordStore, embedder: Callable[[], Embedder], kind: str = VECTORS) -> None:
        self._records = records
        self._embedder = embedder
        self._kind = kind
        self._turn = threading.Lock()
        self._making: set[Owner] = set()
        self._held: dict[Owner, tuple[str, dict[str, bytes]]] = {}
        """The model and the vectors of each owner, the vectors by the hashes of their texts."""
        self._last: tuple[Sequence[KnownTool], dict[str, str]] | None = None
        """The tools that were searched last, and the hashes of their texts by their ids."""

    def similarities(self, owner: Owner, query: str, tools: Sequence[KnownTool]) -> Nearness:
        """Compare a request with each tool that is embedded, and embed the others on a thread."""
        embedder = self._embedder()
        model = embedder.model()
        if model is None:
            return Nearness({})
        hashes = self._hashes(tools)
        held = self._vectors(owner, model.identity)
        if any(one not in held for one in hashes.values()):
            self._held.pop(owner, None)  # another process may have made them
            held = self._vectors(owner, model.identity)
        known = {id: held[one] for id, one in hashes.items() if one in held}
        missing = len(hashes) - len(known)
        if missing:
            self._make_later(owner, tools)
        if not known:
            return Nearness({}, missing)
        try:
            asked = embedder.query(query)
        except LociError:  # then words alone find tools
            return Nearness({}, missing)
        return Nearness(cosines(known, asked.vector) if asked.model == model.identity else {}, missing)

    def make(self, owner: Owner, tools: Sequence[KnownTool]) -> None:
        """Embed the tools that have no vector of the current model, and forget old ones if there are many."""
        embedder = self._embedder()
        model = embedder.model()
        if model is None:
            return
        held = self._vectors(owner, model.identity)
        texts = {text_hash(one): embedded_text(one) for one in tools}
        missing = [one for one in texts if one not in held]
        made = dict(held)
        for at in range(0, len(missing), BATCH):
            some = missing[at : at + BATCH]
            embedded = embedder.passages([texts[one] for one in some])
            made |= {one: embedding.vector for one, embedding in zip(some, embedded, strict=True)}
        # A run of code asks about other tools than a search does: the vectors of both stay.
        is_full = len(made) > 2 * len(texts) + ROOM
        kept = {one: vector for one, vector in made.items() if one in texts} if is_full else made
        if kept.keys() != held.keys():
            value = cast("JsonObject", {one: b64encode(vector).decode() for one, vector in kept.items()})
            self._records.put(owner, self._kind, model.identity, value, durable=False)
        self._held[owner] = (model.identity, kept)

    def _hashes(self, tools: Sequence[KnownTool]) -> dict[str, str]:
        last = self._last
        if last is None or last[0] is not tools:  # a search passes the same tuple until its tools change
            last = self._last = tools, {one.id: text_hash(one) for one in tools}
        return last[1]

    def _vectors(self, owner: Owner, model: str) -> Mapping[str, bytes]:
        held = self._held.get(owner)
        if held is None or held[0] != model:
            found = read_or_none(self._records.get(owner, self._kind, model), _vectors) or {}
            held = self._held[owner] = (model, found)
        return held[1]

    def _make_later(self, owner: Owner, tools: Sequence[KnownTool]) -> None:
        with self._turn:
            if owner in self._making:
                return
            self._making.add(owner)

        def make() -> None:
            try:
                with suppress(LociError):  # the next search tries again
                    self.make(owner, tools)
            finally:
                with self._turn:
                    self._making.discard(owner)

        DAEMON_THREADS.start(make)


def _vectors(record: Record) -> dict[str, bytes]:
    return {one: b64decode(str(vector)) for one, vector in record.value.items()}


def embedded_text(tool: KnownTool) -> str:
    """The text of a tool that an embedding model reads."""
    description = " ".join(tool.description[:LONGEST].split())
    names = ", ".join(in_words(name) for name in parameters_of(tool.input_schema))[:LONGEST_NAMES]
    text = f"{tool.server} {in_words(tool.name)}: {description}".lstrip()
    return f"{text} ({names})" if names else text


def text_hash(tool: KnownTool) -> str:
    """Changes if the text does: then the tool is embedded anew."""
    return hashlib.sha256(embedded_text(tool).encode()).hexdigest()[:32]


def cosines(vectors: Mapping[str, bytes], asked: bytes) -> dict[str, float]:
    """The cosine of each vector to the vector of a request (float32); empty if they do not fit.

    The vectors are normalised, little-endian float16, as `Embedder.passages` has them.
    """
    import numpy as np  # takes 0.1 s; a search by words alone does without

    query = np.frombuffer(asked, "<f4")
    rows = rows_of([*vectors.values()], len(next(iter(vectors.values()))) // 2) if vectors else None
    if rows is None or rows.shape[1] != len(query):
        return {}
    return dict(zip(vectors, (rows @ query).tolist(), strict=True))
