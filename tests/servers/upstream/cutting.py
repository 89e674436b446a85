"""A tool server whose texts end in the middle of an emoji, written as JavaScript does: `python cutting.py`."""

import json
import sys
from typing import Any

HALF = "\ud83d"
GIVEN: dict[str, Any] = {
    "value": {"content": [{"type": "text", "text": json.dumps({"title": HALF, "whole": "😀"})}]},
    "name": {"content": [{"type": "text", "text": json.dumps({HALF: 1})}]},
    "text": {"content": [{"type": "text", "text": f"cut {HALF}"}]},
    "structure": {"content": [], "structuredContent": {"title": HALF}},
}
TOOL = {
    "name": "cut",
    "description": "Cut a text",
    "inputSchema": {"type": "object", "properties": {"how": {"type": "string"}}, "required": ["how"]},
    "annotations": {"readOnlyHint": True},
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            about = {"name": "cutting", "version": "1"}
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            return GIVEN[params["arguments"]["how"]]
        case _:
            return {}


if __name__ == "__main__":
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            given = answer(message["method"], message.get("params", {}))
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": given}), flush=True)
