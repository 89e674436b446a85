"""Much of everything for somebody: what their pages must not send all at once."""

from loci.app import App
from loci.core.identity import Caller, Owner
from loci.core.json import JsonObject
from loci.gateway.capabilities.api import EndedRun


def learn_many(app: App, owner: Owner, number: int, more: str = "") -> None:
    """Capabilities, each with code of its own."""
    for one in range(number):
        code = f"const told = await shop.addNumbers({{a: context.first, b: {one}}});\nreturn told.sum + 'x{one}'"
        intent = f"add the prices of order {one}{more}"
        app.tools.capabilities.learn(owner, EndedRun(code, intent, {"first": 1}, ("shop:add_numbers",), worked=True))
    app.tools.finish_learning()


def add_many(app: App, owner: Owner, number: int, more: str = "") -> None:
    """Files."""
    for one in range(number):
        app.files.add(owner, f"report {one}{more}.txt", f"Report {one}".encode())


def run_many(app: App, caller: Caller, number: int) -> None:
    """Workflows that have ended: one runs, and the others are as it."""
    app.workflows.start(caller, {"tasks": [{"id": "t1", "tool": "loci:scratchpad_list", "arguments": {}}]})
    run = next(iter(app.workflows.ended(caller.owner).values()))
    for one in range(number - 1):
        before = run.model_copy(update={"began": run.began - one})
        app.workflows.restore(caller.owner, f"wf_{one:020}", before, {})


def ask_many(app: App, caller: Caller, number: int, more: str = "") -> None:
    """Workflows that wait for a person."""
    for one in range(number):
        gated: JsonObject = {
            "id": "t1",
            "tool": "loci:write_document",
            "arguments": {"path": f"note {one}.md", "content": f"v{one}{more}"},
            "approve": True,
        }
        app.workflows.start(caller, {"tasks": [gated]})


def serve_many(app: App, owner: Owner, number: int, more: str = "") -> None:
    """Tool servers that nobody has reached yet."""
    for one in range(number):
        app.tools.add(
            owner, f"shop{one}", {"url": f"https://shop{one}.example.com/mcp", "deny": [f"break_{one}_*{more}"]}
        )
