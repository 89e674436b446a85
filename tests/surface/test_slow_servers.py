"""A request on AWS has so many seconds: whatever is silent or refuses, it is answered before the API gives up."""

import json
import re
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from loci.adapters.aws.clients import Clients
from loci.adapters.aws.inference import LambdaEmbedder, LambdaInference, LambdaReranker
from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.mcp import lambda_handler
from loci.mcp.http.application import asgi
from loci.mcp.lambda_handler import keep_alive
from loci.search.document_index import SearchAdapters
from tests.contract.inferences import FUNCTION, handler_on
from tests.support.api_events import Request, event
from tests.support.invoke_api import InvokeApi, invoke_api
from tests.support.lambda_worker import Context
from tests.support.moto_aws import BUCKET, SECRET, TABLE, moto_aws
from tests.support.serving import call
from tests.support.silent import silent_server
from tests.support.small_models import small_models
from tests.support.with_parts import with_parts

__all__ = ["small_models"]
SECONDS = 2.0
"""Of a request here. Behind the API it has 24."""
SPARE = 20.0
"""What a function has beyond that. It is 6 in truth: too little for a machine that is busy with other tests."""
PATIENT = 6.0
"""Of one whose words are searched in what a silent model leaves."""
Ask = Callable[..., Any]


class Handler:
    """The gateway's handler on a thread of its own, as in its environment."""

    def __init__(self, app: App, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._thread = ThreadPoolExecutor(1)
        self._app = app
        self._handle = self._thread.submit(lambda: keep_alive(asgi(app))).result(60)

    def ask(self, tool: str, **arguments: object) -> Any:
        """The result of a call, or what the API answers in its place."""
        _, key = self._app.api_keys.create(LOCAL, "test")
        return self.answer(key, tool, arguments)

    def answer(self, key: str, tool: str, arguments: dict[str, object]) -> Any:
        headers = (
            ("Authorization", f"Bearer {key}"),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("Mcp-Protocol-Version", "2025-11-25"),
            ("Host", "127.0.0.1:8000"),
        )
        body = json.dumps(call(tool, arguments)).encode()
        asked = event(Request("POST", "/mcp", headers, body, "127.0.0.1", 8000), "v1")
        context = Context("loci-gateway", time.monotonic() + self._seconds + SPARE)
        said = self._thread.submit(lambda: self._handle(asked, context)).result(60)
        assert context.get_remaining_time_in_millis() > 1000, "the function would have been ended"
        text = said["body"]  # JSON, or the only event of a stream
        message = json.loads(text if text.startswith("{") else text.partition("data: ")[2])
        return message.get("result", {**message, "status": said["statusCode"]})


def on_aws(tmp_path: Path, **settings: object) -> App:
    told = {"mode": "aws", "table": TABLE, "bucket": BUCKET, "secrets_from": SECRET, "models": tmp_path, **settings}
    return build_app(load_settings(told))


@pytest.fixture(autouse=True)
def _much_spare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lambda_handler, "SPARE", SPARE)


@pytest.fixture
def aws() -> Generator[None]:
    with moto_aws():
        yield


@pytest.fixture
def silent() -> Generator[str]:
    with silent_server() as url:
        yield url


def test_a_silent_index_is_told_in_time(aws: None, silent: str, tmp_path: Path) -> None:
    result = Handler(on_aws(tmp_path, search_url=silent)).ask("search_documents", query="ferry")
    error = result["_meta"]["loci/error"]
    assert result["isError"]
    assert error["code"] in ("SEARCH_TOO_SLOW", "TOOK_TOO_LONG")
    assert error["message"]
    assert error["resolution"].startswith("Try again")


