"""Files come in as a text, from a path of this machine, or to a URL; each way has its guards."""

from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL, Owner
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from tests.attack.doors import uvicorn_door
from tests.attack.wire import Ask
from tests.support.each import each
from tests.support.serving import call, post
from tests.surface.conftest import Connect
from tests.surface.results import structured, texts

pytestmark = pytest.mark.anyio
ADVICE = "Give exactly one of text, path, upload_bytes and upload_id"


async def added(connect: Connect, **arguments: object) -> dict[str, Any]:
    async with connect("files") as client:
        answer = await client.call_tool("add_memory", arguments)
    assert not answer.is_error, texts(answer)
    return structured(answer)


async def refused(connect: Connect, **arguments: object) -> str:
    async with connect("files") as client:
        answer = await client.call_tool("add_memory", arguments)
    assert answer.is_error
    return texts(answer)[0]


@pytest.fixture
def allowed(tmp_path: Path) -> Path:
    folder = tmp_path / "allowed"
    folder.mkdir()
    (folder / "trip.md").write_text("Ann buys the tickets.\n")
    (tmp_path / "secret.md").write_text("The key is 1234.\n")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    (folder / "folder").symlink_to(tmp_path)
    return folder


@pytest.fixture
def app(tmp_path: Path, allowed: Path) -> App:
    told = {"data": tmp_path / "data", "models": tmp_path / "models", "file_roots": [str(allowed)], "file_mb": 1}
    return build_app(load_settings(told))


@each(
    "arguments",
    [{}, {"name": "a.md"}, {"text": "x"}, {"upload_bytes": 3}, {"name": "a.md", "text": "x", "path": "/x"}],
)
async def test_a_file_comes_in_exactly_one_way(connect: Connect, arguments: dict[str, object]) -> None:
    assert ADVICE in await refused(connect, **arguments)


async def test_a_path_below_an_allowed_folder_is_read(connect: Connect, allowed: Path) -> None:
    [file] = (await added(connect, path=str(allowed / "trip.md")))["result"]
    assert (file["name"], file["status"]) == ("trip.md", "okay")


@each("text", ['{"price": 40}', "[1, 2]", "null", "40", '"quoted"'])
async def test_a_text_that_is_json_is_kept_as_it_came(connect: Connect, app: App, text: str) -> None:
    [file] = (await added(connect, name="facts.md", text=text))["result"]
    assert app.files.read(LOCAL, file["id"]).content == text.encode()


@each("path", ["../secret.md", "link.md", "folder/secret.md", ".", "/etc/passwd", "a\0b"])
async def test_no_other_path_is_read(connect: Connect, allowed: Path, path: str) -> None:
    said = await refused(connect, path=str(allowed / path) if "\0" not in path else path)
    assert "PATH_NOT_ALLOWED" in said or "NO_SUCH_PATH" in said


async def test_a_path_outside_is_refused_the_same_whether_it_is_there_or_not(connect: Connect, allowed: Path) -> None:
    there = await refused(connect, path=str(allowed.parent / "secret.md"))
    missing = await refused(connect, path=str(allowed.parent / "absent.md"))
    assert there.replace("secret", "absent") == missing
    assert "file_roots" in there


def test_only_the_person_at_the_machine_names_paths(app: App, allowed: Path) -> None:
    with pytest.raises(Exception, match="Only the person at the server's machine"):
        app.files.add_local(Owner("acme", "ann"), str(allowed / "trip.md"))


async def test_a_path_that_is_not_there_or_no_file_is_told(connect: Connect, allowed: Path) -> None:
    (allowed / "sub").mkdir()
    assert "NO_SUCH_PATH" in await refused(connect, path=str(allowed / "absent.md"))
    assert "NO_FILE" in await refused(connect, path=str(allowed / "sub"))


async def test_a_file_that_is_too_large_is_refused_with_the_limit(connect: Connect, allowed: Path) -> None:
    (allowed / "large.md").write_bytes(b"x" * (1 << 20) + b"x")
    for arguments in ({"path": str(allowed / "large.md")}, {"name": "large.md", "upload_bytes": (1 << 20) + 1}):
        said = await refused(connect, **arguments)
        assert "FILE_TOO_LARGE" in said
        assert "file_mb" in said


async def test_who_has_no_way_to_this_server_by_http_is_told_how_else_to_send_a_file(connect: Connect) -> None:
    said = await refused(connect, name="trip.pdf", upload_bytes=10)
    assert "NO_UPLOADS" in said
    assert "loci add trip.pdf" in said
    assert "file_roots" in said


async def test_an_upload_in_parts_that_was_not_begun_is_refused(connect: Connect) -> None:
    assert "UPLOAD_UNKNOWN" in await refused(connect, upload_id="x")


def test_a_file_is_sent_to_the_url_that_the_answer_gives(app: App) -> None:
    content = b"Ann buys the tickets.\n"
    with uvicorn_door(asgi(app, on_loopback=True)) as door:
        asked = call("add_memory", {"name": "trip.md", "upload_bytes": len(content)})
        answer = post(f"http://127.0.0.1:{door.port}/mcp", asked).message()["result"]
        upload = answer["structuredContent"]["upload"]
        assert (upload["method"], "parts" in upload) == ("PUT", False)
        token = upload["url"].rpartition("/")[2]

        def put(token: str, body: bytes, method: str = "PUT") -> int:
            return door.ask(Ask(body, (("Host", "127.0.0.1"),), method, f"/files/{token}")).status

        assert put(token[:-2] + "xx", content) == 404
        assert put(token, content + b"more") == 413
        assert put(token, content, "POST") == 405
        assert not app.files.listed(LOCAL)
        assert put(token, content) == 200
        assert put(token, content) == 200  # sent again
    [file] = app.files.listed(LOCAL)
    assert (file.name, file.newest.number, file.newest.status) == ("trip.md", 1, "okay")
    assert file.id == upload["memory_id"]
