"""The SDK's private names that `loci/mcp/sdk.py` uses. If one of these fails, the SDK has changed: mend that file."""

import inspect
from pathlib import Path

from mcp.server import MCPServer, _otel
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import server as sdk_server
from mcp.shared import _stream_protocols

from loci.mcp import sdk

PRIVATE = ("_lowlevel_server", "_tool_input_schema")


def test_the_sdk_asks_for_a_tools_schema_by_the_name_that_loci_overrides() -> None:
    schema = getattr(MCPServer, "_tool_input_schema")  # noqa: B009 (a private name, on purpose)
    assert [*inspect.signature(schema).parameters] == ["self", "name"]
    assert "get_tool_input_schema=self._tool_input_schema" in inspect.getsource(MCPServer.__init__)


def test_the_sdk_keeps_its_low_level_server_under_the_name_that_loci_reads() -> None:
    server = MCPServer("probe")
    assert isinstance(getattr(server, "_lowlevel_server"), Server)  # noqa: B009


def test_the_sdk_configures_logging_by_the_name_that_loci_replaces() -> None:
    assert "configure_logging(self.settings.log_level)" in inspect.getsource(MCPServer.__init__)
    assert getattr(sdk_server, "configure_logging").__module__ == "logging"  # noqa: B009


def test_the_sdk_has_the_types_of_its_streams_where_loci_imports_them() -> None:
    assert _stream_protocols.ReadStream
    assert _stream_protocols.WriteStream
    assert _otel.OpenTelemetryMiddleware


def test_no_other_file_uses_a_private_name_of_the_sdk() -> None:
    users = {
        file.name
        for file in Path(sdk.__file__).parents[1].rglob("*.py")
        if any(name in file.read_text("utf-8") for name in (*PRIVATE, "mcp.shared._", "mcp.server._", "mcp_types._"))
    }
    assert users == {"sdk.py"}
