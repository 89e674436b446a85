"""Two owners: one attacks the sandboxes with everything at once, the other makes ordinary calls."""

import http.client
import itertools
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loci.compose import build_app
from loci.core.identity import Owner
from loci.core.settings import load_settings
from loci.sandbox.wall import kernel
from tests.attack.sandbox.deno.on_limits import MEMORY, OUTPUT, TIME
from tests.attack.sandbox.deno.on_meters import METERS
from tests.attack.sandbox.python.on_the_kernel import EXHAUSTION
from tests.attack.sandbox.python.on_the_meters import MAPPING, UNMETERED
from tests.attack.sandbox.python.on_the_supervisor import FRAMES, LEFT_BEHIND, PROTOCOL
from tests.attack.sandbox.python.test_after_answer import GOES_ON, NEVER
from tests.stress.clients import at
from tests.support.processes import descendants
from tests.support.serving import serving

ANN, BOB = Owner("stress", "ann"), Owner("stress", "bob")
SECONDS, CALLS = 30.0, 100
ATTACKERS = 24
"""Threads of the hostile owner: more than may run at once."""
ONE_SECONDS = 8
"""The longest run of an attack alone: some never end by themselves."""
EACH = 12
"""Calls of the other owner during each attack alone."""
NEW = 10
"""Of so many calls of the other owner, one makes an executor."""
USUAL = 0.95
"""The part of the quiet calls that took no longer than what is usual."""
GOES_ON_THERE = "python, after: "
"""Threads and timers of code that is not over, and what they hold: the owner's own, as variables are."""
MB = 1 << 20
HELD = 16 * MB
SETTLED_SECONDS, LOOK_SECONDS = 10.0, 0.5
TAKEN = 1500
"""Megabytes that an attack takes if nobody stops it: more than is allowed."""
PRELUDE = Path(__file__).parents[1] / "attack" / "sandbox" / "python" / "prelude.txt"


@dataclass(slots=True)
class Calls:
    """What one owner has seen."""

    seconds: list[float] = field(default_factory=list[float])
    codes: Counter[str] = field(default_factory=Counter[str])


class Person:
    """Calls tools of a server, from one thread."""

    def __init__(self, port: int, key: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=180)
        self._headers = {
            "Authorization": f"Bearer {key}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2025-11-25",
        }

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        params = {"name": tool, "arguments": arguments}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        try:
            text = self._sent(body)
        except (BrokenPipeError, http.client.RemoteDisconnected):  # it was closed for being idle
            self._connection.close()
            text = self._sent(body)
        if not text.startswith("{"):
            text = next(line for line in reversed(text.splitlines()) if line.startswith("data:")).removeprefix("data:")
        result = json.loads(text)["result"]
        if not result["isError"]:
            return result["structuredContent"]
        said = {"error": result["_meta"]["loci/error"]}
        assert said["error"]["code"] != "TOOL_ERROR", said  # what is called wrongly is no attack
        return said

    def _sent(self, body: str) -> str:
        self._connection.request("POST", "/mcp", body, self._headers)
        return self._connection.getresponse().read().decode()

    def executor(self) -> str:
        return str(self.call("create_memory_code_runner")["result"]["executor_id"])


Attack = Callable[[Person, str], object]
"""An attack by a person, who has an executor."""


