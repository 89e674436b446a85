"""Lives of Loci that end while a workflow runs: `python -m tests.support.workflow_lives`, told one a line, as JSON.

Everything is loaded once; each life is a fork of it, on a data folder of its own, with real tool servers. It ends by
SIGKILL before or after a write, or after some time, or when the workflow has ended. What it said until then is printed.
"""

import json
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from loci.adapters.local import records as records_module
from loci.compose import build_app
from loci.core.identity import LOCAL, LOCAL_CALLER
from loci.core.settings import load_settings
from loci.workflows.run import ENDED
from tests.support.answerers import AGENT

T = TypeVar("T")
PATIENCE = 60.0
JOURNAL = Path(__file__).parents[1] / "servers" / "upstream" / "journal.py"
LOADED = (
    "loci.adapters.tool_servers.upstream",
    "loci.code.api",
    "loci.code.parts",
    "loci.gateway.parts",
    "loci.mcp.tool_catalog",
    "loci.workflows.parts",
    "loci.adapters.tool_servers.connection",
)


class Dying(records_module.SqliteRecords):
    """Counts the writes of workflows, and ends the process at the last one."""

    left: ClassVar[int] = -1
    after: ClassVar[bool] = False
    turn: ClassVar[threading.Lock] = threading.Lock()

    def put(self, *args: Any, **kwargs: Any) -> Any:
        return self._spend(args[1], lambda: super(Dying, self).put(*args, **kwargs))

    def remove(self, *args: Any, **kwargs: Any) -> Any:
        return self._spend(args[1], lambda: super(Dying, self).remove(*args, **kwargs))

    def _spend(self, kind: str, write: Callable[[], T]) -> T:
        if not kind.startswith("workflow"):
            return write()
        with self.turn:
            type(self).left -= 1
            is_last = self.left == 0
            if is_last and not self.after:
                os.kill(os.getpid(), signal.SIGKILL)
            done = write()
            if is_last:
                os.kill(os.getpid(), signal.SIGKILL)
        return done


def live(asked: dict[str, Any], say: Callable[..., None]) -> None:
    """Start the workflow or go on with it, and answer whatever it asks, until it has ended."""
    os.environ["JOURNAL"] = asked["journal"]
    records_module.SqliteRecords = Dying
    Dying.left, Dying.after = asked.get("writes") or -1, bool(asked.get("after"))
    folder = Path(asked["folder"])
    app = build_app(load_settings({"data": folder, "models": folder / "models", "log_level": "ERROR"}))
    if "workflow" not in asked:
        app.tools.add(LOCAL, "journal", {"command": sys.executable, "args": [str(JOURNAL), "${JOURNAL}"]})
        app.tools.ask(LOCAL, "journal")
        return
    kept = app.workflows.parts.runs.all(LOCAL)
    say(left={id: json.loads(run.model_dump_json()) for id, run in kept.items()})
    if kept:
        [id] = kept
        app.workflows.resume(LOCAL)
        answer = app.workflows.status(LOCAL, id)
    else:
        answer = app.workflows.start(LOCAL_CALLER, asked["workflow"], by_layer=asked["by_layer"])
        id = str(answer["workflow_id"])
    while True:
        say(answer=answer)
        if answer["status"] in ENDED:
            break
        if answer["status"] == "paused":
            checkpoint: Any = answer["checkpoint"]
            approved = checkpoint["task"] not in asked["rejected"]
            answer = app.workflows.decide(LOCAL, id, str(answer["checkpoint_id"]), approved=approved, by=AGENT)
        else:
            answer = app.workflows.proceed(LOCAL_CALLER, id)


def lived(asked: dict[str, Any]) -> dict[str, Any]:
    """Live it in a fork."""
    heard, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(heard)
        code = 1

        def say(**what: object) -> None:
            os.write(told, json.dumps(what).encode() + b"\n")

        try:
            live(asked, say)
            code = 0
        except BaseException as error:  # noqa: BLE001 (whatever it is, the test is told)
            say(failed=repr(error))
        finally:
            os._exit(code)
    os.close(told)
    said, until = b"", time.monotonic() + PATIENCE
    end_at = until
    waiting = select.poll()
    waiting.register(heard, select.POLLIN)
    while True:
        if not waiting.poll(max(0.0, end_at - time.monotonic()) * 1000):
            os.kill(child, signal.SIGKILL)
        elif not (more := os.read(heard, 65536)):
            break
        else:
            said += more
            if asked.get("ms") is not None and end_at == until:
                end_at = time.monotonic() + asked["ms"] / 1000
        if time.monotonic() > until + 5:
            break
    os.close(heard)
    _, status = os.waitpid(child, 0)
    lines = [json.loads(line) for line in said.split(b"\n")[:-1]]
    is_late = time.monotonic() > until
    return {"code": os.waitstatus_to_exitcode(status), "said": lines, "hung": is_late}


def main() -> None:
    for name in LOADED:
        import_module(name)
    for line in sys.stdin:
        print(json.dumps(lived(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
