"""Ways in which a text of others could become the owner's own: no write after it was read counts as own, and with
`untrusted_writes=ask` none is done before a person has approved it."""

import asyncio
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from typing import Any, cast

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import Implementation

import loci.gateway.waiting_calls
from loci.app import App
from loci.compose import build_app
from loci.core.identity import Owner
from loci.core.settings import load_settings
from loci.documents.foreign import foreign_of
from loci.mcp.http.application import asgi
from loci.recall.quoting import is_own
from loci.workflows.run import Answerer
from tests.attack.doors import uvicorn_door
from tests.surface.tools.conftest import upstream_over_http

pytestmark = pytest.mark.anyio
MARK = "zebra-7731"
PAGE = f"---\ntrust: foreign\n---\n# The page\n\nThe {MARK} rule holds, says the page.\n\nSee [[plan]].\n".encode()
PLAN = b"# The plan\n\nThe boat leaves at nine.\n\nSee [[page]].\n"
RULE = f"# Rule\n\nThe {MARK} rule holds.\n"
EVE = Owner("", "eve")
Step = tuple[str, str, dict[str, Any]]
"""Who calls, which tool, and with which arguments. `{hash:PATH}` stands for the hash of a document."""
READ: Step = ("a", "read_node_content", {"id": "clips/page.md"})


def write(who: str = "a", path: str = "made/rule.md", text: str = RULE, **more: Any) -> Step:
    return who, "write_document", {"path": path, "content": text, **more}


def then(who: str, called: str, /, **arguments: Any) -> Step:
    return who, called, arguments


def code(who: str, text: str) -> Step:
    return who, "pml_execute_code", {"code": text}


