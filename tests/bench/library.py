"""What is searched: a thousand documents that were ingested, and many passages with made-up vectors."""

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.core.stores import ABSENT
from loci.documents.document import Document
from loci.documents.ingest.folder_ingest import FolderIngest
from loci.documents.ingest.index_writer import COLLECTION, IndexWriter
from loci.model_store.models import FROM_INDEX, ModelsFolder, known
from loci.model_store.pull import pull
from loci.search.inference import Embedder, Embedding, EmbeddingModel, QueryEmbedding
from loci.search.ranking import TagsAndDate
from tests.bench.servers import Server, Servers
from tests.bench.texts import Texts, made_up

DOCUMENTS = 1000
AT_ONCE = 100
"""Documents of one transaction."""


@dataclass(frozen=True, slots=True)
class Library:
    """Documents, taken in."""

    data: Path
    models: Path
    documents: Sequence[str]
    """Ids."""
    questions: Sequence[str]
    notes: Path
    """The folder that they come from."""
    seconds: float = 0.0
    """What it took to ingest them."""
    in_model: float = 0.0
    passages: int = 0


def app_on(data: Path, models: Path) -> App:
    """Loci without a cross-encoder."""
    return build_app(load_settings({"data": data, "models": models, "mode": "embedded", "rerank_seconds": 0.0}))


def environment(library: Library) -> Mapping[str, str]:
    """The same, for a process."""
    return {
        "LOCI_DATA": str(library.data),
        "LOCI_MODELS": str(library.models),
        "LOCI_AUTH": "open",
        "LOCI_PULL_MODELS": "false",
        "LOCI_RERANK_SECONDS": "0",
    }


def server_of(servers: Servers, library: Library, **more: str) -> Server:
    """Loci on that library, over HTTP and as a function."""
    serve = (sys.executable, "-m", "loci", "serve", "--port", "0")
    return replace(servers.loci, serve=serve, env={**environment(library), **more})


def written_files(folder: Path) -> list[str]:
    """A thousand markdown files below the folder; their texts."""
    texts = Texts()
    written = [texts.document() for _ in range(DOCUMENTS)]
    for number, text in enumerate(written):
        place = folder / f"part-{number // 100}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"note-{number:04}.md").write_text(text, "utf-8")
    return written


def thousand_documents(servers: Servers) -> Library:
    """A thousand files, ingested and embedded; the same library for all who ask."""
    return _thousand_documents(servers.scratch, models_of(servers))


def many_passages(servers: Servers, count: int) -> Library:
    """So many passages, written through the ports."""
    data, models = servers.scratch / f"passages-{count}", models_of(servers)
    app, texts = app_on(data, models), Texts(3)
    questions: dict[str, str] = {}
    model = embedding_model(app)
    documents = made_up(texts, app.documents.parts.embedder, model, count)
    while some := list(islice(documents, AT_ONCE)):
        with app.documents.parts.index.together():  # one by one each waits for the disk, on a busy machine for a second
            for document, chunks in some:
                app.documents.parts.index.put(LOCAL, COLLECTION, document, chunks, TagsAndDate())
                app.documents.parts.catalog.put(LOCAL, known_document(document, len(chunks), model.identity), ABSENT)
                questions[document] = texts.question(chunks[0].text)
    return Library(data, models, list(questions), texts.some([*questions.values()]), data, passages=count)


def embedding_model(app: App) -> EmbeddingModel:
    model = app.documents.parts.embedder.model()
    if model is None:
        raise RuntimeError(f"there is no embedder in {app.settings.models_folder}")
    return model


def models_of(servers: Servers) -> Path:
    """The folder with the embedder, which is brought there if need be."""
    if servers.models is not None:
        return servers.models
    shelf = ModelsFolder(servers.scratch / "models")
    return pull(known(FROM_INDEX), shelf, "").folder.parent


@cache
def _thousand_documents(scratch: Path, models: Path) -> Library:
    notes, data = scratch / "notes", scratch / "thousand"
    texts = written_files(notes)
    app = app_on(data, models)
    embedder = _Timed(app.documents.parts.embedder)
    writer = IndexWriter(app.documents.parts.catalog, app.documents.parts.index, embedder, time.time)
    ingest = FolderIngest(app.documents.parts.catalog, writer)
    embedder.query("The model is loaded before.")
    began = time.perf_counter()
    summary = ingest.run(LOCAL, [str(notes)])
    seconds = time.perf_counter() - began
    if summary.processed != DOCUMENTS or not summary.embedded:
        raise RuntimeError(f"not all was ingested: {summary}")
    ids = [one.id for one in app.documents.parts.catalog.documents(LOCAL)]
    asked = Texts(2).questions(texts)
    return Library(data, models, ids, asked, notes, seconds, embedder.seconds, summary.chunks)


def known_document(id: str, chunks: int, model: str) -> Document:
    """The record of a made-up one."""
    return Document(
        id=id,
        path=f"made-up/{id}.md",
        root=None,
        title=f"Document {id}",
        tags=(),
        date=None,
        sha256="0" * 64,
        bytes=1000 * chunks,
        lines=chunks,
        chunks=chunks,
        model=model,
        ingested_at="2026-01-01T00:00:00Z",
        problems=(),
    )


class _Timed:
    """The embedder, and how long it took for passages and for the count of their tokens."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.seconds = 0.0

    def model(self) -> EmbeddingModel | None:
        return self._embedder.model()

    def missing(self) -> str:
        return self._embedder.missing()

    def passages(self, texts: Sequence[str]) -> list[Embedding]:
        began = time.perf_counter()
        found = self._embedder.passages(texts)
        self.seconds += time.perf_counter() - began
        return found

    def query(self, text: str) -> QueryEmbedding:
        return self._embedder.query(text)

    def count(self, texts: Sequence[str]) -> list[int]:
        return self._embedder.count(texts)
