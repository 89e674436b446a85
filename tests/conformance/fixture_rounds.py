"""The suite's tools that need more than one round: they answer with what they still want to know."""

from collections.abc import Mapping

from mcp.server.mcpserver import Context
from mcp.types import (
    CallToolResult,
    ClientCapabilities,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
)

from .fixture_tools import text, user_message

Round = CallToolResult | InputRequiredResult


def test_input_required_result_elicitation(ctx: Context) -> Round:
    """Ask for a name, then greet."""
    name = given(ctx, "user_name", "name")
    return text(f"Hello, {name}!") if name else want(user_name=ask("What is your name?", "name"))


def test_input_required_result_sampling(ctx: Context) -> Round:
    """Ask the client's model one question, then repeat its answer."""
    answer = responses(ctx).get("capital_question")
    if isinstance(answer, CreateMessageResult):
        return text(str(answer.content))
    return want(capital_question=sample("What is the capital of France?"))


def test_input_required_result_list_roots(ctx: Context) -> Round:
    """Ask for the client's roots, then list them."""
    roots = responses(ctx).get("client_roots")
    if isinstance(roots, ListRootsResult):
        return text(", ".join(str(root.uri) for root in roots.roots))
    return want(client_roots=ListRootsRequest())


def test_input_required_result_request_state(ctx: Context) -> Round:
    """Ask for a confirmation, and know it again by the state that comes back with it."""
    if ctx.request_state == "confirming" and given(ctx, "confirm", "ok"):
        return text("state-ok")
    return want("confirming", confirm=ask("Please confirm", "ok", kind="boolean"))


def test_input_required_result_tampered_state(ctx: Context) -> Round:
    """Ask for a confirmation; a state that was changed on the way never gets here."""
    return test_input_required_result_request_state(ctx)


def test_input_required_result_multiple_inputs(ctx: Context) -> Round:
    """Ask three things at once, then answer."""
    wanted: dict[str, InputRequest] = {
        "user_name": ask("What is your name?", "name"),
        "greeting": sample("Generate a greeting"),
        "client_roots": ListRootsRequest(),
    }
    if wanted.keys() <= responses(ctx).keys():
        return text(f"All three came: {', '.join(sorted(wanted))}")
    return want("asked three", **wanted)


def test_input_required_result_multi_round(ctx: Context) -> Round:
    """Ask for a name, then for a colour, then answer with both."""
    color = given(ctx, "step2", "color")
    state = ctx.request_state or ""
    if color and state.startswith("named "):
        return text(f"{state.removeprefix('named ')} likes {color}")
    name = given(ctx, "step1", "name")
    if name:
        return want(f"named {name}", step2=ask("Step 2: What is your favorite color?", "color"))
    return want("started", step1=ask("Step 1: What is your name?", "name"))


def test_input_required_result_capabilities(ctx: Context) -> Round:
    """Ask only in the ways that the client declared."""
    can = ctx.client_capabilities or ClientCapabilities()
    wanted: dict[str, InputRequest] = {}
    if can.sampling is not None:
        wanted["sampled"] = sample("Say hello")
    if can.elicitation is not None:
        wanted["asked"] = ask("What is your name?", "name")
    if not wanted or wanted.keys() <= responses(ctx).keys():
        return text("Nothing more to ask.")
    return want(**wanted)


async def test_streaming_elicitation(ctx: Context) -> Round:
    """Report progress, then ask on the answer's own stream."""
    await ctx.report_progress(0, 1)
    return test_input_required_result_elicitation(ctx)


ROUNDS = (
    test_input_required_result_elicitation,
    test_input_required_result_sampling,
    test_input_required_result_list_roots,
    test_input_required_result_request_state,
    test_input_required_result_tampered_state,
    test_input_required_result_multiple_inputs,
    test_input_required_result_multi_round,
    test_input_required_result_capabilities,
    test_streaming_elicitation,
)


def want(state: str | None = None, /, **requests: InputRequest) -> InputRequiredResult:
    return InputRequiredResult(input_requests=requests, request_state=state)


def ask(message: str, field: str, kind: str = "string") -> ElicitRequest:
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def sample(prompt: str) -> CreateMessageRequest:
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[user_message(prompt)], max_tokens=100))


def responses(ctx: Context) -> Mapping[str, object]:
    return ctx.input_responses or {}


def given(ctx: Context, key: str, field: str) -> object:
    """One field of an accepted form, or None."""
    answer = responses(ctx).get(key)
    return (answer.content or {}).get(field) if isinstance(answer, ElicitResult) else None