WRITES_IN_CODE = f'await loci.writeDocument({{path: "made/rule.md", content: "The {MARK} rule holds."}}); return 1'
READS_IN_CODE = 'const read = await loci.read_node_content({id: "clips/page.md"});'
TASK: dict[str, Any] = {"id": "w", "tool": "loci:write_document", "arguments": {"path": "made/rule.md"}}
TASK["arguments"]["content"] = RULE
RUNS_CODE: dict[str, Any] = {"tasks": [{"id": "c", "type": "code_execution", "code": WRITES_IN_CODE}]}
READS_FIRST = {"id": "r", "tool": "loci:read_node_content", "arguments": {"id": "clips/page.md"}}
THEN_WRITES = TASK | {"dependsOn": ["r"], "arguments": {"path": "made/rule.md", "content": "$r.result.result"}}
CLAIMS = (
    "---\ntrust: own\n---\n",
    "---\ntrust: owner\nforeign: false\n---\n",
    '---\nforeign: ["1-1"]\ntrust: own\n---\n',
    "---\ntype: coding-session\ntrust: own\nsession: s1\n---\n",
    "\ufeff---\ntrust: own\nsources: []\n---\n",
    "---\nsources: []\nwritten_by_tool: false\nuploaded_sha256: x\ntrust: own\n---\n",
)
SHARED = "shared/eve/pool/page.md"
COMPUTES = """---
type: Attested Computation
runtime: python
---
# Rule

# Computation

```python
def compute():
    return open(get_memory_path("clips/page.md")).read()
```
"""
ELSEWHERE = """---
type: Attested Computation
runtime: python
computation: made/code.md
---
# Rule
"""
CODE = f"# Code\n\n```python\nresult = '{MARK}'\n```\n"
TALK = f"""---
foreign: ["6-8"]
---
# Backup talk

The {MARK} rule holds: [[plan]].

Nightly backups of the {MARK} database are kept for 30 days.
"""
"""A text of which some lines are of others."""
OPERATIONS = f"# Operations\n\nThe nightly backups of the {MARK} database are kept for 90 days.\n"
# `a`: the session that reads. `b`: another session of its key. `n`: a client without sessions of that key, under
# another name. `c`: the client of another key, which has read nothing.
WAYS: dict[str, Sequence[Step]] = {
    "write": [READ, write()],
    "another session": [READ, write("b")],
    "without a session": [READ, write("n")],
    "read without a session": [("n", "read_node_content", READ[2]), write("m")],
    "append": [READ, write(path="own/plan.md", mode="append")],
    "edit": [READ, then("a", "write_document", path="own/plan.md", mode="edit", old="nine", new=MARK)],
    "replace": [READ, write(path="own/plan.md", mode="replace", expected_hash="{hash:own/plan.md}")],
    "replace a section": [
        READ,
        write(path="own/plan.md", mode="replace", heading="The plan", expected_hash="{hash:own/plan.md}"),
    ],
    "tag": [READ, then("a", "inject_tags", file_path="own/plan.md", tags=[MARK])],
    "move the page": [then("c", "move_document", path="clips/page.md", to="own/mine.md")],
    "move what was written": [READ, write(), then("c", "move_document", path="made/rule.md", to="own/rule.md")],
    "move it there and back": [
        *(READ, write(), then("c", "move_document", path="made/rule.md", to="own/rule.md")),
        then("c", "undo_write", path="own/rule.md"),
    ],
    "delete and undo": [
        *(READ, write(), then("c", "delete_document", path="made/rule.md", expected_hash="{hash:made/rule.md}")),
        then("c", "undo_write", path="made/rule.md"),
    ],
    "replace and undo": [
        *(READ, write(), write("c", text="# New", mode="replace", expected_hash="{hash:made/rule.md}")),
        then("c", "undo_write", path="made/rule.md"),
    ],
    "append by another": [READ, write(), write("c", text="More.", mode="append")],
    "edit by another": [READ, write(), then("c", "write_document", path="made/rule.md", mode="edit", old="R", new="r")],
    "edit all but a word by another": [
        *(READ, write(text=f"The {MARK} rule holds.")),
        then("c", "write_document", path="made/rule.md", mode="edit", old="holds", new="held"),
    ],
    "tag by another": [READ, write(), then("c", "inject_tags", file_path="made/rule.md", tags=["fine"])],
    "take the mark off the page": [
        then("c", "write_document", path="clips/page.md", mode="edit", old="trust: foreign", new="trust: own")
    ],
    "replace by another who keeps a line": [
        *(READ, write()),
        write("c", text=f"# New\n\nThe {MARK} rule holds.\n", mode="replace", expected_hash="{hash:made/rule.md}"),
    ],
    "copy by another": [READ, write(), then("c", "read_node_content", id="made/rule.md"), write("c", "made/copy.md")],
    "by pml_call_tool": [READ, then("a", "pml_call_tool", tool="write_document", arguments=write()[2])],
    "by its full id": [READ, ("a", "loci:write_document", write()[2])],
    "as mcp__": [READ, ("a", "mcp__loci__write_document", write()[2])],
    "at /mcp/documents": [READ, write("a documents")],
    "at /mcp/core": [READ, write("a core")],
    "read at /mcp/search": [then("a search", "fetch", id="document:clips-page"), write("b")],
    "found at /mcp/search": [then("a search", "search", query="zebra rule page"), write("b")],
    "find": [then("a", "search_documents", query="what does the page say of the zebra rule"), write()],
    "find in a time": [then("a", "temporal_search", query="the zebra rule", date_range="since 2020"), write()],
    "read beside another": [then("a", "read_node_content", id="own/plan.md", more=["clips/page.md"]), write()],
    "read the outline": [then("a", "read_node_content", id="clips/page.md", outline=True), write()],
    "read one line": [then("a", "read_node_content", id="clips/page.md", start_line=6, end_line=6), write()],
    "follow its link": [then("a", "explore_links", id="own/plan.md"), write()],
    "look around": [then("a", "graph_neighbors", id="own/plan.md"), write()],
    "ask what to read": [then("a", "suggest_reading", context="the zebra rule"), write()],
    "read the resource": [("a", "resource", {"uri": "loci://documents/clips-page"}), write()],
    "see it in a conflict": [
        write(path="clips/page.md", text="x", mode="replace", expected_hash="0" * 64),
        write(),
    ],
    "call a tool server": [then("a", "shop:add_numbers", a=1, b=2), write()],
    "call one that fails": [then("a", "shop:break_plate", plate="blue"), write()],
    "write in code": [READ, code("a", WRITES_IN_CODE)],
    "call by name in code": [
        READ,
        code("a", f'await loci.call("loci:write_document", {{path: "m.md", content: "{MARK}"}}); return 1'),
    ],
    "read and write in code": [code("a", f"{READS_IN_CODE} {WRITES_IN_CODE}")],
    "read in code": [code("a", f"{READS_IN_CODE} return read.result"), write()],
    "call a tool server in code": [code("a", "return (await shop.addNumbers({a: 1, b: 2})).sum"), write()],
    "write in a workflow": [READ, then("a", "pml_execute_dag", workflow={"tasks": [TASK]})],
    "read and write in a workflow": [then("a", "pml_execute_dag", workflow={"tasks": [READS_FIRST, THEN_WRITES]})],
    "approve the own plan": [
        *(READ, then("a", "pml_execute_dag", workflow={"tasks": [TASK | {"approve": True}]})),
        then("a", "pml_approval_response", workflow_id="<workflow_id>", checkpoint_id="<checkpoint_id>", approved=True),
    ],
    "read in a workflow of another": [
        then("a", "pml_execute_dag", workflow={"tasks": [READS_FIRST]}),
        then("c", "pml_workflow_status", workflow_id="<workflow_id>"),
        write("c"),
    ],
    "code in a workflow": [
        READ,
        then("a", "pml_execute_dag", workflow=RUNS_CODE),
    ],
    **{f"claim {at}": [READ, write(text=f"{claim}{RULE}")] for at, claim in enumerate(CLAIMS)},
    "list the paths": [
        *(READ, write(path=f"made/{MARK}.md"), then("c", "list_directory_structure", documents=True), write("c")),
    ],
    "supersede an own note": [READ, write(path=f"made/{MARK}.md", text="# New", supersedes="own/plan.md")],
    "supersede, and undo": [
        *(READ, write(supersedes="own/plan.md"), then("c", "undo_write", path="own/plan.md"), write()),
    ],
    "supersede by another": [READ, write(), write("c", "made/new.md", "# New", supersedes="made/rule.md")],
    "supersede by another, and undo": [
        *(READ, write(), write("c", "made/new.md", "# New", supersedes="made/rule.md")),
        then("c", "undo_write", path="made/rule.md"),
    ],
    "compute over the page": [
        *(write("a", "own/compute.md", COMPUTES), then("c", "run_computation", id="own/compute.md"), write("c")),
    ],
    "compute with code of another": [
        *(READ, write(path="own/made/code.md", text=CODE), write("c", "own/compute.md", ELSEWHERE)),
        *(then("c", "run_computation", id="own/compute.md"), write("c")),
    ],
    "compute, and fail": [
        write("a", "own/compute.md", COMPUTES.replace("return open", "raise ValueError(open").replace("()\n", "())\n")),
        *(then("c", "run_computation", id="own/compute.md"), write("c")),
    ],
    "undo what changed": [
        *(READ, write(), then("c", "undo_write", path="made/rule.md", expected_hash="0" * 64), write("c", "made/b.md")),
    ],
    "add to it, unread": [READ, write(), write("c", text="More.", mode="append"), write("c", "made/b.md")],
    "link to it, unread": [
        *(READ, write(text=f"# The {MARK} rule\n"), write("c", "own/link.md", "See [[made/rule]].\n")),
        write("c", "made/b.md"),
    ],
    "see what superseded a note": [
        *(READ, write(path=f"made/{MARK}.md", text="---\nsupersedes: plan\n---\n# N\n")),
        *(then("c", "search_documents", query="when does the boat leave", folder="own"), write("c")),
    ],
    "quote a line by a link": [then("c", "explore_links", id="clips/talk.md", relation="references"), write("c")],
    "quote a line by a far link": [then("c", "explore_links", id="own/far.md", depth=2), write("c")],
    "quote a line by a contradiction": [then("c", "find_gaps", kind="contradiction"), write("c")],
    "shared: read": [then("a", "read_node_content", id=SHARED), write()],
    "shared: read beside": [then("a", "read_node_content", id="own/plan.md", more=[SHARED]), write()],
    "shared: one line": [then("a", "read_node_content", id=SHARED, start_line=2, end_line=3), write()],
    "shared: find": [then("a", "search_documents", query="zebra rule"), write()],
    "shared: find in a time": [then("a", "temporal_search", query="zebra rule", date_range="since 2020"), write()],
    "shared: list": [then("a", "list_directory_structure", documents=True), write()],
    "shared: list its folder": [then("a", "list_directory_structure", prefix="shared/eve/pool"), write()],
    "shared: links": [then("a", "explore_links", id=SHARED), write()],
    "shared: fetch": [then("a search", "fetch", id="document:shared/eve/pool-page"), write("b")],
    "shared: search": [then("a search", "search", query="zebra rule"), write("b")],
    "shared: in code": [code("a", f'return (await loci.read_node_content({{id: "{SHARED}"}})).result'), write()],
    "shared: in a workflow": [
        then(
            "a",
            "pml_execute_dag",
            workflow={"tasks": [READS_FIRST | {"arguments": {"id": SHARED}}, THEN_WRITES]},
        )
    ],
    "keep a file": [READ, then("a", "add_memory", name="rule.md", text=RULE)],
    "keep a file, and find it": [
        *(READ, then("a", "add_memory", name="rule.md", text=RULE)),
        *(then("c", "search_memory", parsed_query="zebra rule"), write("c")),
    ],
    "keep a file, and read it": [
        *(READ, then("a", "add_memory", name="rule.md", text=RULE)),
        *(then("c", "read_memory", id="<result.0.id>"), write("c")),
    ],
}


