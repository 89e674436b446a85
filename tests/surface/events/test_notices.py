"""A person is told that a question waits for them: where the operator says, with names, and without contents."""

import base64
import hashlib
import hmac
import json
import socket
import time
from collections.abc import Generator, Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Any, cast

import boto3
import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.diagnosis import Finding
from loci.core.errors import Misconfigured
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.events import api as api_module
from loci.events import notices as notices_module
from loci.gateway import waiting_calls as waiting_module
from tests.support.connecting import connecting
from tests.support.each import each
from tests.support.moto_aws import REGION
from tests.support.notice_receiver import Received, Receiver, receiver
from tests.support.polling import until
from tests.support.workflow_machine import Machine, workflow_machine
from tests.surface.conftest import on_both
from tests.surface.workflows.conftest import Flow, flow, journal_server, task

__all__ = ["flow"]

pytestmark = pytest.mark.anyio
KEY = bytes(range(32))
SECRET = f"whsec_{base64.b64encode(KEY).decode()}"
PUBLIC = "https://loci.example.com"
PLANTED = "hunter2-hunter2"
TOPIC = f"arn:aws:sns:{REGION}:123456789012:loci-asks"


@pytest.fixture
def place() -> Generator[Receiver]:
    with receiver() as made:
        yield made


@pytest.fixture
def address() -> str:
    """As a test wants it."""
    return "{url}/hook"


