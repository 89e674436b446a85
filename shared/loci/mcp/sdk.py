"""Everything of the MCP SDK that has a private name. `tests/unit/mcp/test_sdk.py` fails if the SDK changes one.

What serves loads this module before anything else of the SDK.
"""

# ruff: noqa: E402

import logging
from abc import abstractmethod
from typing import Any

from mcp_types._wire_base import WireModel

# The models of each revision of the protocol, some 300, are made when one is first used. Otherwise they take a tenth of
# each start.
WireModel.model_config["defer_build"] = True

from mcp.server import MCPServer
from mcp.server._otel import OpenTelemetryMiddleware
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import server as sdk_server
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from opentelemetry.propagate import set_global_textmap
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

__all__ = ["OpenTelemetryMiddleware", "ReadStream", "SdkServer", "WriteStream"]

# The SDK's clients pass a trace on to tool servers. Baggage would be what Loci's own clients wrote.
set_global_textmap(TraceContextTextMapPropagator())
# The SDK would add its own handler to the root logger, and load rich for it (17 ms). Loci has its own logs.
setattr(sdk_server, "configure_logging", logging.getLogger)  # noqa: B010 (the name is the SDK's own)


class SdkServer(MCPServer[Any]):
    """The SDK's server, with public names for what Loci needs of its inside."""

    @property
    def low_level(self) -> Server[Any]:
        """The server of plain protocol requests below the tools, prompts and resources."""
        return self._lowlevel_server

    async def serve(
        self, requests: ReadStream[SessionMessage | Exception], answers: WriteStream[SessionMessage]
    ) -> None:
        """Serve one client over a pair of streams."""
        inner = self._lowlevel_server
        await inner.run(requests, answers, inner.create_initialization_options())

    @abstractmethod
    def input_schema(self, name: str) -> dict[str, Any] | None:
        """The input schema of a tool. The SDK holds the headers of a call to it, before the call."""

    def _tool_input_schema(self, name: str) -> dict[str, Any] | None:
        return self.input_schema(name)
