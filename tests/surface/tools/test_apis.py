"""HTTP APIs with an OpenAPI document as tool servers, through `tools/call`."""

from collections.abc import Iterator
from typing import Any

import pytest
from mcp_types import CallToolResult

from loci.app import App
from loci.core.errors import Refused
from loci.core.identity import LOCAL
from tests.support.each import each
from tests.support.pet_api import KEY, PetApi, pet_api
from tests.surface.conftest import Connect, on_both
from tests.surface.results import structured, texts

pytestmark = pytest.mark.anyio


@pytest.fixture
def api() -> Iterator[PetApi]:
    with pet_api() as api:
        yield api


def add(app: App, api: PetApi, **more: Any) -> list[str]:
    """Add the API as `pets`, and return the names of its tools."""
    app.tools.add(LOCAL, "pets", {"type": "openapi", "url": api.url, **more})
    return [one.name for one in app.tools.ask(LOCAL, "pets").tools]


async def call(connect: Connect, tool: str, arguments: dict[str, Any]) -> CallToolResult:
    async with connect("tools") as client:
        return await client.call_tool(tool, arguments)


@on_both
async def test_each_operation_is_a_tool(app: App, connect: Connect, api: PetApi) -> None:
    names = add(app, api, headers={"X-Key": KEY})
    assert names == ["getPet", "removePet", "get_pets", "addPet", "moved"]
    found = await call(connect, "pets:getPet", {"petName": "Rex & co"})
    assert structured(found) == {"name": "Rex & co"}
    listed = await call(connect, "pets:get_pets", {"kind": ["cat", "big dog"], "X-Trace": "7"})
    assert texts(listed) == ['["cat", "big dog"]']
    added = await call(connect, "pets:addPet", {"body": {"name": "Tom", "age": 3}})
    assert structured(added) == {"name": "Tom", "age": 3}
    assert [(method, target) for method, target, _, _ in api.asked] == [
        ("GET", "/v1/pets/Rex%20%26%20co"),
        ("GET", "/v1/pets?kind=cat&kind=big%20dog"),
        ("POST", "/v1/pets"),
    ]
    assert all(headers["X-Key"] == KEY for _, _, headers, _ in api.asked)
    assert api.asked[1][2]["X-Trace"] == "7"


async def test_its_schemas_are_those_of_the_document(app: App, api: PetApi) -> None:
    add(app, api)
    tools = {one.name: one for one in app.tools.get(LOCAL, "pets").tools}
    pet = tools["addPet"].input_schema["$defs"]["Pet"]  # type: ignore[index]
    assert pet["properties"] == {  # type: ignore[index]
        "name": {"type": ["string", "null"]},
        "age": {"type": "integer", "exclusiveMinimum": 0},
        "parent": {"$ref": "#/$defs/Pet"},
    }
    assert tools["getPet"].output_schema is not None
    assert "Authorization" not in tools["get_pets"].input_schema["properties"]  # type: ignore[operator]
    assert tools["getPet"].hints["readOnlyHint"] is True
    assert tools["removePet"].hints["destructiveHint"] is True


@each("name", ["../../admin", "..", "a/../../b", "a?x=1", "a#b", "%2e%2e", "//evil.example"])
async def test_a_value_stays_in_its_place(app: App, connect: Connect, api: PetApi, name: str) -> None:
    add(app, api)
    answer = await call(connect, "pets:getPet", {"petName": name})
    if answer.is_error:
        assert "A value makes another path" in texts(answer)[0]
    assert all(target.startswith("/v1/pets/") and target.count("/") == 3 for _, target, _, _ in api.asked)


async def test_a_value_that_breaks_a_header_is_refused(app: App, connect: Connect, api: PetApi) -> None:
    add(app, api)
    answer = await call(connect, "pets:get_pets", {"X-Trace": "7\r\nX-Key: other"})
    assert answer.is_error
    assert not api.asked


async def test_only_the_methods_that_were_named_are_tools(app: App, api: PetApi) -> None:
    assert add(app, api, methods=["get"]) == ["getPet", "get_pets", "moved"]


async def test_a_redirect_is_told_and_not_followed(app: App, connect: Connect, api: PetApi) -> None:
    add(app, api)
    answer = await call(connect, "pets:moved", {})
    assert "302" in texts(answer)[0]
    assert "a redirect to http://169.254.169.254/latest" in texts(answer)[0]


async def test_a_refusal_of_the_api_is_an_error_without_the_secret(app: App, connect: Connect, api: PetApi) -> None:
    add(app, api, headers={"X-Key": "sk-live-4f7c2b9d11aa"})
    answer = await call(connect, "pets:getPet", {"petName": "Rex"})
    assert answer.is_error
    assert "The API answers 401" in texts(answer)[0]
    assert "sk-live-4f7c2b9d11aa" not in str(answer)


async def test_headers_go_only_where_the_operator_named(app: App, connect: Connect) -> None:
    with pet_api() as other, pet_api(servers=[{"url": other.url.removesuffix("/openapi.json")}]) as api:
        add(app, api, headers={"X-Key": KEY})
        refused = await call(connect, "pets:getPet", {"petName": "Rex"})
        assert "--base-url" in texts(refused)[0]
        add(app, api)
        private = await call(connect, "pets:getPet", {"petName": "Rex"})
        assert "only https is allowed here" in texts(private)[0]
        assert not other.asked
        add(app, api, headers={"X-Key": KEY}, base_url=other.url.removesuffix("/openapi.json"))
        assert structured(await call(connect, "pets:getPet", {"petName": "Rex"})) == {"name": "Rex"}
        assert other.asked[0][2]["X-Key"] == KEY


@each(
    ("more", "said"),
    [
        ({"base_url": "ftp://x"}, "base_url"),
        ({"type": "http", "methods": ["get"]}, "are for an API"),
        ({"methods": ["trace"]}, "methods"),
    ],
)
async def test_an_entry_that_does_not_do_is_refused(app: App, api: PetApi, more: dict[str, Any], said: str) -> None:
    with pytest.raises(Refused, match=said):
        add(app, api, **more)


async def test_what_is_no_document_says_so(app: App) -> None:
    with pet_api(paths=None) as api, pytest.raises(Exception, match="no OpenAPI document"):
        add(app, api)