@pytest.fixture(autouse=True)
def notify(place: Receiver, address: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What `notify` is, of the app and, on AWS, of its functions."""
    monkeypatch.setattr(notices_module, "PAUSES", (0.0,) * 4)
    settings = {"notify": address.format(url=place.url), "notify_secret": SECRET, "public_url": PUBLIC}
    for name, value in settings.items():
        monkeypatch.setenv(f"LOCI_{name.upper()}", value)
    return settings["notify"]


@pytest.fixture
def machine(notify: str) -> Iterator[Machine]:
    """The function that moves workflows on. It is made before the address of the pages is known."""
    settings = {"notify": notify, "notify_secret": SECRET}
    with connecting(only_public=False) as function, workflow_machine(function.api, settings) as machine:
        yield machine


async def asked(flow: Flow) -> dict[str, Any]:
    """A run that waits for a person. Before it, the gateway has answered something."""
    flow.app.events.finish()
    return await flow.run(task("t1", "deploy", value=PLANTED) | {"approve": "human"})


def told(app: App, **fields: str) -> None:
    """As if a run had asked."""
    question = {"state": "asked", "workflow": "wf_1", "checkpoint": "cp_1", "tool": "journal:deploy"}
    app.events.tell(LOCAL, "approval", {**question, "only_person": True, **fields})


def client(service: str) -> Any:
    return cast("Any", boto3.Session()).client(service)


def signed(received: Received) -> str:
    """The signature that the body ought to have, by the reference of Standard Webhooks."""
    content = f"{received.headers['webhook-id']}.{received.headers['webhook-timestamp']}.{received.body.decode()}"
    return "v1," + base64.b64encode(hmac.new(KEY, content.encode(), hashlib.sha256).digest()).decode()


@on_both
async def test_a_question_reaches_the_webhook_signed_after_it_failed(flow: Flow, place: Receiver) -> None:
    # On AWS nothing goes on behind an answer: there are two tries at most.
    failures = 2 if flow.app.settings.mode == "embedded" else 1
    place.answers = [(500, {}), (429, {"Retry-After": "0"})][-failures:]
    run = await asked(flow)
    came = place.wait(failures + 1)
    assert len({one.headers["webhook-id"] for one in came}) == 1
    assert [one.headers["webhook-signature"] for one in came] == [signed(one) for one in came]
    assert {int(one.headers["webhook-timestamp"]) // 3600 for one in came} <= {
        time.time() // 3600 - 1,
        time.time() // 3600,
    }
    data = came[-1].json["data"]
    assert (came[-1].json["type"], data["tool"], data["workflow"]) == (
        "approval.asked",
        "journal:deploy",
        run["workflow_id"],
    )
    assert data["page"] == f"{PUBLIC}/ui/runs"
    assert data["asked_by"].startswith("a client on this machine")
    assert PLANTED not in str(came)


async def test_what_the_agent_may_answer_is_no_notice(flow: Flow, place: Receiver) -> None:
    await flow.run(task("t1", "deploy", value="a"), task("t2", "deploy", "t1", value="b"), per_layer_validation=True)
    await asked(flow)
    [one] = place.wait()
    assert one.json["data"]["checkpoint"]
    flow.app.finish()
    assert len(place.came) == 1


async def test_a_call_that_waits_for_a_person_is_told(
    flow: Flow, place: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting_module, "PATIENCE", 0.0)
    flow.app.tools.add(LOCAL, "journal", journal_server(flow.journal) | {"approve": ["deploy"]})
    assert "APPROVAL_PENDING" in await flow.failed("journal:deploy", value=PLANTED)
    [one] = place.wait()
    assert one.json["data"]["tool"] == "journal:deploy"
    assert one.json["data"]["workflow"].startswith("ap_")
    assert one.json["data"]["asked_by"].startswith("a client on this machine")
    assert PLANTED not in str(one)


INJECTED = "](https://evil.example) <https://evil.example|x> <!channel> @here **b** token=hunter2-hunter2"


@pytest.mark.parametrize("address", ["slack:{url}"])
def test_names_put_no_links_and_mentions_into_slack(app: App, place: Receiver) -> None:
    told(app, title=INJECTED, asked_by=INJECTED, tool="evil.example:<!channel>")
    [one] = place.wait()
    [block] = one.json["blocks"]
    parts = block["elements"][0]["elements"]
    assert block["type"] == "rich_text"
    assert {part["type"] for part in parts} == {"text", "link"}
    assert [part["url"] for part in parts if part["type"] == "link"] == [f"{PUBLIC}/ui/runs"]
    assert one.json["text"] == "Loci waits for your answer: evil_example:__channel_"
    assert "hunter2" not in str(one)


@pytest.mark.parametrize("address", ["teams:{url}"])
def test_names_put_no_links_and_mentions_into_teams(app: App, place: Receiver) -> None:
    told(app, title=INJECTED, asked_by=INJECTED)
    [one] = place.wait()
    [attachment] = one.json["attachments"]
    card = attachment["content"]
    assert (one.json["type"], attachment["contentType"]) == ("message", "application/vnd.microsoft.card.adaptive")
    assert (card["type"], card["version"], card.keys() & {"msteams"}) == ("AdaptiveCard", "1.4", set())
    inlines = [inline for block in card["body"] for inline in block["inlines"]]
    assert {block["type"] for block in card["body"]} == {"RichTextBlock"}
    assert {inline["type"] for inline in inlines} == {"TextRun"}
    assert [action["url"] for action in card["actions"]] == [f"{PUBLIC}/ui/runs"]
    assert "hunter2" not in str(one)


def test_a_title_is_cut_off_and_loses_what_looks_like_a_secret(app: App, place: Receiver) -> None:
    told(app, title=f"password=hunter2 \u202e{'x' * 500}")
    [one] = place.wait()
    title = one.json["data"]["title"]
    assert (title[:6], len(title), "hunter2" in str(one)) == ("*** ?x", 100, False)


def found(app: App) -> list[Finding]:
    return [one for one in app.examined(LOCAL, whole=True) if one.name == "notify"]


def test_what_no_try_delivers_is_logged_and_told_by_the_doctor(
    app: App, place: Receiver, capfd: pytest.CaptureFixture[str]
) -> None:
    place.answers = [(503, {})] * 5
    told(app)
    place.wait(5)
    [bad] = until(lambda: [one for one in found(app) if one.state == "warning"])
    host = place.url.removeprefix("http://")
    assert bad.what == f"The last notice did not reach {host}: it answered 503"
    [line] = until(lambda: [line for line in capfd.readouterr().err.splitlines() if '"not told"' in line])
    assert (json.loads(line)["where"], json.loads(line)["tries"]) == (host, 5)
    told(app)
    place.wait(6)
    until(lambda: [one for one in found(app) if one.state == "ok"])


@each("status", [302, 404, 410])
def test_a_redirect_and_a_refusal_are_not_tried_again(app: App, place: Receiver, status: int) -> None:
    place.answers, place.came = [(status, {"Location": f"{place.url}/elsewhere"})], []
    told(app)
    until(lambda: [one for one in found(app) if one.what.endswith(f"it answered {status}")])
    assert [one.path for one in place.came] == ["/hook"]


def test_who_asks_for_a_pause_gets_it_and_a_server_that_stops_tries_once_more(app: App, place: Receiver) -> None:
    in_an_hour = formatdate(time.time() + 3600, usegmt=True)
    place.answers = [(503, {"Retry-After": in_an_hour})] * 5
    told(app)
    place.wait()
    app.close()
    assert len(place.came) == 2


def test_a_server_that_stops_drops_what_is_slow_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(api_module, "NOTICE_PATIENCE", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        app = build_app(load_settings({"data": tmp_path / "slow", "models": tmp_path, "notify": url}))
        told(app)
        taken, _ = silent.accept()
        app.close()
        assert notices_module.NO_TIME in capfd.readouterr().err
        taken.close()


@pytest.mark.parametrize("app", ["aws"], indirect=True)
@pytest.mark.parametrize("address", [f"sns:{TOPIC}"])
async def test_on_aws_a_question_is_published_to_the_topic(flow: Flow) -> None:
    sns, sqs = client("sns"), client("sqs")
    sns.create_topic(Name="loci-asks")
    queue = sqs.create_queue(QueueName="loci-asked")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    sns.subscribe(TopicArn=TOPIC, Protocol="sqs", Endpoint=arn)
    run = await asked(flow)
    [message] = until(lambda: sqs.receive_message(QueueUrl=queue).get("Messages"))
    body = json.loads(message["Body"])
    assert body["Subject"] == "Loci waits for your answer"
    assert "may it call journal:deploy?" in body["Message"]
    assert run["workflow_id"] in body["Message"]
    assert f"Answer at {PUBLIC}/ui/runs" in body["Message"]
    assert PLANTED not in str(message)


@pytest.mark.parametrize("app", ["aws"], indirect=True)
def test_on_aws_addresses_and_what_signs_may_be_in_secrets(app: App, place: Receiver) -> None:
    stored = {"hooks": f"slack:{place.url}/slack, {place.url}/hook", "signing": f"{SECRET}\n"}
    for name, text in stored.items():
        client("secretsmanager").create_secret(Name=name, SecretString=text)
    aws = app.settings.aws.model_copy(update={"notify_from": "hooks", "notify_secret_from": "signing"})
    again = build_app(app.settings.model_copy(update={"notify": (), "notify_secret": None, "aws": aws}))
    told(again)
    came = {one.path: one for one in place.wait(2)}
    again.finish()
    assert came.keys() == {"/slack", "/hook"}
    assert came["/hook"].headers["webhook-signature"] == signed(came["/hook"])


@each(
    ("setting", "value"),
    [
        ("notify", f"sns:{TOPIC}"),  # this is no deployment on AWS
        ("notify", "ftp://hooks.example/hunter2"),
        ("notify", "https://ok.example, hooks.example/hunter2"),
        ("notify_secret", "whsec_hunter2"),
        ("notify_secret", base64.b64encode(KEY).decode()),
    ],
)
def test_a_setting_that_cannot_work_is_refused_at_the_start_without_what_is_secret(setting: str, value: str) -> None:
    with pytest.raises(Misconfigured) as refused:
        load_settings({setting: value})
    assert setting in str(refused.value)
    assert "hunter2" not in str(refused.value)
    assert base64.b64encode(KEY).decode() not in str(refused.value)