def part_of(answer: Any, way: Sequence[str]) -> Any:
    """The value in an answer; "none" if it has none."""
    for name in way:
        try:
            answer = answer[int(name) if name.isdecimal() else name]
        except (KeyError, IndexError, TypeError):
            return "none"
    return answer


AS_READ = (
    *("copy by another", "keep a file, and find it", "keep a file, and read it"),
    *("list the paths", "compute with code of another", "undo what changed", "add to it, unread"),
    *("link to it, unread", "see what superseded a note"),
)
"""Ways whose last step writes what the others have kept: where they are asked, nothing is."""


@dataclass
class Lab:
    """A server, and the clients of an owner with two keys."""

    app: App
    port: int
    owner: Owner
    keys: dict[str, str]
    open: dict[str, Client] = field(default_factory=dict[str, Client])
    last: Any = None

    async def step(self, stack: AsyncExitStack, step: Step) -> None:
        who, tool, arguments = step
        if who not in self.open:
            self.open[who] = await stack.enter_async_context(self.client(who))
        filled = self.filled(arguments)
        try:
            if tool == "resource":
                await self.open[who].read_resource(filled["uri"])
                return
            answer = await self.open[who].call_tool(tool, filled)
        except MCPError:
            return
        self.last = answer.structured_content

    @asynccontextmanager
    async def client(self, who: str) -> AsyncGenerator[Client]:
        name, _, surface = who.partition(" ")
        headers = {"Authorization": f"Bearer {self.keys['c' if name == 'c' else 'a']}"}
        url = f"http://127.0.0.1:{self.port}/mcp" + (f"/{surface}" if surface else "")
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(
                streamable_http_client(url, http_client=http),
                mode="2026-07-28" if name in "nm" else "legacy",
                client_info=Implementation(name=f"client-{name}", version="1"),
            ) as client,
        ):
            yield client

    def filled(self, value: Any) -> Any:
        match value:
            case str() if value.startswith("{hash:"):
                document = self.app.documents.parts.catalog.find(self.owner, value[6:-1]).document
                return document.sha256 if document else "0" * 64
            case str() if value.startswith("<"):
                return part_of(self.last, value[1:-1].split("."))
            case dict():
                return {name: self.filled(one) for name, one in cast("dict[str, Any]", value).items()}
            case _:
                return value

    def washed(self) -> tuple[list[str], list[str]]:
        """The paths of all that has the mark but what was given, and of these the ones that count as own."""
        library, kept, own = self.app.documents.parts.library, list[str](), list[str]()
        for one in library.documents(self.owner):
            if MARK.encode() in library.content(self.owner, one):
                is_given = one.path.startswith("clips/")
                kept += [] if is_given else [one.path]
                own += [one.path] if not is_given and (not foreign_of(one) or is_own(one)) else []
        for file in self.app.files.listed(self.owner):
            if MARK.encode() in self.app.files.read(self.owner, file.id).content:
                kept.append(file.name)
                own += [] if file.newest.foreign else [file.name]
        return kept, own