def test_a_silent_table_is_told_in_time(
    aws: None, silent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", silent)
    answer = Handler(on_aws(tmp_path)).answer(f"loci_{'a' * 12}_{'b' * 43}", "scratchpad_list", {})
    assert answer["status"] == 503


def test_a_store_that_falls_silent_in_the_middle_is_told_in_time(
    aws: None, silent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", silent)
    app = on_aws(tmp_path)
    written = Handler(app).ask("write_document", path="notes/a.md", content="# A\n")
    error = written["_meta"]["loci/error"]
    assert written["isError"]
    assert error["code"] == "TOOK_TOO_LONG"
    assert "look first if it has done so" in error["resolution"]


@pytest.fixture
def inference(small_models: Path) -> Generator[InvokeApi]:
    with invoke_api() as api:
        api.functions[FUNCTION] = handler_on(small_models)
        yield api


@pytest.fixture
def searching(inference: InvokeApi, tmp_path: Path) -> App:
    """Notes in the index of this machine, with the models in a function."""
    app = build_app(load_settings({"data": tmp_path / "data", "models": tmp_path / "none", "rerank_seconds": 1}))
    parts = app.documents.parts
    function = LambdaInference(FUNCTION, Clients())
    locks = parts.library._locks  # pyright: ignore[reportPrivateUsage]
    adapters = SearchAdapters(parts.index, LambdaEmbedder(function), LambdaReranker(function), locks)
    made = with_parts(build_app(app.settings), search_adapters=adapters).documents
    for name in ("north", "south"):
        made.parts.library.add(LOCAL, f"{name}.md", f"# {name}\n\nThe ferry to the {name} island.\n".encode())
    function._known = None  # pyright: ignore[reportPrivateUsage] (as in a new environment)
    return with_parts(app, documents=made)


def stages(result: Any) -> dict[str, tuple[bool, str]]:
    found = result["structuredContent"]
    assert not result.get("isError"), found
    assert len(found["results"]) == 2
    return {one["stage"]: (one["ran"], one["note"]) for one in found["metadata"]["stages"]}


def search(app: App, seconds: float = SECONDS) -> dict[str, tuple[bool, str]]:
    return stages(Handler(app, seconds).ask("search_documents", query="ferry to the island", explain=True))


def test_with_its_models_a_search_goes_by_meaning(searching: App) -> None:
    ran = {stage for stage, (ran, _) in search(searching, 20.0).items() if ran}
    assert ran == {"vector", "words", "late", "rerank"}


@pytest.mark.parametrize("at_first", [True, False])
def test_throttled_models_leave_a_search_its_words(searching: App, inference: InvokeApi, *, at_first: bool) -> None:
    if not at_first:
        search(searching, 20.0)  # the models are known for a minute
    inference.throttled.add(FUNCTION)
    ran = search(searching, 20.0)
    assert {stage for stage, (it_ran, _) in ran.items() if it_ran} == {"words"}
    for stage in ("vector", "rerank"):
        assert "TooManyRequestsException" in ran[stage][1]


@pytest.mark.parametrize("at_first", [True, False])
def test_failing_models_leave_a_search_its_words(searching: App, inference: InvokeApi, *, at_first: bool) -> None:
    if not at_first:
        search(searching, 20.0)

    def fails(*_: object) -> object:
        raise MemoryError("out of it")

    inference.functions[FUNCTION] = fails
    ran = search(searching, 20.0)
    assert {stage for stage, (it_ran, _) in ran.items() if it_ran} == {"words"}
    assert "out of it" in ran["vector"][1]
    assert "out of it" in ran["rerank"][1]


@pytest.mark.parametrize("at_first", [True, False])
def test_silent_models_leave_a_search_its_words(searching: App, inference: InvokeApi, *, at_first: bool) -> None:
    if not at_first:
        search(searching, 20.0)
    over = threading.Event()

    def waits(*_: object) -> bool:
        return over.wait(60)

    inference.functions[FUNCTION] = waits
    try:
        ran = search(searching, PATIENT)
    finally:
        over.set()
    assert {stage for stage, (it_ran, _) in ran.items() if it_ran} == {"words"}
    waited = re.search(r"took longer than ([\d.]+) s", ran["vector"][1])
    assert waited
    assert float(waited[1]) <= PATIENT * 5 / 8  # of what was left
    assert "did not answer a moment ago" in ran["rerank"][1]
