"""A hook at a prompt: the processor time of the whole command, and the time that a warm server takes to answer it."""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection
from pathlib import Path

from loci.hook import PROMPT, SECONDS
from tests.bench.children import serving
from tests.bench.figures import Figure, ratio_figure, time_figure
from tests.bench.library import DOCUMENTS, server_of, thousand_documents
from tests.bench.servers import Servers

FLOOR = [sys.executable, "-c", "import json, http.client"]
COMMAND = str(Path(sys.executable).with_name("loci"))
ROUNDS, PROMPTS = 25, 60
MOST = 2.0
ASKED = ("Which of the notes about {} say what to do next?", "How do we keep {} from failing again?")
WORDS = ["ferries", "tickets", "deploys", "schemas", "keys", "backups", "indexes", "graphs"]


def hooks(servers: Servers) -> list[Figure]:
    """Among a thousand documents, with the model."""
    server = server_of(servers, thousand_documents(servers))
    prompts = [ASKED[at % 2].format(WORDS[at % len(WORDS)]) + f" ({at})" for at in range(PROMPTS)]
    with serving(server) as served:
        asked = [_answer_seconds(served.port, "/hooks", prompt) for prompt in prompts]
        floor = [_answer_seconds(served.port, "/healthz", prompt) for prompt in prompts]
        environment = {**server.environment(), "LOCI_URL": f"http://127.0.0.1:{served.port}"}
        bare, loci = list[float](), list[float]()
        for prompt in prompts[:ROUNDS]:
            bare.append(_cpu_seconds(FLOOR, prompt, environment))
            loci.append(_cpu_seconds([COMMAND, "hook", PROMPT], prompt, environment))
    return [
        ratio_figure("loci hook user-prompt: processor time", bare, loci, MOST),
        time_figure(
            f"{DOCUMENTS:,} documents, the answer to a hook at a prompt", floor[10:], asked[10:], SECONDS[PROMPT]
        ),
    ]


def _answer_seconds(port: int, path: str, prompt: str) -> float:
    connection, body = HTTPConnection("127.0.0.1", port), json.dumps({"event": PROMPT, "prompt": prompt})
    began = time.perf_counter()
    connection.request("GET" if path == "/healthz" else "POST", path, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    response.read()
    if response.status != 200:
        raise RuntimeError(f"{path} answers {response.status}")
    connection.close()
    return time.perf_counter() - began


def _cpu_seconds(command: Sequence[str], prompt: str, environment: Mapping[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    given = json.dumps({"prompt": prompt}).encode()
    subprocess.run(command, input=given, env=environment, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
