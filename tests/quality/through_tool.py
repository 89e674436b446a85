"""Questions of a set through `tools/call` of a real server: which documents come, and what is read of them.

A key stands for each owner. An answer *holds the evidence* if a passage that it shows has a text that answers, whole: a
turn of a conversation, a row of a table, the words of an answer.
"""

import statistics
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

from loci.app import App
from loci.core.identity import Owner
from loci.mcp.answers import as_text
from loci.mcp.http.application import asgi
from loci.search.inference import tokens_at_most
from tests.quality.sets import Question, Retrieval, Text, gain_at_10, recall_at_10

FEW = 5
TOKENS = 750
"""Of the text of an answer, at most."""
HELD = {"locomo-a": (0.70, 0.60)}
"""Questions whose evidence is held at least, at five documents and at the tool's own limit."""
HEADER = """\
| documents, as search_documents returns them | documents | questions | nDCG@10: SQLite / OpenSearch | recall@10 \
| evidence held at 5 | at 20 | tokens of the text at 5, at 20; most; of the structure | ms |
|---|--:|--:|--:|--:|--:|--:|--:|--:|"""


@dataclass(frozen=True, slots=True)
class Read:
    """What an agent gets to read of one answer."""

    documents: Sequence[str]
    """Paths, best first."""
    passages: Mapping[str, Sequence[str]]
    """The texts that are shown of each."""
    tokens: int
    """Of its text."""
    structure: int
    """Tokens of its structure."""
    ms: float


@dataclass(frozen=True, slots=True)
class Told:
    """How a set is answered: what ranks are documents, as the tool returns them."""

    gain: float
    recall: float
    few: float | None
    """Questions whose evidence is held at five documents; None if the set names none."""
    default: float | None
    """The same at the tool's own limit."""
    largest: int
    """Tokens of a text."""
    typical: tuple[int, int]
    """Tokens of the middle answer's text, at five documents and at the tool's own limit."""
    structure: int
    """Tokens of the middle answer's structure, at the tool's own limit."""
    ms: float


async def asked(app: App, tenant: str, one: Retrieval) -> Told:
    """Ask each question twice: for five documents, and without a limit."""
    scopes = {text.scope for text in one.texts}
    keys = {scope: app.api_keys.create(Owner(tenant, scope or "all"), "quality")[1] for scope in scopes}
    paths = {
        scope: {had.id: had.path for had in app.documents.newest(Owner(tenant, scope or "all"))} for scope in scopes
    }
    files = {(text.scope, text.path): text for text in one.texts}
    having = {(text.scope, id): text.path for text in one.texts for id, _, _ in text.items}
    questions = [question for question in one.questions if question.text.strip()]
    gains, recalls = list[float](), list[float]()
    few, many = list[Read](), list[Read]()
    async with _server(app) as client:
        for question in questions:
            asked = keys[question.scope], paths[question.scope]
            few.append(await _called(client, *asked, {"query": question.text, "limit": FEW}))
            many.append(await _called(client, *asked, {"query": question.text}))
            wanted = frozenset(having[question.scope, id] for id in question.answers)
            gains.append(gain_at_10(wanted, many[-1].documents))
            recalls.append(recall_at_10(wanted, many[-1].documents))
    return Told(
        statistics.mean(gains),
        statistics.mean(recalls),
        _held(questions, few, files),
        _held(questions, many, files),
        max(read.tokens for read in (*few, *many)),
        (round(statistics.median(read.tokens for read in few)), round(statistics.median(read.tokens for read in many))),
        round(statistics.median(read.structure for read in many)),
        statistics.mean(read.ms for read in (*few, *many)),
    )


def _held(
    questions: Sequence[Question], answers: Sequence[Read], files: Mapping[tuple[str, str], Text]
) -> float | None:
    asked = [
        (question, read) for question, read in zip(questions, answers, strict=True) if _has_evidence(question, files)
    ]
    if 2 * len(asked) < len(questions):  # a set that names none, but for some texts of one title
        return None
    return statistics.mean(
        any(
            _plain(text) in _plain(shown)
            for path, passages in read.passages.items()
            for text in files[question.scope, path].evidence(question)
            for shown in passages
        )
        for question, read in asked
    )


def _has_evidence(question: Question, files: Mapping[tuple[str, str], Text]) -> bool:
    return any(text.evidence(question) for (scope, _), text in files.items() if scope == question.scope)


@asynccontextmanager
async def _server(app: App) -> AsyncGenerator[httpx2.AsyncClient]:
    application = asgi(app)
    async with application.router.lifespan_context(application):
        transport = httpx2.ASGITransport(app=application)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=60) as client:
            yield client


async def _called(
    client: httpx2.AsyncClient, key: str, paths: Mapping[str, str], arguments: Mapping[str, object]
) -> Read:
    call = {"name": "search_documents", "arguments": arguments}
    began = time.perf_counter()
    answer = await client.post(
        "/mcp/documents",
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
        headers={"authorization": f"Bearer {key}", "accept": "application/json", "mcp-protocol-version": "2025-11-25"},
    )
    ms = (time.perf_counter() - began) * 1000
    result: dict[str, Any] = answer.json()["result"]
    if result.get("isError"):
        raise RuntimeError(f"{arguments}: {result['content']}")
    rows: list[dict[str, Any]] = result["structuredContent"]["results"]
    texts = {paths[row["id"]]: [row["snippet"], *(one["text"] for one in row.get("passages", ()))] for row in rows}
    size = sum(tokens_at_most(block["text"]) for block in result["content"])
    structure = tokens_at_most(as_text(result["structuredContent"]))
    return Read([paths[row["id"]] for row in rows], texts, size, structure, ms)


def _plain(text: str) -> str:
    return " ".join(text.split())


def row(one: Retrieval, here: Told, there: Told | None) -> str:
    """The line of the table: on SQLite, and on OpenSearch if that was measured."""
    both = [here] if there is None else [here, there]
    cells = [one.name, f"{len(one.texts):,}", f"{len(one.questions):,}"]
    for shares in ([told.gain for told in both], [told.recall for told in both], *_evidence(both)):
        cells.append(" / ".join("-" if share is None else f"{share:.3f}" for share in shares))
    most = max(told.largest for told in both)
    cells.append(f"{here.typical[0]:,}, {here.typical[1]:,}; {most:,}; {here.structure:,}")
    cells.append(" / ".join(f"{told.ms:.0f}" for told in both))
    return f"| {' | '.join(cells)} |"


def failings(one: Retrieval, both: Sequence[Told]) -> list[str]:
    """What is wrong with the answers, in words."""
    few, default = HELD.get(one.name, (0.0, 0.0))
    for told in both:
        if told.largest > TOKENS:
            return [f"{one.name}: the text of an answer has {told.largest:,} tokens, and {TOKENS:,} is the most"]
        if (told.few or 0.0) < few or (told.default or 0.0) < default:
            return [f"{one.name}: too few answers hold the evidence"]
    return []


def _evidence(both: Sequence[Told]) -> tuple[list[float | None], list[float | None]]:
    return [told.few for told in both], [told.default for told in both]