def attacks(folder: Path) -> dict[str, Attack]:
    """All that take something, or tell something false."""
    known = (str(folder), 1, 1, 1, 1, "abstract", "CANARY", kernel.numbers())
    before = PRELUDE.read_text("utf-8").replace("@@WORLD@@", repr(known))
    python = {
        **{f"python, meters: {name}": MAPPING.replace("@@MB@@", str(TAKEN)) + code for name, code in UNMETERED.items()},
        **{f"python, exhaustion: {name}": code for name, code in EXHAUSTION.items()},
        **{f"python, frames: {name}": FRAMES + code for name, code in PROTOCOL.items()},
        **{f"python, saved: {name}": code for name, code in LEFT_BEHIND.items()},
        **{f"python, after: {name}": code for name, code in {**GOES_ON, **NEVER}.items()},
    }
    typescript = {f"typescript: {one.name}": one for one in (*MEMORY, *METERS, *TIME, *OUTPUT) if not one.tools}

    def in_python(code: str) -> Attack:
        return lambda person, executor: person.call("run_memory_code", executor_id=executor, code=before + code)

    def in_typescript(code: str, timeout: int) -> Attack:
        config = {"timeout": timeout}
        return lambda person, _: person.call("pml_execute_code", code=code, sandbox_config=config)

    def in_new(person: Person, _: str) -> object:
        return person.call("run_memory_code", executor_id=person.executor(), code="1")

    return {
        **{name: in_python(code) for name, code in python.items()},
        **{name: in_typescript(one.code, one.timeout_ms) for name, one in typescript.items()},
        "python, executors: a new one for each run": in_new,
    }


class Honest:
    """The owner who makes ordinary calls."""

    def __init__(self, person: Person) -> None:
        self._person = person
        self._executor = person.executor()
        self._numbers = itertools.count(1)

    def calls(self, count: int) -> Calls:
        seen = Calls()
        for _ in range(count):
            number = next(self._numbers)
            began = time.monotonic()
            if number % NEW == 0:
                said = self._person.call("run_memory_code", executor_id=self._person.executor(), code="1")
            elif number % 2:
                code = f"x = [i * i for i in range({number} + 1000)]\nsum(x)"
                said = self._person.call("run_memory_code", executor_id=self._executor, code=code)
            else:
                code = f"const x = Array.from({{length: {number} + 1000}}, (_, i) => i * i); x.length"
                said = self._person.call("pml_execute_code", code=code)
            seen.seconds.append(time.monotonic() - began)
            seen.codes[said["error"]["code"] if "error" in said else "ok"] += 1
        return seen


class Hostile:
    """The other owner, at everything at once until they are told to stop."""

    def __init__(self, people: list[Person], chosen: dict[str, Attack], executor: str = "") -> None:
        self._people = people
        self._attacks = chosen
        self._executor = executor
        """The only one that is used; without it, each of the people now and then makes a new one."""
        self._over = threading.Event()
        self.done: Counter[str] = Counter()

    def __enter__(self) -> "Hostile":
        self._threads = ThreadPoolExecutor(len(self._people))
        dice = map(random.Random, itertools.count())
        self._begun = [self._threads.submit(self._attack, person, next(dice)) for person in self._people]
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._threads.shutdown(wait=True)
        for one in self._begun:
            one.result()

    def _attack(self, person: Person, dice: random.Random) -> None:
        names, id = [*self._attacks], self._executor
        while not self._over.is_set():
            with suppress(KeyError, OSError, http.client.HTTPException, StopIteration, ValueError):  # refused
                id = id if self._executor or (id and dice.random() < 0.9) else person.executor()
                name = dice.choice(names)
                self._attacks[name](person, id)
                self.done[name] += 1


