"""Parameters that clients mirror into HTTP headers: the two must say the same."""

import json
from pathlib import Path
from typing import Annotated

from mcp_types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, PROTOCOL_VERSION_META_KEY
from pydantic import Field

from loci.app import App
from loci.compose import build_app
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from loci.mcp.module import tool_families
from loci.mcp.server import LociServer, build_server
from loci.mcp.tool import Surface, loci_tool
from loci.mcp.tool_catalog import family_of
from tests.attack.doors import lambda_doors
from tests.attack.wire import Ask
from tests.support.each import each

NEWEST = "2026-07-28"
META = {
    PROTOCOL_VERSION_META_KEY: NEWEST,
    CLIENT_INFO_META_KEY: {"name": "test", "version": "1"},
    CLIENT_CAPABILITIES_META_KEY: {},
}


def where(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
    """Answer."""
    return region


def with_where(app: App, surface: Surface) -> LociServer:
    return build_server(app, surface, [*tool_families(app), family_of(loci_tool(where, title="Where"))])


@each(("header", "status"), [("north", 200), ("south", 400)])
def test_a_header_that_says_something_else_is_refused(tmp_path: Path, header: str, status: int) -> None:
    app = build_app(load_settings({"data": tmp_path, "auth": "open", "allowed_hosts": "api.example.com"}))
    params = {"name": "where", "arguments": {"region": "north"}, "_meta": META}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    headers = {
        "Host": "api.example.com",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Mcp-Protocol-Version": NEWEST,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "where",
        "Mcp-Param-Region": header,
    }
    with lambda_doors(asgi(app, build=with_where)) as (rest, _):
        assert rest.ask(Ask(body, tuple(headers.items()))).status == status
