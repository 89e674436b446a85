"""A Lambda sandbox in one process: `python -m tests.support.lambda_worker path/to/handler.py:lambda_handler`.

It reads one event a line and writes one answer a line, in JSON. Its first line says that the handler is imported.
"""

import importlib
import importlib.util
import json
import os
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

Handler = Callable[[dict[str, Any], "Context"], object]


@dataclass(frozen=True)
class Context:
    """The object that Lambda hands to a handler beside the event."""

    function_name: str
    deadline: float
    aws_request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    function_version: str = "$LATEST"
    memory_limit_in_mb: int = 1024
    log_group_name: str = "/aws/lambda/local"
    log_stream_name: str = "local"
    identity: None = None
    client_context: None = None

    @property
    def invoked_function_arn(self) -> str:
        return f"arn:aws:lambda:local:000000000000:function:{self.function_name}"

    def get_remaining_time_in_millis(self) -> int:
        return max(0, round((self.deadline - time.monotonic()) * 1000))


def load(handler: str) -> Handler:
    """The function that `path/to/file.py:name` or `package.module:name` names."""
    place, _, name = handler.rpartition(":")
    module = _module_at(Path(place).resolve()) if place.endswith(".py") else importlib.import_module(place)
    return getattr(module, name)


def invoke(handler: Handler, event: dict[str, Any], seconds: float) -> object:
    """The handler's answer, or its error in the form that Lambda reports it."""
    name = os.environ.get("AWS_LAMBDA_FUNCTION_NAME", "local")
    try:
        answer = handler(event, Context(name, time.monotonic() + seconds))
        json.dumps(answer)
    except Exception as error:  # noqa: BLE001 (Lambda catches everything, too)
        sys.excepthook(type(error), error, error.__traceback__)
        return {"errorType": type(error).__name__, "errorMessage": str(error)}
    return answer


def work(handler: Handler, events: TextIO, answers: TextIO, seconds: float) -> None:
    """Answer events one after another, until there are no more."""
    for line in events:
        print(json.dumps(invoke(handler, json.loads(line), seconds)), file=answers, flush=True)


def _module_at(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported")
    sys.path.insert(0, str(path.parent))  # where Lambda puts the code
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _private_pipes() -> tuple[TextIO, TextIO]:
    """Standard input and output for the events alone: a handler, or a child of it, prints to standard error."""
    events, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return events, answers


def main(handler: str, seconds: str = "29") -> None:
    """Serve one handler until standard input ends."""
    events, answers = _private_pipes()
    function = load(handler)
    print(json.dumps("ready"), file=answers, flush=True)
    work(function, events, answers, float(seconds))


if __name__ == "__main__":
    main(*sys.argv[1:])