def two_owners(folder: Path, *, one_by_one: bool, only: str = "") -> bool:
    """Print what the honest owner sees; True if that is within the budget."""
    folder.mkdir()
    app = build_app(load_settings({"data": folder / "data", "log_level": "ERROR"}))
    keys = {owner: app.api_keys.create(owner, owner.subject)[1] for owner in (ANN, BOB)}
    app.close()
    more = {"LOCI_RUNNER_SECONDS": str(ONE_SECONDS)} if one_by_one else {}
    with serving(folder / "data", LOCI_AUTH="required", LOCI_CODE_CACHE="false", **more) as server:
        port = int(server.url.rpartition(":")[2])
        honest, attacks_ = Honest(Person(port, keys[BOB])), attacks(folder)
        honest.calls(20)
        usual = honest.calls(CALLS)
        print(f"alone: {_told(usual)}", flush=True)
        if one_by_one:
            attacker = Person(port, keys[ANN])
            chosen = [name for name in attacks_ if only in name]
            each = [_alone(name, attacks_[name], attacker, honest, usual, server.process.pid) for name in chosen]
            slowest = max(ratio for ratio, _, _ in each)
            held = max((held for _, held, _ in each if held is not None), default=0)
            kept = slowest <= 3 and held <= HELD and all(is_well for _, _, is_well in each)
            told = f"slowest {slowest:.1f} x, most held {held / MB:.0f} MB"
            print(f"  0 errors, slowest <= 3 x during each, held after it <= 16 MB: {_kept(kept)} ({told})")
            return kept
        with Hostile([Person(port, keys[ANN]) for _ in range(ATTACKERS)], attacks_) as hostile:
            until, during = time.monotonic() + SECONDS, honest.calls(CALLS)
            while time.monotonic() < until:
                more = honest.calls(1)
                during.seconds += more.seconds
                during.codes += more.codes
        after = honest.calls(CALLS)
    ratio = at(during.seconds, 0.95) / at(usual.seconds, 0.95)
    print(f"beside {hostile.done.total()} attacks of {len(hostile.done)} kinds: {_told(during)}")
    print(f"after: {_told(after)}")
    kept = ratio <= 3 and set(during.codes) | set(after.codes) == {"ok"}
    print(f"  0 errors, p95 <= 3 x: {_kept(kept)} ({ratio:.1f} x)", flush=True)
    return kept


def _alone(
    name: str, attack: Attack, attacker: Person, honest: Honest, usual: Calls, server: int
) -> tuple[float, int | None, bool]:
    """An attack again and again: the honest owner's slowest call, the bytes that stay, and if there was no error.

    The call is measured by what 95 of 100 quiet ones do not exceed. No bytes are told of code that goes on: what it
    holds is its owner's own.
    """
    executor = attacker.executor()
    attacker.call("run_memory_code", executor_id=executor, code="1")
    quiet = at([*usual.seconds, *honest.calls(EACH).seconds], USUAL)  # the machine may be busy with something else
    before = settled(server, executor)
    with Hostile([attacker], {name: attack}, executor) as hostile:
        seen = honest.calls(EACH)
    held = None if name.startswith(GOES_ON_THERE) else settled(server, executor, before + HELD) - before
    ratio = at(seen.seconds, 1) / quiet
    told = "" if held is None else f" {held / MB:+.0f} MB"
    print(f"  {name}: {ratio:.1f} x,{told} after {hostile.done.total()}; {_told(seen)}", flush=True)
    return ratio, held, set(seen.codes) == {"ok"}


def settled(server: int, executor: str, enough: int = 0) -> int:
    """The memory of the server and of this executor, once it no longer changes or is little enough.

    Other processes come and go: spares are started, and what is idle is put away.
    """
    until, last = time.monotonic() + SETTLED_SECONDS, 0
    while time.monotonic() < until:
        now = sum(map(_memory, (server, *(one for one in descendants(server) if executor in _folder(one)))))
        if now <= enough or abs(now - last) < MB:
            return now
        last = now
        time.sleep(LOOK_SECONDS)
    return last


def _folder(process: int) -> str:
    with suppress(OSError):
        return str(Path(f"/proc/{process}/cwd").readlink())
    return ""


def _memory(process: int) -> int:
    """The bytes that nobody shares; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text("ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(("Private_", "Swap:")))


def _kept(is_kept: bool) -> str:
    return "ok" if is_kept else "BROKEN"


def _told(seen: Calls) -> str:
    p50, p95, slowest = (f"{at(seen.seconds, part) * 1000:.0f} ms" for part in (0.5, 0.95, 1))
    return f"p50 {p50}, p95 {p95}, slowest {slowest}; {dict(seen.codes)}"
