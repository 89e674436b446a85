"""`/events` of the deployed Loci, through the API: it sends an answer when that has ended, and the next one goes on."""

import json
import subprocess
import threading
import time
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.deployed.deployment import Door
from tests.deployed.flow import Flow, written
from tests.support.polling import until
from tests.support.serving import LOCI, clean_environment

pytestmark = pytest.mark.aws

CALLS = 12
PATIENCE = 60


@dataclass
class Reader:
    """Asks again and again, as a browser does."""

    door: Door
    headers: dict[str, str]
    last_id: str = ""
    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    answers: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    """The seconds that each took, and its text."""

    def ask(self, query: str = "") -> str:
        """One answer, whole."""
        headers = {**self.door.headers, **self.headers, "Accept": "text/event-stream"}
        if self.last_id:
            headers["Last-Event-ID"] = self.last_id
        began = time.monotonic()
        with urllib.request.urlopen(
            urllib.request.Request(f"{self.door.url}/events{query}", headers=headers), timeout=PATIENCE
        ) as answer:
            assert answer.headers.get_content_type() == "text/event-stream"
            text = answer.read().decode()
        self.answers.append((time.monotonic() - began, text))
        assert text.startswith("retry: 1000\n")
        assert text.endswith("\n\n")  # nothing is cut off
        for block in text.split("\n\n"):
            told = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
            self.last_id = told.get("id", self.last_id)
            if "data" in told:
                self.events.append({"id": told["id"], **json.loads(told["data"])})
        return text

    def go_on(self, is_over: threading.Event) -> None:
        while not is_over.is_set():
            self.ask()


@contextmanager
def reading(reader: Reader) -> Generator[None]:
    """Read in a thread until the end of the block."""
    is_over = threading.Event()
    thread = threading.Thread(target=reader.go_on, args=(is_over,))
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join(PATIENCE)


@pytest.fixture
def reader(flow: Flow) -> Reader:
    return Reader(flow.door, flow.user.headers)


def test_an_answer_ends_by_itself_and_says_how_to_go_on(flow: Flow, reader: Reader) -> None:
    reader.ask()  # a cold start may take as long again
    reader.ask()
    seconds, text = reader.answers[-1]
    assert seconds > 4.5
    assert reader.events == []
    assert reader.last_id
    assert len(text.split("\n\n")) <= 3
    flow.answer("scratchpad_list")
    reader.ask()
    [event] = reader.events
    assert (event["kind"], event["tool"]) == ("call", "scratchpad_list")


def test_none_is_lost_or_doubled_while_calls_and_a_workflow_go_on(flow: Flow, reader: Reader, tmp_path: Path) -> None:
    reader.ask()
    began = reader.last_id
    key = flow.user.key
    environment = clean_environment(tmp_path / "data", LOCI_KEY=key)
    command = [*LOCI, "events", "--url", f"{flow.door.url}/mcp", "--json", "--last", "1000"]
    with reading(reader), subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        lines: list[dict[str, Any]] = []
        assert process.stdout is not None
        printed = process.stdout
        collecting = threading.Thread(target=lambda: lines.extend(json.loads(line) for line in printed))
        collecting.start()
        tasks = [written("a"), written("b", "a", approve=True)]
        asked = flow.settled(flow.answer("pml_execute_dag", workflow={"tasks": tasks}))
        for number in range(CALLS):
            flow.answer("scratchpad_list", limit=number + 1)
        approved = {"workflow_id": asked["workflow_id"], "checkpoint_id": asked["checkpoint_id"], "approved": True}
        assert flow.settled(flow.answer("pml_approval_response", **approved))["status"] == "complete"
        try:
            until(lambda: _is_complete(reader.events) and _is_complete(lines), PATIENCE)
        finally:
            process.kill()
            collecting.join(PATIENCE)
    ids = [one["id"] for one in reader.events]
    assert len(set(ids)) == len(ids)
    assert sum(one["kind"] == "call" and one["tool"] == "scratchpad_list" for one in reader.events) == CALLS
    told = [(one["task"], one["from"], one["to"]) for one in reader.events if one["kind"] == "workflow"]
    assert len(set(told)) == len(told)
    assert {("b", "success"), (None, "complete")} <= {(task, to) for task, _, to in told}
    assert [one["state"] for one in reader.events if one["kind"] == "approval"] == ["asked", "answered"]
    assert not [one for one in reader.events if one["kind"] == "missed"]
    assert len(reader.answers) > 3
    again = Reader(reader.door, reader.headers, began)
    while len(again.events) < len(reader.events):  # from the same place, all of them once more
        again.ask()
    assert again.events[: len(ids)] == reader.events
    of_command = [one["id"] for one in lines]
    assert of_command == [one["id"] for one in again.events][: len(of_command)]
    assert set(ids) - set(of_command) <= {one["id"] for one in reader.events[len(of_command) :]}


def _is_complete(events: list[dict[str, Any]]) -> bool:
    """True if the workflow's end and all calls were told."""
    is_over = any(one["kind"] == "workflow" and one["task"] is None and one["to"] == "complete" for one in events)
    return is_over and sum(one["kind"] == "call" and one["tool"] == "scratchpad_list" for one in events) >= CALLS
