"""The ingestion function: messages of a queue in, those that failed out."""

import importlib.util
import json
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from tests.support.event_front import ROOT
from tests.support.moto_aws import BUCKET, TABLE, moto_aws

HANDLER = ROOT / "functions" / "ingest" / "handler.py"
Handler = Callable[[dict[str, Any], object], dict[str, Any]]


@pytest.fixture
def handler(tmp_path: Path) -> Generator[Handler]:
    """As Lambda starts it, in a deployment without an index."""
    with pytest.MonkeyPatch.context() as environment, moto_aws():
        settings = {"MODE": "aws", "AUTH": "required", "TABLE": TABLE, "BUCKET": BUCKET, "MODELS": str(tmp_path)}
        for name, value in settings.items():
            environment.setenv(f"LOCI_{name}", value)
        spec = importlib.util.spec_from_file_location("ingest_handler", HANDLER)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module.lambda_handler


def message(id: str, body: object) -> dict[str, Any]:
    return {"messageId": id, "body": json.dumps(body), "eventSource": "aws:sqs"}


def notice(key: str) -> dict[str, Any]:
    return {"Records": [{"s3": {"bucket": {"name": BUCKET}, "object": {"key": key}}}]}


def test_the_handler_is_a_door_of_a_few_lines() -> None:
    assert len(HANDLER.read_text("utf-8").splitlines()) <= 40


def test_only_the_messages_that_failed_come_again(handler: Handler) -> None:
    picture, gone = notice("uploads/-/local/picture.png"), notice("uploads/-/local/gone.md")
    records = [
        message("test", {"Event": "s3:TestEvent"}),
        message("picture", picture),
        message("no notice", "?"),
        message("gone", gone),
    ]
    assert handler({"Records": records}, None) == {"batchItemFailures": [{"itemIdentifier": "no notice"}]}


def test_where_all_failed_the_function_has_not_failed_and_the_log_says_why(
    handler: Handler, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = handler({"Records": [message("1", "?")]}, None)
    [line] = [json.loads(line) for line in capsys.readouterr().err.splitlines() if "upload failed" in line]
    assert answer == {"batchItemFailures": [{"itemIdentifier": "1"}]}
    assert (line["message_id"], line["code"]) == ("1", "BAD_NOTICE")


def test_a_key_is_in_no_log_unless_somebody_wants_to_see_them(
    handler: Handler, capsys: pytest.CaptureFixture[str]
) -> None:
    handler({"Records": [message("1", notice("uploads/-/local/gone.md"))]}, None)
    assert "gone.md" not in capsys.readouterr().err
