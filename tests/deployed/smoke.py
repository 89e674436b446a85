"""The whole product, from outside: `make smoke URL=https://…/mcp KEY=…`, against a deployment or `make run`.

It is a client with one key. What it writes has a name of its own, and is removed at the end.
"""

import json
import logging
import os
import sys
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, cast

import anyio
import anyio.to_thread
import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp_types import TextContent

STEP_S, BETWEEN_S = 90, 0.5
"""The longest time of a step, which may begin with cold starts, and the pause before the next question."""
LACKS = ("SANDBOX_UNAVAILABLE", "INDEX_UNAVAILABLE", "WORKFLOWS_UNAVAILABLE", "NO_READER")
"""Errors with which a server says that it has no such part."""
TABLE, SUM = "fruit,price\nquince,3\nplum,4\n", "7"
PYTHON = "sum(int(line.split(',')[1]) for line in get_memory_path({!r}).read_text().split()[1:])"
TYPESCRIPT = "(await loci.read_node_content({ id: context.path as string })).result.includes(context.mark as string)"
Json = Mapping[str, Any]


class Lacking(Exception):
    """The server has no such part."""


class Failed(Exception):
    """A step that did not give what it should, with the code of the tool's error if there was one."""

    def __init__(self, said: object, code: str | None = None) -> None:
        super().__init__(str(said)[:600])
        self.code = code


def expect(holds: bool, otherwise: object) -> None:
    """Raise `Failed` with what was there instead."""
    if not holds:
        raise Failed(otherwise)


