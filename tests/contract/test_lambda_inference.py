"""The adapter of the inference function: calls of a size that Lambda takes, errors that say what to do."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from loci.adapters.aws.clients import Clients
from loci.adapters.aws.inference import (
    LONGEST_CALL,
    LONGEST_TEXT,
    MOST_TEXTS,
    SECONDS_A_MODEL_STAYS,
    LambdaEmbedder,
    LambdaInference,
    LambdaReranker,
)
from loci.core.errors import Unavailable
from tests.contract.inferences import FUNCTION, handler_on
from tests.support.invoke_api import InvokeApi, invoke_api
from tests.support.small_models import small_models

__all__ = ["small_models"]
pytestmark = pytest.mark.aws


@dataclass
class Clock:
    """A clock that stands still until it is moved."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def api(small_models: Path) -> Iterator[InvokeApi]:
    with invoke_api() as api:
        api.functions[FUNCTION] = handler_on(small_models)
        yield api


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def inference(api: InvokeApi, clock: Clock) -> LambdaInference:
    return LambdaInference(FUNCTION, Clients(), clock)


def test_the_models_are_asked_for_once_a_minute(api: InvokeApi, inference: LambdaInference, clock: Clock) -> None:
    embedder, reranker = LambdaEmbedder(inference), LambdaReranker(inference)
    for _ in range(3):
        assert embedder.model()
        assert reranker.model()
    assert len(api.events) == 1
    clock.now += SECONDS_A_MODEL_STAYS
    embedder.model()
    assert len(api.events) == 2


def test_many_texts_go_in_several_calls(api: InvokeApi, inference: LambdaInference) -> None:
    assert len(LambdaEmbedder(inference).passages(["the"] * (MOST_TEXTS + 1))) == MOST_TEXTS + 1
    assert [len(event["texts"]) for event in api.events] == [MOST_TEXTS, 1]


def test_long_texts_go_in_several_calls_that_lambda_takes(api: InvokeApi, inference: LambdaInference) -> None:
    texts = ["🐎" * LONGEST_TEXT] * (2 * LONGEST_CALL // LONGEST_TEXT)
    assert len(LambdaEmbedder(inference).passages(texts)) == len(texts)
    assert len(api.events) == 3


def test_the_time_travels_along(api: InvokeApi, inference: LambdaInference) -> None:
    LambdaReranker(inference).scores("a", ["b"], seconds=0.25)
    assert api.events[-1]["seconds"] == 0.25


def test_a_function_that_is_not_there_is_told(api: InvokeApi) -> None:
    with pytest.raises(Unavailable, match="LOCI_INFERENCE_FUNCTION"):
        LambdaEmbedder(LambdaInference("other", Clients())).model()


def test_a_function_that_fails_is_told(api: InvokeApi, inference: LambdaInference) -> None:
    def fails(*_: object) -> object:
        raise MemoryError("out of it")

    api.functions[FUNCTION] = fails
    with pytest.raises(Unavailable, match="out of it") as told:
        LambdaEmbedder(inference).query("a")
    assert told.value.code == "INFERENCE_FAILED"


def test_a_function_that_cannot_be_reached_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with invoke_api():
        clients = Clients()
        monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
        monkeypatch.setenv("AWS_ENDPOINT_URL_LAMBDA", "http://127.0.0.1:9")
        with pytest.raises(Unavailable, match="Lambda cannot be reached"):
            LambdaEmbedder(LambdaInference(FUNCTION, clients)).query("a")
