"""Runs `make test` again and again, in random orders of modules: `python -m tests.repeat`. It goes on where it stopped.

The last runs have two busy processes beside them. It ends with 1 if any test failed in any run.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

RUNS, BUSY = 8, 3
ENDED = re.compile(r"^[^\n]*\d+ (?:passed|failed|error)[^\n]* in [0-9.]+s", re.MULTILINE)
FAILED = re.compile(r"^(?:FAILED|ERROR) \S+", re.MULTILINE)


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.repeat", description=__doc__)
    options.add_argument("--runs", type=int, default=RUNS)
    options.add_argument("--busy", type=int, default=BUSY, help="how many of them run beside two busy processes")
    options.add_argument("--log", type=Path, default=Path("build/repeat.jsonl"), help="the runs that have ended")
    given = options.parse_args()
    log: Path = given.log
    log.parent.mkdir(parents=True, exist_ok=True)
    ended = len(log.read_text("utf-8").splitlines()) if log.exists() else 0
    for number in range(ended, given.runs):
        with _busy(2 if number >= given.runs - given.busy else 0):
            told = json.dumps(_run(number))
        print(told, flush=True)
        with log.open("a", encoding="utf-8") as file:
            file.write(told + "\n")
    return int(any(json.loads(line)["failed"] for line in log.read_text("utf-8").splitlines()))


def _run(seed: int) -> dict[str, object]:
    began = time.monotonic()
    command = ["make", "test", f"PYTEST_ADDOPTS=--shuffle={seed} -rfE"]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        code = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=False).returncode
        output.seek(0)
        said = output.read()
    if code:
        sys.stderr.write(said)
    ends = ENDED.findall(said)
    failed = FAILED.findall(said) or ([] if ends and not code else ["make test"])
    return {"seed": seed, "seconds": round(time.monotonic() - began), "end": ends[-1:], "failed": failed}


@contextmanager
def _busy(number: int) -> Generator[None]:
    beside = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for process in beside:
            process.kill()
            process.wait()


if __name__ == "__main__":
    raise SystemExit(main())
