"""Skills (SEP-2640): how Loci's tools are used, and code that has proved itself."""

import hashlib
import json
import re
from typing import Any

import pytest
import yaml

from loci.app import App
from loci.core.identity import LOCAL
from loci.gateway.capabilities.capability_store import CODE
from loci.mcp.http.application import asgi
from loci.mcp.tool import OWN_TOOLS
from tests.attack.doors import uvicorn_door
from tests.support.deno import needs_deno
from tests.support.serving import post
from tests.surface.conftest import on_both
from tests.surface.tools.workbench import Workbench

pytestmark = pytest.mark.anyio
REVISION = {"MCP-Protocol-Version": "2025-11-25"}
SHOUT = 'say "hi":\nname: evil --- ``` <script>'


def asked(app: App, method: str, at: str = "", **params: object) -> dict[str, Any]:
    with uvicorn_door(asgi(app, on_loopback=True)) as door:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer: dict[str, Any] = json.loads(post(f"http://127.0.0.1:{door.port}/mcp{at}", message, REVISION).text)
        return answer


def listed(app: App, at: str = "") -> list[dict[str, Any]]:
    return asked(app, "skills/list", at)["result"]["skills"]


def checked(app: App, skill: dict[str, Any]) -> str:
    """The file of the skill, as its entry says that it is."""
    [file] = skill["resources"]
    [content] = asked(app, "resources/read", uri=file["uri"])["result"]["contents"]
    text: str = content["text"]
    assert file["uri"] == skill["uri"] == f"skill://loci/{skill['frontmatter']['name']}/SKILL.md"
    assert (file["size"], file["digest"]) == (
        len(text.encode()),
        f"sha256:{hashlib.sha256(text.encode()).hexdigest()}",
    )
    assert content["mimeType"] == "text/markdown"
    assert yaml.safe_load(text.split("---\n", 2)[1]) == skill["frontmatter"]
    assert asked(app, "skills/get", uri=skill["uri"])["result"]["skill"] == skill
    return text


@on_both
async def test_each_endpoint_lists_skills_for_its_tools(app: App) -> None:
    names = {at: {one["frontmatter"]["name"] for one in listed(app, at)} for at in ("", "/documents", "/files")}
    assert names == {
        "": {"loci-documents", "loci-files", "loci-procedures"},
        "/documents": {"loci-documents"},
        "/files": {"loci-files"},
    }
    pages = [asked(app, "tools/list", f"/{at}")["result"]["tools"] for at in OWN_TOOLS]
    tools = {one["name"] for page in pages for one in page}
    for skill in listed(app):
        named = {*re.findall(r"`([a-z]+(?:_[a-z]+)+)`", checked(app, skill))}
        assert named
        assert named <= tools


async def test_an_unknown_skill_is_an_error_that_says_where_they_are(app: App) -> None:
    for method in ("skills/get", "resources/read"):
        error = asked(app, method, uri="skill://loci/none/SKILL.md")["error"]
        assert error["code"] == -32602
        assert "skills/list" in error["message"]


@needs_deno
@on_both
async def test_code_that_proved_itself_is_a_skill_whatever_its_intent_says(bench: Workbench) -> None:
    code = "// ``` and\n(await shop.addNumbers({a: 1, b: 2})).sum"
    for _ in range(5):
        await bench.run(code, SHOUT)
    [skill] = [one for one in listed(bench.app) if not one["frontmatter"]["name"].startswith("loci-")]
    text = checked(bench.app, skill)
    assert skill["frontmatter"]["name"].startswith("say-hi-name-evil-script-")
    assert "5 of 5 runs" in skill["frontmatter"]["description"]
    [known] = bench.app.tools.capabilities.all(LOCAL)
    bench.app.records.remove(LOCAL, CODE, known.best.identity)
    assert len(listed(bench.app)) == 3  # a lost record hides no other skill
    assert f"````typescript\n{code}\n````" in text
