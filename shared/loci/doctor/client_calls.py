"""Messages to an endpoint, as `loci doctor --url` sends them: hello, the list of tools, and a call."""

from collections.abc import Mapping
from typing import Any, Final, cast

from loci.core.finding import counted
from loci.core.version import version
from loci.doctor.http_steps import Reply, Requests, Stopped

REVISION: Final = "2025-11-25"
CALLS: Final[Mapping[str, dict[str, str]]] = {
    "list_directory_structure": {},
    "get_memorylake_metadata": {},
    "search": {"query": "hello"},
    "pml_search_tools": {"query": "hello"},
}
"""Calls that change nothing: each endpoint has one of these tools."""
LOG: Final = "Look into the log of the server"


def hello(requests: Requests, url: str, headers: Mapping[str, str]) -> Reply:
    """The answer to who connects."""
    me = {"name": "loci-doctor", "version": version()}
    params = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": me}
    return _message(requests, url, headers, "initialize", params)


def works(requests: Requests, url: str, authorization: str, advice: str) -> str:
    """Connect, list the tools and call one. What has answered; `Stopped` with the advice if nobody is let in."""
    headers = {"Authorization": authorization}
    begun = hello(requests, url, headers)
    if begun.status != 200 or "result" not in begun.value:
        raise Stopped(f"The endpoint answers {begun.words}", advice)
    headers["MCP-Protocol-Version"] = REVISION
    if session := begun.headers.get("mcp-session-id"):
        headers["Mcp-Session-Id"] = session
    names = _names(_message(requests, url, headers, "tools/list", {}))
    tool = next((one for one in CALLS if one in names), None)
    if tool is None:
        return counted(len(names), "tool")
    reply = _message(requests, url, headers, "tools/call", {"name": tool, "arguments": CALLS[tool]})
    match reply.value:
        case {"result": {"isError": True, "content": [{"text": str(said)}, *_]}}:
            raise Stopped(f"{tool} fails: {said[:200]}", LOG)
        case {"result": {}}:
            return f"{counted(len(names), 'tool')}, and {tool} answers"
        case _:
            raise Stopped(f"The call of {tool} answers {reply.words}", LOG)


def _names(reply: Reply) -> list[str]:
    match reply.value:
        case {"result": {"tools": [*tools]}}:
            return [str(cast("dict[str, Any]", one).get("name")) for one in tools if isinstance(one, dict)]
        case _:
            raise Stopped(f"tools/list answers {reply.words}", LOG)


def _message(requests: Requests, url: str, headers: Mapping[str, str], method: str, params: object) -> Reply:
    told = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    sent = {"Accept": "application/json, text/event-stream", **headers}
    return requests.ask("POST", url, headers=sent, json=told)
