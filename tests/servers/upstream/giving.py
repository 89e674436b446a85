"""A tool server with one tool, whose results a test writes into a folder: `python giving.py FOLDER`.

If the folder has `tools.json`, these are its tools at each moment, two a page, and each answers with its name.
"""

import json
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1])
TOOLS = FOLDER / "tools.json"
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
GIVE = {"name": "give", "description": "Give it", "inputSchema": NAME, "annotations": {"readOnlyHint": True}}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            about = {"name": "giving", "version": "1"}
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list":
            return page(int(params.get("cursor") or 0)) if TOOLS.exists() else {"tools": [GIVE]}
        case "tools/call" if TOOLS.exists():
            return {"content": [{"type": "text", "text": params["name"]}]}
        case "tools/call":
            return json.loads((FOLDER / f"{params['arguments']['name']}.json").read_text())
        case _:
            return {}


def page(start: int) -> dict[str, Any]:
    tools: list[dict[str, Any]] = json.loads(TOOLS.read_text())
    next = {"nextCursor": str(start + 2)} if start + 2 < len(tools) else {}
    return {"tools": tools[start : start + 2], **next}


if __name__ == "__main__":
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            result = answer(message["method"], message.get("params", {}))
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