@pytest.fixture(scope="module", params=["allow", "ask"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[App, int]]:
    folder = tmp_path_factory.mktemp("washed")
    given = {"data": folder, "models": folder / "models", "auth": "required", "log_level": "ERROR"}
    settings = load_settings({**given, "untrusted_writes": request.param})
    with closing(build_app(settings)) as app, uvicorn_door(asgi(app, on_loopback=True)) as door:
        yield app, door.port


@pytest.fixture(autouse=True)
def _nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loci.gateway.waiting_calls, "PATIENCE", 0.0)


def lab(server: tuple[App, int], name: str) -> Lab:
    app, port = server
    owner = Owner("", f"owner of {name}")
    for path, text in (("clips/page.md", PAGE), ("own/plan.md", PLAN)):
        app.documents.parts.library.add(owner, path, text)
    if name.startswith("quote"):
        quoting = {"clips/talk.md": TALK, "own/far.md": "# Far\n\nSee [[talk]].\n", "clips/ops.md": OPERATIONS}
        for path, text in quoting.items():
            app.documents.parts.library.add(owner, path, text.encode())
    if name.startswith("shared"):
        app.documents.parts.library.add(EVE, "pool/page.md", f"# Page\n\nThe {MARK} rule holds.\n".encode())
        app.sharing.shares.give(EVE, "pool", owner)
    app.tools.add(owner, "shop", upstream_over_http())
    app.tools.ask(owner, "shop")
    return Lab(app, port, owner, {one: app.api_keys.create(owner, one)[1] for one in "ac"})


