"""A tool server that writes down what its tools do: `python journal.py JOURNAL [SAYS]`. Calls run at the same time.

SAYS describes the tool `deploy`. It runs as a program of its own, and imports nothing that takes time.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

JOURNAL = Path(sys.argv[1])
SAYS = sys.argv[2] if len(sys.argv) > 2 else "Deploy a version to production"
READS: dict[str, Any] = {"readOnlyHint": True}
AGAIN: dict[str, Any] = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True}
WRITES: dict[str, Any] = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False}
DESTROYS: dict[str, Any] = {"readOnlyHint": False, "destructiveHint": True}
turn = threading.Lock()
tries: dict[str, int] = {}


def write(event: str, tool: str, arguments: dict[str, Any], request: Any) -> None:
    written = {"event": event, "tool": tool, "arguments": arguments, "request": request, "at": time.time()}
    line = json.dumps(written) + "\n"
    file = os.open(JOURNAL, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(file, line.encode())
    os.close(file)


def send(message: dict[str, Any]) -> None:
    with turn:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def echo(given: dict[str, Any]) -> Any:
    return {"value": given.get("value")}


def items(given: dict[str, Any]) -> Any:
    names = given.get("names", ["a", "b", "c"])
    return {"items": [{"name": name, "size": at} for at, name in enumerate(names)], "count": len(names)}


def sleep(given: dict[str, Any]) -> Any:
    time.sleep(float(given["ms"]) / 1000)
    return {"slept": given["ms"]}


def fail(given: dict[str, Any]) -> Any:
    raise ValueError(str(given.get("message", "the disk is full")))


def flaky(given: dict[str, Any]) -> Any:
    key = str(given.get("key", ""))
    tries[key] = tries.get(key, 0) + 1
    if tries[key] <= int(given.get("fails", 1)):
        raise ValueError("not yet")
    return {"tries": tries[key]}


def wait_for(given: dict[str, Any]) -> Any:
    until = time.monotonic() + 60
    while not Path(given["file"]).exists() and time.monotonic() < until:
        time.sleep(0.01)
    return {"found": Path(given["file"]).exists()}


def meet(given: dict[str, Any]) -> Any:
    until = time.monotonic() + 30
    while (begun := JOURNAL.read_text().count('"begin", "tool": "meet"')) < given[
        "others"
    ] and time.monotonic() < until:
        time.sleep(0.01)
    return {"met": begun >= given["others"]}


def large(given: dict[str, Any]) -> Any:
    return {"text": "x" * int(given["characters"])}


def entities(given: dict[str, Any]) -> Any:
    return {"success": True, "created": len(given["entities"])}


def schema(required: list[str], **types: str) -> dict[str, Any]:
    described: dict[str, Any] = {name: {"type": kind} if kind else {} for name, kind in types.items()}
    return {"type": "object", "properties": described, "required": required, "additionalProperties": False}


NAMED = {"name": {"type": "string"}, "content": {}}
ENTITIES = {
    "type": "object",
    "properties": {
        "entities": {"type": "array", "items": {"type": "object", "properties": NAMED, "required": ["name", "content"]}}
    },
    "required": ["entities"],
}
TOOLS: dict[str, tuple[Callable[[dict[str, Any]], Any], dict[str, Any], dict[str, Any], str]] = {
    "echo": (echo, schema([], value="", key="string"), READS, "Say a value again"),
    "items": (items, schema([], names="array"), READS, "List some items"),
    "sleep": (sleep, schema(["ms"], ms="number", key="string"), READS, "Wait for milliseconds"),
    "wait_for": (wait_for, schema(["file"], file="string", key="string"), READS, "Wait for a file"),
    "meet": (meet, schema(["others"], others="integer"), READS, "Wait until so many such calls have begun"),
    "large": (large, schema(["characters"], characters="integer"), READS, "Give a long text"),
    "fail": (fail, schema([], message="string"), READS, "Fail"),
    "flaky": (flaky, schema([], key="string", fails="integer"), READS, "Fail at first"),
    "note": (echo, schema(["value"], value="", key="string"), WRITES, "Note a value down"),
    "note_slowly": (sleep, schema(["ms"], ms="number", key="string"), WRITES, "Note down after milliseconds"),
    "note_and_wait": (wait_for, schema(["file"], file="string", key="string"), WRITES, "Note, then wait for a file"),
    "note_flaky": (flaky, schema([], key="string", fails="integer"), WRITES, "Note down, but fail at first"),
    "set": (echo, schema(["value"], value="", key="string"), AGAIN, "Set a value; again is the same"),
    "deploy": (echo, schema(["value"], value="", key="string"), DESTROYS, SAYS),
    "create_entities": (entities, ENTITIES, WRITES, "Create entities in memory"),
}


def listed() -> list[dict[str, Any]]:
    return [
        {"name": name, "description": says, "inputSchema": takes, "annotations": hints}
        for name, (_, takes, hints, says) in TOOLS.items()
    ]


def call(request: Any, name: str, arguments: dict[str, Any]) -> None:
    write("begin", name, arguments, request)
    try:
        value = TOOLS[name][0](arguments)
    except ValueError as error:
        result = {"content": [{"type": "text", "text": str(error)}], "isError": True}
    else:
        result = {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": value}
    write("end", name, arguments, request)
    send({"id": request, "result": result})


def serve() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        params, request = message.get("params", {}), message.get("id")
        match message.get("method"):
            case "initialize":
                about = {"name": "journal", "version": "1"}
                version = params["protocolVersion"]
                send(
                    {
                        "id": request,
                        "result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about},
                    }
                )
            case "tools/list":
                send({"id": request, "result": {"tools": listed()}})
            case "tools/call":
                threading.Thread(target=call, args=(request, params["name"], params.get("arguments", {}))).start()
            case "notifications/cancelled":
                write("cancelled", "", params, params["requestId"])
            case "ping":
                send({"id": request, "result": {}})
            case _ if request is not None:
                send({"id": request, "error": {"code": -32601, "message": "Method not found"}})
            case _:
                pass


if __name__ == "__main__":
    serve()