class Walk:
    """One walk: what it has written, and how far it came."""

    def __init__(self, client: Client, another: Callable[[], AbstractAsyncContextManager[Client]]) -> None:
        self.client, self.another = client, another
        self.mark = f"loci-smoke-{uuid.uuid4().hex[:12]}"
        self.folder = self.ended = ""
        self.paths: list[str] = []
        self.files: list[str] = []

    async def keep_document(self) -> str:
        text = f"# Smoke\n\nThe mark is {self.mark}.\n"
        folders = (await self.ask("list_directory_structure"))["result"]
        for place in ("", *folders[:1]):  # a laptop writes only to folders that it ingested
            self.folder = f"{place}{self.mark}"
            path = self._path("note")
            if not await self.refused("OUTSIDE_ROOT", "write_document", path=path, content=text):
                break
        else:
            self.folder = ""
            raise Lacking("there is no folder to write to: loci ingest FOLDER")
        expect(self.mark in (await self.ask("read_node_content", id=path))["result"], path)
        while path not in [one["path"] for one in (await self.ask("search_documents", query=self.mark))["results"]]:
            await anyio.sleep(BETWEEN_S)
        return "written, read and found"

    async def keep_file(self) -> str:
        read = await self.ask("read_memory", id=await self._send(f"{self.mark}.txt"))
        expect("quince,3" in read["result"]["text"], read)
        return "sent to its URL, and read"

    async def query_table(self) -> str:
        file, sql = await self._send(f"{self.mark}.csv"), "SELECT sum(price)::TEXT FROM t1"
        asked = await self.ask("query_table", memory_id=file, sql=sql)
        expect(asked["result"]["rows"] == [[SUM]], asked)
        return "a table was read, and answers SQL"

    async def run_python(self) -> str:
        run = await self._run("run_memory_code", code=PYTHON.format(*self.files))
        expect(run["result"]["value"] == SUM, run)
        return "computed on the file"

    async def run_typescript(self) -> str:
        context = {"path": self._path("note"), "mark": self.mark}
        run = await self._run("pml_execute_code", code=TYPESCRIPT, context=context)
        expect(run["result"] is True, run)
        return "called a tool, and gave its value"

    async def approve_plan(self) -> str:
        asked = await self._paused(self._writing("first"), self._writing("second", dependsOn=["first"], approve=True))
        expect(await self._missing("second"), "the second task ran before its approval")
        if await self.refused("APPROVAL_NEEDED", "pml_approval_response", **asked, approved=True):
            await self.ask("pml_abort", workflow_id=asked["workflow_id"], reason="the end of a smoke test")
            raise Lacking("it paused, but only a person approves on this server, so it was aborted")
        ended = await self._settled("pml_workflow_status", workflow_id=asked["workflow_id"])
        expect(ended["status"] == "complete" and not await self._missing("second"), ended)
        self.ended = asked["workflow_id"]
        return "paused, was approved as the plan itself allows, and ended"

    async def wait_for_person(self) -> str:
        asked = await self._paused(self._writing("third", approve="human"))
        refused = await self.refused("APPROVAL_NEEDED", "pml_approval_response", **asked, approved=True)
        expect(refused, "a key approved what only a person may approve")
        ended = await self.ask("pml_abort", workflow_id=asked["workflow_id"], reason="the end of a smoke test")
        expect(ended["status"] == "aborted" and await self._missing("third"), ended)
        return "a task waited for a person: the key could not approve it, and aborted it"

    async def read_again(self) -> str:
        if not self.ended:
            raise Lacking("no workflow ended before")
        async with self.another() as client:
            found = await Walk(client, self.another).ask("pml_workflow_status", workflow_id=self.ended)
        expect(found["status"] == "complete" and {*found["results"]} == {"first", "second"}, found)
        return "read the workflow and its results in another session"

    async def clean(self) -> str:
        for path in self.paths:
            with suppress(Failed):  # it was never written
                read = await self.ask("read_node_content", id=path)
                await self.ask("delete_document", path=path, expected_hash=read["hash"])
        if self.files:
            await self.ask("delete_memory", memory_ids=self.files)
        left = [path for path in self.paths if not await self.refused("NODE_NOT_FOUND", "read_node_content", id=path)]
        expect(not left, f"still there: {left}")
        return f"removed what {self.mark} wrote"

    async def ask(self, tool: str, **arguments: object) -> dict[str, Any]:
        """Call a tool; what it answers."""
        answer = await self.client.call_tool(tool, arguments)
        if answer.is_error:
            error: Json = (answer.meta or {}).get("loci/error", {})
            if error.get("code") in LACKS:
                raise Lacking(error["message"])
            said = [one.text for one in answer.content if isinstance(one, TextContent)]
            raise Failed(f"{tool} answers {' '.join(said)}", error.get("code"))
        return cast("dict[str, Any]", answer.structured_content)

    async def refused(self, code: str, tool: str, **arguments: object) -> bool:
        """True if the call is refused with this code, and false if it is made."""
        try:
            await self.ask(tool, **arguments)
        except Failed as error:
            if error.code != code:
                raise
            return True
        return False

    async def _run(self, tool: str, **arguments: object) -> Json:
        """Run code; the answer of the run, which is read later if it takes longer than a request."""
        answer = await self.ask(tool, **arguments)
        if answer.get("status") != "running":
            return answer
        while await self.refused("STILL_RUNNING", "scratchpad_read", id=answer["scratchpad_id"]):
            await anyio.sleep(BETWEEN_S)
        return json.loads((await self.ask("scratchpad_read", id=answer["scratchpad_id"]))["result"])

    async def _settled(self, tool: str, **arguments: object) -> Json:
        """The state of a workflow as soon as it ends or waits."""
        answer = await self.ask(tool, **arguments)
        while answer["status"] == "running":
            await anyio.sleep(BETWEEN_S)
            answer = await self.ask("pml_workflow_status", workflow_id=answer["workflow_id"])
        return answer

    async def _paused(self, *tasks: Json) -> dict[str, str]:
        """Run a plan until it waits; what it waits for."""
        asked = await self._settled("pml_execute_dag", workflow={"tasks": tasks}, title=self.mark)
        expect(asked["status"] == "paused", asked)
        return {name: asked[name] for name in ("workflow_id", "checkpoint_id")}

    async def _send(self, name: str) -> str:
        """Send a file as its ticket says, and wait until it is read; its id."""
        ticket = (await self.ask("add_memory", name=name, upload_bytes=len(TABLE)))["upload"]
        status = await anyio.to_thread.run_sync(send, ticket, TABLE.encode())
        expect(status < 300, f"the URL of the upload answers {status}")
        self.files.append(ticket["memory_id"])
        file: Json = {"status": "pending"}
        while file["status"] in ("pending", "running"):
            await anyio.sleep(BETWEEN_S)
            with suppress(Failed):  # on AWS, S3 tells of it a moment later
                [file] = (await self.ask("ingestion_status", memory_ids=self.files[-1:]))["result"]
        if "deployment has none" in str(file["reason"]):
            raise Lacking(file["reason"])
        expect(file["status"] == "okay", file)
        return self.files[-1]

    async def _missing(self, name: str) -> bool:
        return await self.refused("NODE_NOT_FOUND", "read_node_content", id=self._path(name))

    def _path(self, name: str) -> str:
        if not self.folder:
            raise Lacking("no document could be written")
        self.paths.append(f"{self.folder}/{name}.md")
        return self.paths[-1]

    def _writing(self, id: str, **more: object) -> Json:
        arguments = {"path": self._path(id), "content": f"# {id}\n\nWritten by a workflow.\n"}
        return {"id": id, "tool": "loci:write_document", "arguments": arguments, **more}


