"""A tool server with one tool, whose results a test writes into a folder: `python giving.py FOLDER`."""

import json
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1])
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
GIVE = {"name": "give", "description": "Give it", "inputSchema": NAME, "annotations": {"readOnlyHint": True}}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            about = {"name": "giving", "version": "1"}
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list":
            return {"tools": [GIVE]}
        case "tools/call":
            return json.loads((FOLDER / f"{params['arguments']['name']}.json").read_text())
        case _:
            return {}


if __name__ == "__main__":
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            result = answer(message["method"], message.get("params", {}))
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
