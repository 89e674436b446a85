"""HTTP APIs with an OpenAPI document as tool servers, through `tools/call`."""

import base64
from collections.abc import Iterator
from typing import Any

import pytest
from mcp_types import CallToolResult

from loci.app import App
from loci.core.errors import Refused
from loci.core.identity import LOCAL
from tests.support.each import each
from tests.support.pet_api import DOCUMENT, KEY, PetApi, pet_api
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
    assert names == ["getPet", "removePet", "get_pets", "addPet", "moved", "addPhoto", "addNote"]
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


async def test_keys_go_only_where_the_operator_named(app: App, connect: Connect) -> None:
    with pet_api() as other, pet_api(servers=[{"url": other.url.removesuffix("/openapi.json")}]) as api:
        for more in ({"headers": {"X-Key": KEY}}, {"query": {"api_key": KEY}}):
            add(app, api, **more)
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
        ({"type": "http", "query": {"key": KEY}}, "are for an API"),
        ({"methods": ["trace"]}, "methods"),
    ],
)
async def test_an_entry_that_does_not_do_is_refused(app: App, api: PetApi, more: dict[str, Any], said: str) -> None:
    with pytest.raises(Refused, match=said):
        add(app, api, **more)


async def test_what_is_no_document_says_so(app: App) -> None:
    with pet_api(paths=None) as api, pytest.raises(Exception, match="no OpenAPI document"):
        add(app, api)


def file(name: str, text: str) -> dict[str, str]:
    return {"name": name, "base64": base64.b64encode(text.encode()).decode()}


@on_both
async def test_a_form_has_its_fields_and_its_files(app: App, connect: Connect, api: PetApi) -> None:
    add(app, api)
    tools = {one.name: one.input_schema for one in app.tools.get(LOCAL, "pets").tools}
    form: Any = tools["addPhoto"]["properties"]
    fields = form["body"]["properties"]
    assert fields["photo"]["required"] == fields["more"]["items"]["required"] == ["name", "base64"]
    body: dict[str, Any] = {"photo": file("rex.png", "PNG"), "more": [file("a.txt", "A"), file("b", "B")]}
    body |= {"thumb": "https://example.com/1", "tags": ["dog", "old"], "place": {"x": 1}, "shared": True}
    sent = structured(await call(connect, "pets:addPhoto", {"body": body}))["parts"]
    assert [(dict(headers)["Content-Disposition"], content) for headers, content in sent] == [
        ('form-data; name="photo"; filename="rex.png"', "PNG"),
        ('form-data; name="more"; filename="a.txt"', "A"),
        ('form-data; name="more"; filename="b"', "B"),
        ('form-data; name="thumb"', "https://example.com/1"),
        ('form-data; name="tags"', "dog"),
        ('form-data; name="tags"', "old"),
        ('form-data; name="place"', '{"x": 1}'),
        ('form-data; name="shared"', "true"),
    ]
    assert dict(sent[0][0])["Content-Type"] == "image/png"
    note = {"text": "a&b=c", "done": False, "labels": ["x", "y"], "more": {"a": 1}, "owner": {"name": {"first": "Al"}}}
    noted = structured(await call(connect, "pets:addNote", {"body": note}))
    assert noted["fields"] == [
        ["text", "a&b=c"],
        ["done", "false"],
        ["labels", "x"],
        ["labels", "y"],
        ["more", '{"a": 1}'],
        ["owner[name][first]", "Al"],
    ]


@each(
    ("body", "sent"),
    [
        ({"photo": file("../../etc/passwd", "x")}, 'name="photo"; filename="passwd"'),
        ({"photo": file("C:\\tmp\\x.png", "x")}, 'name="photo"; filename="x.png"'),
        ({"photo": file('x"; name="api_key"\r\nX-Key: 1\r\n\r\n', "x")}, 'name="photo"; filename="x%22'),
        ({'a"\r\nX-Key: 1\r\n\r\nb': "x"}, 'name="a%22%0D%0AX-Key: 1%0D%0A%0D%0Ab"'),
        ({"tags": ["--x--\r\nContent-Disposition: form-data; name=api_key\r\n\r\n1"]}, 'name="tags"'),
    ],
)
async def test_a_part_of_a_form_stays_one_part(
    app: App, connect: Connect, api: PetApi, body: dict[str, Any], sent: str
) -> None:
    add(app, api)
    [(headers, _)] = structured(await call(connect, "pets:addPhoto", {"body": body}))["parts"]
    assert [name for name, _ in headers if name != "Content-Type"] == ["Content-Disposition"]
    assert headers[0][1].startswith(f"form-data; {sent}")


@each("photo", [{"name": "x", "base64": "no base64!"}, {"name": "x"}, 7])
async def test_what_is_no_file_is_not_sent(app: App, connect: Connect, api: PetApi, photo: object) -> None:
    add(app, api)
    assert (await call(connect, "pets:addPhoto", {"body": {"photo": photo}})).is_error
    assert not api.asked


