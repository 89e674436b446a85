"""Both legs on a real OpenSearch node: the one at OPENSEARCH_URL, else one of this machine."""

import logging
import time
from collections.abc import Generator
from contextlib import contextmanager

from loci.adapters.aws.index import OpenSearchIndex
from loci.adapters.aws.opensearch import OpenSearchCluster
from loci.core.identity import LOCAL
from loci.documents.ingest.index_writer import COLLECTION
from loci.search.ranking import QueryVector, TagsAndDate, Where
from loci.search.words import query_words
from tests.bench.figures import Figure, time_figure, verdict
from tests.bench.library import app_on, embedding_model, models_of
from tests.bench.servers import Servers
from tests.bench.texts import Texts, made_up
from tests.servers.errors import NotInstalled
from tests.support.domain import domain

PASSAGES = 10_000
WARM = 20
MOST = 0.040
EVERYWHERE = Where()


def opensearch(servers: Servers) -> list[Figure]:
    try:
        with domain() as (found, name):
            return _searched(servers, found, name)
    except NotInstalled as error:
        return [Figure(f"OpenSearch: {error}", "", "not measured", "no budget")]


def _searched(servers: Servers, found: OpenSearchCluster, name: str) -> list[Figure]:
    app, index, texts = app_on(servers.scratch / "empty", models_of(servers)), OpenSearchIndex(found, name), Texts(4)
    questions, words, vector = list[str](), list[str](), None
    for document, chunks in made_up(texts, app.documents.parts.embedder, embedding_model(app), PASSAGES):
        index.put(LOCAL, COLLECTION, document, chunks, TagsAndDate())
        questions.append(texts.question(chunks[0].text))
    plain, both, whole = list[float](), list[float](), list[float]()
    for question in [*questions[:WARM], *texts.some(questions)]:
        asked = app.documents.parts.embedder.query(question)
        vector, words = QueryVector.of(asked.model, asked.vector), query_words(question)
        began = time.perf_counter()
        best = index.candidates(LOCAL, COLLECTION, words, vector, limit=50, where=EVERYWHERE)
        both.append(time.perf_counter() - began)
        index.chunks(LOCAL, COLLECTION, [one.chunk for one in best])
        whole.append(time.perf_counter() - began)
        began = time.perf_counter()
        found.client.msearch(body=[{}, {"size": 0, "query": {"match_all": {}}}], index=name)
        plain.append(time.perf_counter() - began)
    for kept in (plain, both, whole):
        del kept[:WARM]
    with _counted() as requests:
        index.candidates(LOCAL, COLLECTION, words, vector, limit=50, where=EVERYWHERE)
    return [
        time_figure(f"OpenSearch, {PASSAGES:,} passages: both legs", plain, both, MOST),
        time_figure(f"OpenSearch, {PASSAGES:,} passages: both legs and the texts", plain, whole),
        Figure(
            "OpenSearch: round trips for both legs",
            budget="1",
            measured="",
            verdict=verdict(kept=len(requests) == 1),
            loci=str(len(requests)),
        ),
    ]


@contextmanager
def _counted() -> Generator[list[str]]:
    """The requests that the client sends meanwhile, as it logs them."""
    sent: list[str] = []

    class Counts(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            sent.append(record.getMessage())

    logger, counts = logging.getLogger("opensearch"), Counts()
    before = logger.level
    logger.addHandler(counts)
    logger.setLevel(logging.INFO)
    try:
        yield sent
    finally:
        logger.setLevel(before)
        logger.removeHandler(counts)
