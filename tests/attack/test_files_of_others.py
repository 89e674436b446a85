"""Files of another owner: whoever knows their ids, passages and executors sees, changes and removes nothing of them."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from loci.app import App
from tests.attack.conftest import ANN, BOB
from tests.attack.doors import Door
from tests.attack.wire import Answer, Ask, call, legacy
from tests.support.each import each

OLD, NEW = b"# Trip\n\nThe train costs 40 euros.\n", b"# Trip\n\nThe plane costs 90 euros.\n"
SECRETS = ("train", "plane", "euros")


@pytest.fixture
def file(app: App) -> str:
    """The id of a file of Ann's with two versions."""
    app.files.add(ANN, "trip.md", OLD)
    return app.files.add(ANN, "trip.md", NEW).id


@pytest.fixture
def executor(app: App) -> str:
    """The id of an executor of Ann's, as the record of it says."""
    id = f"executor-{'a' * 32}"
    app.records.put(ANN, "executor", id, {"created_at": 0, "used_at": 0})
    return id


def asked(door: Door, key: str, tool: str, **arguments: object) -> Answer:
    return door.ask(legacy(call(tool, arguments), key))


def attempts(file: str, executor: str) -> list[tuple[str, Mapping[str, object], str]]:
    """The calls that somebody tries, each with the code of its answer."""
    no_file, no_executor = "MEMORY_NOT_FOUND", "EXECUTOR_NOT_FOUND"
    return [
        ("fetch_memory", {"memory_ids": [file]}, no_file),
        ("ingestion_status", {"memory_ids": [file]}, no_file),
        ("delete_memory", {"memory_ids": [file]}, no_file),
        ("diff_versions", {"memory_id": file, "older": 1, "newer": 2}, no_file),
        ("query_table", {"memory_id": file, "sql": "SELECT 1"}, no_file),
        ("verify_citation", {"chunk_id": f"{file}#0", "text": "costs"}, no_file),
        ("verify_citation", {"chunk_id": f"{file}@1#0", "text": "costs"}, no_file),
        ("run_memory_code", {"executor_id": executor, "code": "1"}, no_executor),
        ("save_artifact", {"executor_id": executor, "file": "trip.md"}, no_executor),
    ]


def test_another_owners_file_is_one_that_does_not_exist(door: Door, bob: str, file: str, executor: str) -> None:
    for tool, arguments, code in attempts(file, executor):
        answer = asked(door, bob, tool, **arguments)
        assert answer.tool_code == code, tool
        assert not [one for one in SECRETS if one in str(answer.message)], tool


@each("scope", [{}, {"as_of": "2999-01-01"}, {"types": ["md"]}])
def test_no_search_shows_another_owners_file(door: Door, bob: str, file: str, scope: Mapping[str, Any]) -> None:
    for ids in ([], [file]):
        answer = asked(door, bob, "search_memory", parsed_query="train plane euros", memory_ids=ids, **scope)
        found = answer.message["result"]["structuredContent"]["result"]
        assert (found["results"], found["status"]) == ([], "empty")
    seen = asked(door, bob, "get_memorylake_metadata").message["result"]["structuredContent"]["result"]
    assert (seen["total_files"], seen["sample_memories"]) == (0, [])


def test_the_same_name_is_another_file_of_each_owner(door: Door, app: App, bob: str, file: str) -> None:
    added = asked(door, bob, "add_memory", name="trip.md", text="Bob stays at home.")
    [own] = added.message["result"]["structuredContent"]["result"]
    assert (own["id"], own["version"]) == (file, 1)  # the id is of the name; it says nothing of others
    removed = asked(door, bob, "delete_memory", memory_ids=[file])
    assert not removed.message["result"]["isError"]
    assert app.files.listed(BOB) == []
    assert app.files.read(ANN, file).content == NEW
    assert len(app.files.versions(ANN, file)) > 1


def test_a_link_for_an_upload_brings_the_file_to_whoever_asked_for_it(door: Door, app: App, ann: str, bob: str) -> None:
    told = asked(door, ann, "add_memory", name="sent.md", upload_bytes=100)
    upload = told.message["result"]["structuredContent"]["upload"]
    target = f"/files/{upload['url'].rpartition('/')[2]}"
    sent = Ask(b"Ann's.", (("Host", "loci.test"), ("Authorization", f"Bearer {bob}")), "PUT", target)
    assert json.loads(door.ask(sent).body)["name"] == "sent.md"
    assert app.files.listed(BOB) == []
    assert app.files.read(ANN, app.files.listed(ANN)[0].id).content == b"Ann's."
    other = Ask(b"", (("Host", "loci.test"),), "GET", target.replace("/files/", "/blobs/"))
    assert door.ask(other).status == 404


def test_nobody_with_a_key_names_paths_of_the_machine(door: Door, ann: str) -> None:
    for path in ("/etc/passwd", "/proc/self/environ", "/dev/zero", "."):
        assert asked(door, ann, "add_memory", path=path).tool_code == "PATH_NOT_ALLOWED"
