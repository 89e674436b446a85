"""A warm Lambda function in a process: `python -m tests.bench.worker path/to/handler.py`.

Each line of standard input is a batch, `{"event": …, "calls": n}`. Each line of standard output says what it took:
CPU seconds of the whole process, wall seconds of each call, and the last answer.
"""

import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

Handler = Callable[[dict[str, Any], None], dict[str, Any]]


def main(path: str) -> None:
    out = os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)  # metrics
    handler = _load(path)
    print(json.dumps("ready"), file=out, flush=True)
    os.dup2(nothing, 2)  # logs; what went wrong before was shown
    for line in sys.stdin:
        batch = json.loads(line)
        print(json.dumps(measured(handler, batch["event"], batch["calls"])), file=out, flush=True)


def measured(handler: Handler, event: dict[str, Any], calls: int) -> dict[str, Any]:
    """What so many calls took."""
    walls: list[float] = []
    answer: dict[str, Any] = {}
    began = time.process_time()
    for _ in range(calls):
        start = time.perf_counter()
        answer = handler(event, None)
        walls.append(time.perf_counter() - start)
    return {"cpu_seconds": time.process_time() - began, "walls": walls, "answer": answer}


def _load(path: str) -> Handler:
    spec = importlib.util.spec_from_file_location("handler", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.lambda_handler


if __name__ == "__main__":
    main(sys.argv[1])
