"""`search_memory` over five thousand passages of files, beside the least that such a search costs, in turns."""

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from loci.core.identity import LOCAL
from loci.files.file import READER_VERSION, file_id
from loci.files.search_query import COLLECTION
from loci.search.ranking import TagsAndDate
from tests.bench.calls import tool_call
from tests.bench.children import Floor, Serving, floor, serving
from tests.bench.connection import connected
from tests.bench.figures import Figure, medians_figure
from tests.bench.library import Library, app_on, embedding_model, models_of, server_of
from tests.bench.servers import Servers
from tests.bench.texts import Texts, made_up

WIRE = "2026-07-28"
PASSAGES = 5_000
A_TURN = 20
MOST = 2.5


def file_search(servers: Servers) -> list[Figure]:
    """Files whose passages were written through the ports."""
    library = _files(servers)
    with ExitStack() as stack:
        least = stack.enter_context(floor(library.data, library.models))
        served = stack.enter_context(serving(server_of(servers, library)))
        took = asyncio.run(_turns(library.questions, least, served))
    return [medians_figure(f"search_memory, {PASSAGES:,} passages: over HTTP", least.took["all"], took, MOST)]


async def _turns(questions: Sequence[str], least: Floor, served: Serving) -> list[float]:
    """Every question to both, a few at a time; the first ones load models and vectors."""
    took: list[float] = []
    async with connected(served.port) as connection:
        for first in range(-A_TURN, len(questions), A_TURN):
            if first == 0:
                least.took.clear()
                took.clear()
            some = questions[max(0, first) : max(0, first) + A_TURN]
            least.run(some)
            for one in some:
                seconds, body = await connection.answer(tool_call(WIRE, "search_memory", {"parsed_query": one}).raw())
                if "chunk_id" not in body and "No file is about it" not in body:
                    raise RuntimeError(f"nothing was found: {body}")
                took.append(seconds)
    return took


def _files(servers: Servers) -> Library:
    data, models = servers.scratch / "files", models_of(servers)
    app, texts = app_on(data, models), Texts(5)
    lake, questions = app.files.parts.lake, dict[str, str]()
    model = embedding_model(app)
    for document, chunks in made_up(texts, app.files.parts.embedder, model, PASSAGES):
        name = f"{document}.txt"
        id = file_id(name)
        moved = [
            replace(one, id=f"{id}#{number}", document=id, path=f"{name}#lines=1-1")
            for number, one in enumerate(chunks)
        ]
        file, _ = lake.add(LOCAL, name, document.encode())
        version = replace(
            file.newest,
            status="okay",
            format="txt",
            reader=READER_VERSION,
            chunks=len(moved),
            summary=chunks[0].text[:400],
            model=model.identity,
        )
        app.files.parts.index.put(LOCAL, COLLECTION, id, moved, TagsAndDate(("kind:txt_file", "type:txt")))
        lake.put(LOCAL, file.read_as(version))
        questions[id] = texts.question(chunks[0].text)
    return Library(data, models, list(questions), texts.some([*questions.values()]), data, passages=PASSAGES)
