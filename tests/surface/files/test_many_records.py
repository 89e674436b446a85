"""The records of several files come together: on AWS in one request, not in one for each file."""

from collections import Counter
from typing import Any, NoReturn, cast

import pytest
from botocore.exceptions import ClientError

from loci.adapters.aws.clients import Clients
from loci.adapters.aws.records import DynamoRecords
from loci.app import App
from tests.surface.conftest import Connect
from tests.surface.files.conftest import on_vectors_too
from tests.surface.files.searches import add, names, search
from tests.surface.results import structured, texts

pytestmark = pytest.mark.anyio
on_aws = pytest.mark.parametrize("app", ["vectors"], indirect=True)
FILES = 12


def clients_of(app: App) -> Clients:
    return vars(cast("DynamoRecords", app.records))["_clients"]


@pytest.fixture
def ids(app: App) -> list[str]:
    return [add(app, f"trip-{number}.txt", f"The train to town {number} costs 40 euros.") for number in range(FILES)]


@on_vectors_too
async def test_facts_and_states_come_in_the_order_of_the_ids(connect: Connect, ids: list[str]) -> None:
    wanted = [*reversed(ids), ids[0]]
    async with connect("files") as client:
        fetched = structured(await client.call_tool("fetch_memory", {"memory_ids": [*wanted, "ds-0123456789"]}))
        states = structured(await client.call_tool("ingestion_status", {"memory_ids": wanted}))["result"]
        unknown = await client.call_tool("ingestion_status", {"memory_ids": ["ds-0123456789", ids[0], "nonsense"]})
    assert [*fetched.get("result", fetched)] == [*reversed(ids), "ds-0123456789"]
    assert [one["id"] for one in states] == [*reversed(ids)]
    assert "There are no files 'ds-0123456789', 'nonsense'" in texts(unknown)[0]


@on_aws
async def test_a_search_asks_dynamodb_once_for_its_files(app: App, connect: Connect, ids: list[str]) -> None:
    asked = Counter[str]()

    def note(model: Any, **_: object) -> None:
        asked[model.name] += 1

    clients_of(app).dynamodb.meta.events.register("before-call.dynamodb", note)
    found = await search(connect, "what does the train cost", limit=FILES, memory_ids=ids)
    assert {one["id"] for one in found["results"]} == {*ids}
    # The files twice, and twice what S3 Vectors keeps of each.
    assert asked["BatchGetItem"] == 4
    # If a file has changed since, if the index is complete, and if somebody follows the events, every ten seconds.
    assert asked["GetItem"] <= 3
    some = await search(connect, "train", memory_ids=[*ids[:3], "ds-0123456789", "nonsense"])
    assert sorted(names(some)) == ["trip-0.txt", "trip-1.txt", "trip-2.txt"]
    assert some["scope"]["unknown_ids"] == ["ds-0123456789", "nonsense"]


@on_aws
@pytest.mark.usefixtures("ids")
async def test_files_that_dynamodb_cannot_name_just_now_are_an_error(app: App, connect: Connect) -> None:
    def throttle(**_: object) -> NoReturn:
        raise ClientError({"Error": {"Code": "ThrottlingException", "Message": "Too much"}}, "BatchGetItem")

    clients_of(app).dynamodb.meta.events.register("before-call.dynamodb.BatchGetItem", throttle)
    async with connect("files") as client:
        answer = await client.call_tool("search_memory", {"parsed_query": "train"})
    assert answer.is_error
    assert "ThrottlingException" in texts(answer)[0]
