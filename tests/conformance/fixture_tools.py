"""The suite's tools that answer in one round. Names, texts and schemas are the suite's."""

from typing import Annotated, Any

import anyio
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp.types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    CallToolResult,
    ContentBlock,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitResult,
    EmbeddedResource,
    ImageContent,
    SamplingMessage,
    TextContent,
    TextResourceContents,
)
from pydantic import Field

from .fixture_media import audio, image

STEP = 0.05  # seconds; the suite asks for about 50 ms between notifications


def test_simple_text() -> CallToolResult:
    """Answer with one text."""
    return text("This is a simple text response for testing.")


def test_image_content() -> ImageContent:
    """Answer with a picture."""
    return image()


def test_audio_content() -> AudioContent:
    """Answer with a sound."""
    return audio()


def test_embedded_resource() -> EmbeddedResource:
    """Answer with a resource inside the result."""
    return embedded("test://embedded-resource", "This is an embedded resource content.")


def test_multiple_content_types() -> list[ContentBlock]:
    """Answer with a text, a picture and a resource."""
    resource = embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json")
    return [TextContent(text="Multiple content types test:"), image(), resource]


def test_error_handling() -> CallToolResult:
    """Fail on purpose."""
    raise ToolError("This tool intentionally returns an error for testing")


async def test_tool_with_progress(ctx: Context) -> CallToolResult:
    """Report progress three times, then answer."""
    for percent in (0, 50, 100):
        await ctx.report_progress(percent, 100)
        await anyio.sleep(STEP)
    return text("Progress was reported three times.")


async def test_tool_with_logging(ctx: Context) -> CallToolResult:
    """Log three messages, then answer."""
    for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await _log(ctx, message)
        await anyio.sleep(STEP)
    return text("Three messages were logged.")


async def test_logging_tool(ctx: Context) -> CallToolResult:
    """Log one message, which reaches only a client that asked for logs."""
    await _log(ctx, "A message for whoever asked for it")
    return text("One message was logged.")


def test_missing_capability() -> CallToolResult:
    """Refuse: no client in the suite declares what this tool asks for."""
    data: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
    raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "This tool needs a client that can sample", data)


async def test_sampling(prompt: str, ctx: Context) -> CallToolResult:
    """Ask the client's model, over the back-channel of the handshake revisions."""
    params = CreateMessageRequestParams(messages=[user_message(prompt)], max_tokens=100)
    answer = await ctx.session.send_request(
        CreateMessageRequest(params=params), CreateMessageResult, metadata=_on_this_stream(ctx)
    )
    return text(f"LLM response: {answer.content}")


async def test_elicitation(message: str, ctx: Context) -> CallToolResult:
    """Ask the user two things, over the back-channel of the handshake revisions."""
    answer = await _ask(ctx, message, {name: {"type": "string"} for name in ("username", "email")})
    return text(f"User response: action={answer.action}, content={answer.content}")


async def test_elicitation_sep1034_defaults(ctx: Context) -> CallToolResult:
    """Ask with a default for every primitive type."""
    properties: dict[str, Any] = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return _completed(await _ask(ctx, "Check these values", properties))


async def test_elicitation_sep1330_enums(ctx: Context) -> CallToolResult:
    """Ask with every kind of enumeration."""
    options = ["option1", "option2", "option3"]
    titled = [{"const": f"value{n}", "title": f"Choice {n}"} for n in (1, 2, 3)]
    properties: dict[str, Any] = {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return _completed(await _ask(ctx, "Choose", properties))


async def test_reconnection(ctx: Context) -> CallToolResult:
    """Close the stream before the answer, where the server can resume it."""
    await ctx.close_sse_stream()
    return text("Answered after the stream was closed.")


async def test_trigger_tool_change(ctx: Context) -> CallToolResult:
    """Say that the list of tools changed."""
    await ctx.notify_tools_changed()
    return text("Said.")


async def test_trigger_prompt_change(ctx: Context) -> CallToolResult:
    """Say that the list of prompts changed."""
    await ctx.notify_prompts_changed()
    return text("Said.")


def test_headers(
    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
    priority: Annotated[int, Field(json_schema_extra={"x-mcp-header": "Priority"})],
) -> CallToolResult:
    """Take two parameters that the client mirrors into HTTP headers."""
    return text(f"{region} {priority}")


def json_schema_2020_12_tool(name: str = "") -> CallToolResult:
    """Be listed with an input schema that uses JSON Schema 2020-12."""
    return text(name)


SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}

ONE_ROUND = (
    test_simple_text,
    test_image_content,
    test_audio_content,
    test_embedded_resource,
    test_multiple_content_types,
    test_error_handling,
    test_tool_with_progress,
    test_tool_with_logging,
    test_logging_tool,
    test_missing_capability,
    test_sampling,
    test_elicitation,
    test_elicitation_sep1034_defaults,
    test_elicitation_sep1330_enums,
    test_reconnection,
    test_trigger_tool_change,
    test_trigger_prompt_change,
    test_headers,
)


def text(answer: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=answer)])


def embedded(uri: str, content: str, mime_type: str = "text/plain") -> EmbeddedResource:
    return EmbeddedResource(resource=TextResourceContents(uri=uri, text=content, mime_type=mime_type))


def user_message(prompt: str) -> SamplingMessage:
    return SamplingMessage(role="user", content=TextContent(text=prompt))


def _completed(answer: ElicitResult) -> CallToolResult:
    return text(f"Elicitation completed: action={answer.action}, content={answer.content}")


async def _ask(ctx: Context, message: str, properties: dict[str, Any]) -> ElicitResult:
    schema = {"type": "object", "properties": properties, "required": sorted(properties)}
    return await ctx.session.elicit_form(message, schema, ctx.request_id)


async def _log(ctx: Context, message: str) -> None:
    # Deprecated with the protocol's logging itself, and the only call that obeys a request's log level.
    await ctx.info(message)  # pyright: ignore[reportDeprecated]


def _on_this_stream(ctx: Context) -> ServerMessageMetadata:
    return ServerMessageMetadata(related_request_id=ctx.request_id)
