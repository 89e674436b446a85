"""`Embedder` and `Reranker` that call the Lambda function `inference`, which runs the models."""

import json
import time
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any

from loci.adapters.aws.clients import Clients, translate_errors
from loci.core.deadline import time_for, time_left
from loci.core.errors import Unavailable
from loci.search.inference import Embedding, EmbeddingModel, QueryEmbedding, Scale

# A request or an answer has 6 MB at most. A character takes up to 6 bytes in JSON (an emoji 12), and the embedding of
# a text of 512 tokens 18 kB.
LONGEST_CALL = 400_000
MOST_TEXTS = 64
# No model reads more of a text.
LONGEST_TEXT = 60_000
SECONDS_A_MODEL_STAYS = 60.0
SECONDS = 120.0
SHARE = 5 / 8
"""The share of a request's remaining time for one answer: 15 s behind the API. The rest suffices to search by words."""
SECONDS_OF_REST = 10.0
"""Seconds after a timeout in which calls fail at once, so that the rest of the request keeps its time."""
CALLS = ThreadPoolExecutor(32, thread_name_prefix="inference")

RESOLUTIONS = {
    "ResourceNotFoundException": "Deploy the stack, or set LOCI_INFERENCE_FUNCTION to the function it made",
    "AccessDeniedException": "Allow this role to invoke the function",
    "TooManyRequestsException": "Try again in a moment, or raise the function's concurrency",
}


@dataclass(frozen=True, slots=True)
class _KnownModels:
    """The function's models, and the time until which they are cached."""

    until: float
    embedder: EmbeddingModel | None
    reranker: str | None


class LambdaInference:
    """Calls the function, and caches for a minute which models it has."""

    def __init__(self, function: str, clients: Clients, clock: Callable[[], float] = time.monotonic) -> None:
        self._function = function
        self._clients = clients
        self._clock = clock
        self._known: _KnownModels | None = None
        self._slow_until = 0.0

    def models(self) -> _KnownModels:
        known = self._known
        if known is None or self._clock() >= known.until:
            answer = self.ask("models")
            embedder = _embedding_model(answer["embedder"])
            known = _KnownModels(self._clock() + SECONDS_A_MODEL_STAYS, embedder, answer["reranker"])
            self._known = known
        return known

    def missing(self, kind: str) -> str:
        return f"The function {self._function} has no {kind}. Build its image with one, and deploy it."

    def ask(self, what: str, **arguments: object) -> Any:
        """The function's answer."""
        payload = json.dumps({"ask": what, **arguments}).encode()
        has_failed, result = self._in_time(payload)
        if has_failed:
            raise Unavailable(
                f"The function {self._function} failed ({result.get('errorMessage', 'no reason given')})",
                "Read its log. It may need more memory or a longer timeout",
                code="INFERENCE_FAILED",
            )
        if error := result.get("error"):
            raise Unavailable(error["what"], error["resolution"], code=error["code"])
        return result["answer"]

    def _in_time(self, payload: bytes) -> tuple[bool, Any]:
        """Invoke the function, on a thread if the request has a deadline, since the timeout of boto3 is fixed."""
        if time_left() is None:
            return self._invoke(payload)
        seconds = time_for(SECONDS, of_rest=SHARE)
        if self._clock() < self._slow_until:
            raise self._too_slow("did not answer a moment ago")
        call = CALLS.submit(copy_context().run, self._invoke, payload)
        try:
            return call.result(seconds)
        except TimeoutError:
            call.cancel()
            self._slow_until = self._clock() + SECONDS_OF_REST
            raise self._too_slow(f"took longer than {seconds:.3g} s") from None

    def _too_slow(self, what: str) -> Unavailable:
        advice = "Try again: it may have been starting. If it still fails, give it more memory"
        return Unavailable(f"The function {self._function} {what}", advice, code="INFERENCE_TOO_SLOW")

    def _invoke(self, payload: bytes) -> tuple[bool, Any]:
        """Return whether the function failed, and its answer."""
        with translate_errors("Lambda", f"the function {self._function}", RESOLUTIONS):
            answer = self._clients.inference.invoke(FunctionName=self._function, Payload=payload)
            return "FunctionError" in answer, json.loads(answer["Payload"].read())


class LambdaEmbedder:
    """Turns texts into vectors with the function's embedder."""

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
        spans = tuple((start, end) for start, end in made["spans"])
        vector, tokens = b64decode(made["vector"]), b64decode(made["tokens"])
        return QueryEmbedding(made["model"], vector, tokens, spans, Scale(**made["scale"]))

    def count(self, texts: Sequence[str]) -> list[int]:
        pieces = [(at, piece) for at, text in enumerate(texts) for piece in _pieces(text)]
        counts = [0] * len(texts)
        found = (
            count
            for call in _calls([piece for _, piece in pieces])
            for count in self._inference.ask("count", texts=call)
        )
        for (at, _), count in zip(pieces, found, strict=True):
            counts[at] += count
        return counts


class LambdaReranker:
    """Rates passages with the function's reranker."""

    def __init__(self, inference: LambdaInference) -> None:
        self._inference = inference

    def model(self) -> str | None:
        return self._inference.models().reranker

    def missing(self) -> str:
        return self._inference.missing("reranker")

    def scores(self, query: str, texts: Sequence[str], *, seconds: float) -> list[float]:
        """Score all passages in one call. The function itself stops when the time is over."""
        call = next(_calls([text[:LONGEST_TEXT] for text in texts]), None)
        if call is None:
            return []
        return self._inference.ask("scores", query=query[:LONGEST_TEXT], texts=call, seconds=seconds)


def _embedding_model(answer: dict[str, Any] | None) -> EmbeddingModel | None:
    if answer is None:
        return None
    return EmbeddingModel(answer["identity"], answer["dimensions"], answer["longest"], tuple(answer["scripts"]))


def _calls(texts: Sequence[str]) -> Iterator[list[str]]:
    """Split the texts into as few calls as their size allows."""
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
    """Split a text that is too long for one call at its spaces."""
    while len(text) > LONGEST_TEXT:
        end = text.rfind(" ", 1, LONGEST_TEXT)
        end = end if end > 0 else LONGEST_TEXT
        yield text[:end]
        text = text[end:]
    yield text
