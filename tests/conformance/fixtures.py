"""What the conformance suite calls by name. For tests only: the product never imports it.

`tools()` goes into the server's constructor, `register(server)` adds the rest to the server that was built.
"""

import json
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import Context, MCPServer, UserMessage
from mcp.server.mcpserver.prompts.base import Prompt
from mcp.server.mcpserver.resources import BinaryResource, TextResource
from mcp.server.mcpserver.tools import Tool
from mcp.types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    InputRequiredResult,
    PromptReference,
    ResourceTemplateReference,
)
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS

from .fixture_media import image, png
from .fixture_rounds import ROUNDS, ask, given, want
from .fixture_tools import ONE_ROUND, SCHEMA_2020_12, embedded, json_schema_2020_12_tool

# The 2026-07-28 revision dropped them; the SDK's server answers them only if somebody does.
DROPPED_IN_2026 = frozenset({"logging/setLevel", "resources/subscribe", "resources/unsubscribe"})


def tools() -> list[Tool]:
    """The suite's tools, in a fixed order."""
    listed = [Tool.from_function(function, structured_output=False) for function in (*ONE_ROUND, *ROUNDS)]
    schema = Tool.from_function(json_schema_2020_12_tool, structured_output=False)
    return [*listed, schema.model_copy(update={"parameters": SCHEMA_2020_12})]


def register(server: MCPServer[Any]) -> None:
    """Add the suite's resources, prompts and completion, and the methods of the handshake revisions."""
    for resource in _resources():
        server.add_resource(resource)
    server.resource("test://template/{id}/data", mime_type="application/json")(template_data)
    for prompt in PROMPTS:
        server.add_prompt(Prompt.from_function(prompt))
    server.completion()(complete)
    server.middleware.append(answer_dropped_methods)


def _resources() -> list[TextResource | BinaryResource]:
    words = "This is the content of the static text resource."
    return [
        TextResource(
            uri="test://static-text", name="static-text", description="A text", text=words, mime_type="text/plain"
        ),
        BinaryResource(
            uri="test://static-binary", name="static-binary", description="A pixel", data=png(), mime_type="image/png"
        ),
        TextResource(
            uri="test://watched-resource", name="watched-resource", description="Can be subscribed to", text="Watched."
        ),
    ]


def template_data(id: str) -> str:
    """A resource for every id."""
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


def test_simple_prompt() -> str:
    """One message."""
    return "This is a simple prompt for testing."


def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """One message with both arguments in it."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


# The argument is named on the wire.
def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803
    """A resource, and what to do with it."""
    resource = embedded(resourceUri, "Embedded resource content for testing.")
    return [UserMessage(resource), UserMessage("Please process the embedded resource above.")]


def test_prompt_with_image() -> list[UserMessage]:
    """A picture, and what to do with it."""
    return [UserMessage(image()), UserMessage("Please analyze the image above.")]


def test_input_required_result_prompt(ctx: Context) -> str | InputRequiredResult:
    """Ask what the prompt is about, then say it."""
    context = given(ctx, "user_context", "context")
    return f"About {context}" if context else want(user_context=ask("What context should the prompt use?", "context"))


PROMPTS = (
    test_simple_prompt,
    test_prompt_with_arguments,
    test_prompt_with_embedded_resource,
    test_prompt_with_image,
    test_input_required_result_prompt,
)


async def complete(
    ref: PromptReference | ResourceTemplateReference,
    argument: CompletionArgument,
    context: CompletionContext | None,
) -> Completion:
    """Complete whatever is asked with the same three words."""
    words = [word for word in ("paris", "park", "test value") if word.startswith(argument.value)]
    return Completion(values=words, total=len(words), has_more=False)


async def answer_dropped_methods(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Accept log levels and subscriptions on the handshake revisions, and say so in the handshake."""
    if ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS and ctx.method in DROPPED_IN_2026:
        return {}
    result = await call_next(ctx)
    if ctx.method == "initialize" and isinstance(result, dict):
        capabilities: dict[str, Any] = result["capabilities"]
        capabilities["logging"] = {}
        capabilities["resources"] = {**capabilities.get("resources", {}), "subscribe": True}
    return result
