"""Finding tools among a thousand, beside the least that it costs: the request through the model, one matrix product."""

import time
from dataclasses import replace
from itertools import count

import numpy as np

from loci.adapters.local.inference.current_model import CurrentModel
from loci.adapters.local.inference.models import OnnxEmbedder
from loci.gateway.tool_embeddings import cosines, embedded_text
from loci.gateway.tool_search import KnownTool, ToolIndex
from loci.gateway.tool_words import fields_of
from loci.model_store.models import ModelsFolder
from loci.search.inference import Embedder
from loci.search.words import index_words
from tests.bench.figures import Figure, ratio_figure, time_figure
from tests.bench.floor import BareModel
from tests.bench.library import models_of
from tests.bench.servers import Servers
from tests.quality.tool_definitions import listed_tools
from tests.quality.tool_requests import requests

TOOLS = 1000
FOUND = 5
ROUNDS = 5
BUILDS = 21


def search_tools(servers: Servers) -> list[Figure]:
    """Tools of real servers, as often as it takes to have a thousand."""
    tools, models = _tools(), models_of(servers)
    embedder = OnnxEmbedder(CurrentModel(ModelsFolder(models), "embedder"))
    return [_searched(tools, embedder, BareModel(models)), _built(tools)]


def _searched(tools: list[KnownTool], embedder: Embedder, bare: BareModel) -> Figure:
    embedded = [one.vector for one in embedder.passages([embedded_text(one) for one in tools])]
    index, vectors = ToolIndex(tools), {one.id: row for one, row in zip(tools, embedded, strict=True)}
    rows = np.frombuffer(b"".join(embedded), "<f2").reshape(len(tools), -1).astype(np.float32)
    asked = [one.text for one in requests()]
    least, loci = list[float](), list[float]()
    for text in [*asked[:FOUND], *asked * ROUNDS]:
        began = time.perf_counter()
        np.argpartition(rows @ bare.vector(text), -FOUND)[-FOUND:]
        between = time.perf_counter()
        index.find(text, FOUND, cosines(vectors, embedder.query(text).vector))
        least.append(between - began)
        loci.append(time.perf_counter() - between)
    return ratio_figure(f"finding one of {TOOLS:,} tools", least[FOUND:], loci[FOUND:], 3.0)  # the first load models


def _built(tools: list[KnownTool]) -> Figure:
    """The index, beside the cutting of the same words."""
    texts = [" ".join(word for words in fields_of(one).values() for word in words) for one in tools]
    cut, built = list[float](), list[float]()
    for _ in range(BUILDS):
        began = time.perf_counter()
        for text in texts:
            index_words(text)
        between = time.perf_counter()
        ToolIndex(tools)
        cut.append(between - began)
        built.append(time.perf_counter() - between)
    return time_figure(f"building the index of {TOOLS:,} tools, without vectors", cut, built, 0.1)


def _tools() -> list[KnownTool]:
    listed = listed_tools()
    copies = (replace(tool, id=f"copy-{copy}-{tool.id}") for copy in count(1) for tool in listed)
    return [*listed, *(next(copies) for _ in range(TOOLS - len(listed)))]
