"""`Embedder` and `Reranker` by the function `inference`, which runs the models."""

import json
import time
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from loci.adapters.aws.clients import Clients, explained
from loci.core.errors import Unavailable
from loci.search.embedding_model import EmbeddingModel, QueryEmbedding, Scale
from loci.search.ranking import Embedding

# A call takes and gives 6 MB at most. JSON writes a character in up to 6 bytes (two of these for an emoji), and
# a text of 512 tokens comes back as 18 kB.
LONGEST_CALL = 400_000
MOST_TEXTS = 64
# More than any model reads of a text.
LONGEST_TEXT = 60_000
SECONDS_A_MODEL_STAYS = 60.0

RESOLUTIONS = {
    "ResourceNotFoundException": "Deploy the stack, or set LOCI_INFERENCE_FUNCTION to the function it made",
    "AccessDeniedException": "Allow this role to invoke the function",
    "TooManyRequestsException": "Try again in a moment, or raise the function's concurrency",
}


@dataclass(frozen=True, slots=True)
class _Models:
    """What the function said of its models."""

    until: float
    embedder: EmbeddingModel | None
    reranker: str | None


class LambdaInference:
    """The function, and for a minute what models it has."""

    def __init__(self, function: str, clients: Clients, clock: Callable[[], float] = time.monotonic) -> None:
        self._function = function
        self._clients = clients
        self._clock = clock
        self._known: _Models | None = None

    def models(self) -> _Models:
        known = self._known
        if known is None or self._clock() >= known.until:
            said = self.ask("models")
            known = _Models(self._clock() + SECONDS_A_MODEL_STAYS, _embedding_model(said["embedder"]), said["reranker"])
            self._known = known
        return known

    def missing(self, kind: str) -> str:
        return f"The function {self._function} has no {kind}. Build its image with one, and deploy it."

    def ask(self, what: str, **arguments: object) -> Any:
        """The function's answer. Asking twice does no harm, so boto3 may try again."""
        question = json.dumps({"ask": what, **arguments}).encode()
        with explained("Lambda", f"the function {self._function}", RESOLUTIONS):
            answer = self._clients.lambda_.invoke(FunctionName=self._function, Payload=question)
            said = json.loads(answer["Payload"].read())
        if "FunctionError" in answer:
            raise Unavailable(
                f"The function {self._function} failed ({said.get('errorMessage', 'no reason given')})",
                "Read its log; more memory or a longer timeout may be what it needs",
                code="INFERENCE_FAILED",
            )
        if error := said.get("error"):
            raise Unavailable(error["what"], error["resolution"], code=error["code"])
        return said["answer"]


class LambdaEmbedder:
    """Texts as vectors, made by the function."""

    def __init__(self, inference: LambdaInference) -> None:
        self._inference = inference

    def model(self) -> EmbeddingModel | None:
        return self._inference.models().embedder

    def missing(self) -> str:
        return self._inference.missing("embedder")

    def passages(self, texts: Sequence[str]) -> list[Embedding]:
        return [
            Embedding(made["model"], b64decode(made["vector"]), b64decode(made["bits"]))
            for call in _calls([text[:LONGEST_TEXT] for text in texts])
            for made in self._inference.ask("passages", texts=call)
        ]

    def query(self, text: str) -> QueryEmbedding:
        made = self._inference.ask("query", text=text[:LONGEST_TEXT])
        return QueryEmbedding(
            made["model"], b64decode(made["vector"]), b64decode(made["tokens"]), Scale(**made["scale"])
        )

    def count(self, texts: Sequence[str]) -> list[int]:
        pieces = [(place, piece) for place, text in enumerate(texts) for piece in _pieces(text)]
        counts = [0] * len(texts)
        found = (
            count
            for call in _calls([piece for _, piece in pieces])
            for count in self._inference.ask("count", texts=call)
        )
        for (place, _), count in zip(pieces, found, strict=True):
            counts[place] += count
        return counts


class LambdaReranker:
    """Relevances, found by the function."""

    def __init__(self, inference: LambdaInference) -> None:
        self._inference = inference

    def model(self) -> str | None:
        return self._inference.models().reranker

    def missing(self) -> str:
        return self._inference.missing("reranker")

    def scores(self, query: str, texts: Sequence[str], *, seconds: float) -> list[float]:
        """In one call: the time runs there, where the passages are read."""
        call = next(_calls([text[:LONGEST_TEXT] for text in texts]), None)
        if call is None:
            return []
        return self._inference.ask("scores", query=query[:LONGEST_TEXT], texts=call, seconds=seconds)


def _embedding_model(said: dict[str, Any] | None) -> EmbeddingModel | None:
    if said is None:
        return None
    return EmbeddingModel(said["identity"], said["dimensions"], said["longest"], tuple(said["scripts"]))


def _calls(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in as few calls as their size allows."""
    call: list[str] = []
    room = LONGEST_CALL
    for text in texts:
        if call and (len(text) > room or len(call) == MOST_TEXTS):
            yield call
            call, room = [], LONGEST_CALL
        call.append(text)
        room -= len(text)
    if call:
        yield call


def _pieces(text: str) -> Iterator[str]:
    """A text that is too long for a call, cut at spaces where it has some."""
    while len(text) > LONGEST_TEXT:
        end = text.rfind(" ", 1, LONGEST_TEXT)
        end = end if end > 0 else LONGEST_TEXT
        yield text[:end]
        text = text[end:]
    yield text