@pytest.mark.parametrize("name", WAYS)
async def test_no_way_makes_a_text_of_others_own(server: tuple[App, int], name: str) -> None:
    made = lab(server, name)
    asks = made.app.settings.untrusted_writes == "ask"
    async with AsyncExitStack() as stack:
        for step in WAYS[name][:-1] if asks and name in AS_READ else WAYS[name]:
            await made.step(stack, step)
    kept, own = await asyncio.to_thread(made.washed)
    assert own == []
    if not asks:
        assert kept or name == "take the mark off the page", made.last  # otherwise the way leads nowhere
    elif name not in ("move the page", "take the mark off the page"):
        assert kept == []
        assert made.app.tools.parts.waiting.questions(made.owner), made.last


async def test_who_read_nothing_of_others_writes_what_is_own(server: tuple[App, int]) -> None:
    made = lab(server, "nobody")
    async with AsyncExitStack() as stack:
        for step in (
            then("a", "read_node_content", id="own/plan.md"),
            then("a", "search_documents", query="when does the boat leave", folder="own"),
            write("a"),
            then("a", "write_document", path="own/plan.md", mode="edit", old="nine", new="ten"),
        ):
            await made.step(stack, step)
    found = {one.path: (one.trust, is_own(one)) for one in made.app.documents.parts.library.documents(made.owner)}
    assert found["made/rule.md"] == found["own/plan.md"] == ("own", True)


async def test_what_a_person_approves_is_written_once_and_stays_foreign(server: tuple[App, int]) -> None:
    made = lab(server, "approval")
    if made.app.settings.untrusted_writes == "allow":
        return
    async with AsyncExitStack() as stack:
        await made.step(stack, READ)
        refused = await made.open["a"].call_tool("write_document", write()[2])
        assert refused.is_error
        assert "APPROVAL_PENDING" in str(refused.content)
        assert "its session has read texts of others (note clips/page.md)" in str(refused.content)
        [asked] = made.app.tools.parts.waiting.questions(made.owner)
        ids = {"workflow_id": asked["workflow_id"], "checkpoint_id": asked["checkpoint_id"]}
        by_agent = await made.open["a"].call_tool("pml_approval_response", {**ids, "approved": True})
        assert "Only a person" in str(by_agent.content)
        assert made.washed() == ([], [])
        person = Answerer("the owner", "page", is_person=True)
        call_id, question = str(asked["workflow_id"]), str(asked["checkpoint_id"])
        made.app.workflows.decide(made.owner, call_id, question, approved=True, by=person, wait=False)
        assert not (await made.open["a"].call_tool("write_document", write()[2])).is_error
        assert made.washed() == (["made/rule.md"], [])
        again = await made.open["a"].call_tool("write_document", write(path="made/other.md")[2])
        assert "APPROVAL_PENDING" in str(again.content)