def send(ticket: Json, content: bytes) -> int:
    """Send the bytes to the URL of an upload, in its form if it has one; the status of the answer."""
    if form := ticket["fields"]:
        return httpx2.post(ticket["url"], data=form, files={"file": ("f", content)}).status_code
    return httpx2.put(ticket["url"], content=content).status_code


STEPS: tuple[tuple[str, Callable[[Walk], Awaitable[str]], str], ...] = (
    ("document", Walk.keep_document, "the log of loci-STAGE-gateway, and loci doctor --stack loci-STAGE-gateway"),
    ("file", Walk.keep_file, "the log of loci-STAGE-ingest, and the queue loci-STAGE-ingest-aside"),
    ("table", Walk.query_table, "the logs of loci-STAGE-ingest and loci-STAGE-errand"),
    ("Python", Walk.run_python, "the log of loci-STAGE-errand"),
    ("TypeScript", Walk.run_typescript, "the log of loci-STAGE-errand"),
    ("plan", Walk.approve_plan, "the execution of loci-STAGE-workflow that the workflow's id names"),
    ("person", Walk.wait_for_person, "the setting workflow_approval, and the executions of loci-STAGE-workflow"),
    ("session", Walk.read_again, "the log of loci-STAGE-gateway"),
    ("end", Walk.clean, "what is named like this walk, and remove it"),
)
"""Each step: its name, what it does, and where to look if it fails."""


async def walk(url: str, key: str | None) -> dict[str, str]:
    """Take all steps, and print one line for each; how each ended: ok, SKIPPED or FAILED."""
    ended: dict[str, str] = {}
    http = create_mcp_http_client({"Authorization": f"Bearer {key}"} if key else {})
    async with http, Client(streamable_http_client(url, http_client=http)) as client:
        one = Walk(client, lambda: Client(streamable_http_client(url, http_client=http)))
        print(f"{url}, as {one.mark}")
        for name, step, look in STEPS:
            began, ended[name] = time.monotonic(), "ok"
            try:
                with anyio.fail_after(STEP_S):
                    said = await step(one)
            except Lacking as lacking:
                ended[name], said = "SKIPPED", str(lacking)
            except (Failed, TimeoutError, LookupError, MCPError, httpx2.HTTPError) as error:
                ended[name] = "FAILED"
                said = f"{str(error) or type(error).__name__}\n{'':28}Look at {look}."
            print(f"{ended[name]:8} {time.monotonic() - began:5.1f} s  {name:10}  {said}", flush=True)
    return ended


def cause(error: Exception) -> Exception:
    """Return the first error of those that a client groups."""
    return cause(cast("ExceptionGroup[Exception]", error).exceptions[0]) if isinstance(error, ExceptionGroup) else error


def main() -> None:
    """Walk through the server at the URL; the exit code is 1 if a step failed."""
    logging.disable(logging.WARNING)  # the client's, on tools that a server does not list
    url = f"{sys.argv[1].rstrip('/').removesuffix('/mcp')}/mcp"
    try:
        ended = anyio.run(walk, url, os.environ.get("LOCI_KEY"))
    except ExceptionGroup as errors:
        sys.exit(f"FAILED   {url} gives no session: {cause(errors)}\n{'':9}Ask why: loci doctor --url {url} --key KEY")
    sys.exit("FAILED" in ended.values())


if __name__ == "__main__":
    main()
