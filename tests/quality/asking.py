"""Questions of a set through `tools/call` of a real server. A key stands for each owner.

Each question is asked of its own library. Two further libraries have a half of the set each, and are asked what only
the other half answers: such a *foreign* question is of the same kind as those that the library answers.
"""

import statistics
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

from loci.app import App
from loci.core.identity import Owner
from loci.documents.ingest.index_writer import COLLECTION
from loci.mcp.http.application import asgi
from loci.search.inference import tokens_at_most
from tests.quality.doors import Door, Shown
from tests.quality.figures import Figures, Ranks, mean
from tests.quality.sets import Question, Retrieval, Text, one_line

DEPTH = 10
FOREIGN = 300
"""Foreign questions, at most."""
MOST_IN_HALF = 1_000
"""Documents of a half, at most: first those that answer its questions."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What an agent gets to read of one answer."""

    found: Sequence[str]
    """The paths of texts, best first."""
    shows_evidence: bool
    is_refused: bool
    tokens: int
    ms: float


@dataclass(frozen=True, slots=True)
class Filled:
    """A set that was taken in through a door."""

    one: Retrieval
    door: Door
    texts: Mapping[Owner, Mapping[str, Text]]
    """By their ids in Loci."""
    foreign: Sequence[tuple[Owner, Question]]
    tenant: str

    def owner(self, scope: str) -> Owner:
        return Owner(self.tenant, scope or "all")


def fill(app: App, door: Door, one: Retrieval, tenant: str) -> Filled:
    """Take the set in: whole, and in halves."""
    homes, sides = one.homes(), one.sides()
    halves = [Owner(tenant, f"half {side}") for side in (0, 1)]
    apart = list[tuple[int, Question]]()
    for question in one.questions:
        its = {sides[homes[id].path] for id in question.answers}
        apart += [(side, question) for side in its if len(its) == 1]
    apart = apart[:: max(1, len(apart) // FOREIGN)][:FOREIGN]
    wanted = {homes[id].path for _, question in apart for id in question.answers}
    texts = defaultdict[Owner, list[Text]](list)
    for text in one.texts:
        texts[Owner(tenant, text.scope or "all")].append(text)
    for text in sorted(one.texts, key=lambda text: text.path not in wanted):
        if len(its := texts[halves[sides[text.path]]]) < MOST_IN_HALF:
            its.append(text)
    taken = {owner: door.fill(app, owner, its) for owner, its in texts.items()}
    foreign = [(halves[1 - side], question) for side, question in apart if halves[1 - side] in taken]
    return Filled(one, door, taken, foreign, tenant)


async def asked(app: App, filled: Filled) -> Figures:
    """Ask each question without a limit, as an agent does."""
    homes, questions = filled.one.homes(), filled.one.questions
    keys = {owner: app.api_keys.create(owner, "quality")[1] for owner in filled.texts}
    async with _server(app) as client:
        own = [await _answer(client, keys, filled, filled.owner(one.scope), one) for one in questions]
        foreign = [await _answer(client, keys, filled, owner, one) for owner, one in filled.foreign]
    pairs = [*zip(questions, own, strict=True)]
    held = [got.shows_evidence for one, got in pairs if any(homes[id].evidence(one) for id in one.answers)]
    return Figures(
        len(questions),
        Ranks.of([(frozenset(homes[id].path for id in one.answers), got.found) for one, got in pairs]),
        mean(held) if 2 * len(held) >= len(pairs) else None,  # else the set names none, but for some by chance
        mean([got.is_refused for one, got in pairs if one.is_answerable]),
        mean([got.is_refused for got in foreign]),
        statistics.median(got.tokens for got in own),
        max(got.tokens for got in own),
        statistics.median(got.ms for got in own),
    )


def ranked_items(app: App, filled: Filled) -> dict[str, list[str]]:
    """The items of the best passages, by the ids of the questions. No tool ranks turns one by one; baselines do."""
    found = dict[str, list[str]]()
    for question in filled.one.questions:
        owner, each = filled.owner(question.scope), None if filled.one.has_passages else 1
        ids = [
            id
            for hit in app.search.find(owner, COLLECTION, question.text, limit=DEPTH, each=each).hits
            for id, begin, end in filled.texts[owner][hit.chunk.document].items
            if begin <= hit.chunk.last_line and end >= hit.chunk.first_line
        ]
        found[question.id] = list(dict.fromkeys(ids))[:DEPTH]
    return found


@asynccontextmanager
async def _server(app: App) -> AsyncGenerator[httpx2.AsyncClient]:
    application = asgi(app)
    async with application.router.lifespan_context(application):
        transport = httpx2.ASGITransport(app=application)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=60) as client:
            yield client


async def _answer(
    client: httpx2.AsyncClient, keys: Mapping[Owner, str], filled: Filled, owner: Owner, question: Question
) -> Answer:
    door, texts = filled.door, filled.texts[owner]
    call = {"name": door.tool, "arguments": {door.argument: question.text}}
    began = time.perf_counter()
    answer = await client.post(
        door.surface,
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
        headers={
            "authorization": f"Bearer {keys[owner]}",
            "accept": "application/json",
            "mcp-protocol-version": "2025-11-25",
        },
    )
    ms = (time.perf_counter() - began) * 1000
    result: dict[str, Any] = answer.json()["result"]
    if result.get("isError"):
        raise RuntimeError(f"{question.text!r}: {result['content']}")
    shown = door.shown(result["structuredContent"])
    return Answer(
        [texts[id].path for id, _ in shown.texts],
        _shows_evidence(shown, texts, question),
        shown.match == "none",
        sum(tokens_at_most(block["text"]) for block in result["content"]),
        ms,
    )


def _shows_evidence(shown: Shown, texts: Mapping[str, Text], question: Question) -> bool:
    return any(
        evidence in passage
        for id, passages in shown.texts
        for evidence in texts[id].evidence(question)
        for passage in map(one_line, passages)
    )