@on_both
async def test_a_key_goes_into_the_address_and_comes_back_from_nowhere(
    app: App, connect: Connect, api: PetApi, caplog: pytest.LogCaptureFixture
) -> None:
    app.tools.parts.secrets.put(LOCAL, "PETS_KEY", KEY)
    add(app, api, query={"api_key": "${PETS_KEY}", "api_sig": "a b&c=d"})
    listed = await call(connect, "pets:get_pets", {"kind": ["cat"]})
    assert texts(listed) == ['["cat"]']
    assert api.asked[0][1] == f"/v1/pets?kind=cat&api_key={KEY}&api_sig=a+b%26c%3Dd"
    app.tools.parts.secrets.put(LOCAL, "PETS_KEY", "sk-live-4f7c2b9d11aa")
    refused = await call(connect, "pets:getPet", {"petName": "Rex"})
    assert "The API answers 401" in texts(refused)[0]
    assert "api_key=***&api_sig=***" in texts(refused)[0]
    told = f"{listed} {refused} {caplog.text} {app.tools.last_calls(LOCAL)}"
    assert not [one for one in (KEY, "sk-live-4f7c2b9d11aa", "a b&c=d") if one in told]


@each(
    ("tool", "arguments"),
    [
        ("get_pets", {"api_key": "mine"}),
        ("addNote", {"q": {"api_key": "mine"}}),
        ("addNote", {"q": {"API-Key[]": "mine"}}),
        ("addNote", {"q": {" api.key": "mine"}}),
        ("addNote", {"body": {"api_key": "mine"}}),
        ("addNote", {"body": {"owner": {}, "api_key[0]": "mine"}}),
        ("addPhoto", {"body": {"photo": file("x", "x"), "api_key": "mine"}}),
        ("addPhoto", {"body": {"api_key": file("x", "x")}}),
    ],
)
async def test_no_argument_sets_a_key(app: App, connect: Connect, tool: str, arguments: dict[str, Any]) -> None:
    paths = {**DOCUMENT["paths"]}
    with_key = [*paths["/pets"]["get"]["parameters"], {"name": "API_KEY", "in": "query", "required": True}]
    paths["/pets"] = {"get": {**paths["/pets"]["get"], "parameters": with_key}}
    with pet_api(paths=paths) as api:
        add(app, api, query={"api_key": KEY})
        assert not (await call(connect, "pets:get_pets", {})).is_error
        assert (await call(connect, f"pets:{tool}", arguments)).is_error
        assert len(api.asked) == 1


async def test_an_encoded_name_is_no_key(app: App, connect: Connect, api: PetApi) -> None:
    add(app, api, query={"api_key": KEY})
    await call(connect, "pets:addNote", {"q": {"api%5Fkey": "mine", "x&api_key": "1", "y;api_key": "2", "z#": "3"}})
    assert api.asked[0][1] == f"/v1/note?api%255Fkey=mine&x%26api_key=1&y%3Bapi_key=2&z%23=3&api_key={KEY}"


async def test_a_reference_to_elsewhere_is_not_followed_and_costs_no_other_operation(
    app: App, connect: Connect
) -> None:
    with pet_api() as other:
        elsewhere = f"{other.url.removesuffix('openapi.json')}parts.json#/a"
        places = ("file:///etc/passwd", "http://169.254.169.254/latest", elsewhere, "parts.json#/a", "#/nowhere")
        paths: dict[str, Any] = {
            f"/far{at}": {
                "get": {
                    "parameters": [{"$ref": place}, {"name": "q", "in": "query", "schema": {"$ref": place}}],
                    "responses": {"200": {"$ref": place}},
                }
            }
            for at, place in enumerate(places)
        }
        paths |= {f"/item{at}": {"$ref": place} for at, place in enumerate(places)}
        chain = {f"C{at}": {"$ref": f"#/components/schemas/C{at + 1}"} for at in range(1000)}
        parameter = {"name": "q", "in": "query", "schema": {"$ref": "#/components/schemas/C0"}}
        paths["/chain"] = {"get": {"parameters": [parameter], "responses": {}}}
        schemas = {**DOCUMENT["components"]["schemas"], **chain}
        with pet_api(paths={**DOCUMENT["paths"], **paths}, components={"schemas": schemas}) as api:
            names = add(app, api)
            assert {"getPet", "get_chain", *(f"get_far{at}" for at in range(5))} <= set(names)
            assert structured(await call(connect, "pets:getPet", {"petName": "Rex"})) == {"name": "Rex"}
            assert not (await call(connect, "pets:get_far0", {"q": "1"})).is_error
            assert [target for _, target, _, _ in api.asked] == ["/v1/pets/Rex", "/v1/far0?q=1"]
        assert not other.asked
