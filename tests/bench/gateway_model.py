"""The model in the gateway: what a function with the three layers pays for its first question, and for later ones."""

import json
import platform
import subprocess
import sys
from pathlib import Path
from statistics import median

from layers import interpreter
from layers.build import build
from tests.bench.figures import Figure, milliseconds
from tests.bench.servers import Servers
from tests.support.serving import clean_environment

MODEL = "all-MiniLM-L6-v2"
STARTS = 5
PROGRAM = """
import json, os, sys, time
os.sched_setaffinity(0, {0})  # with 1769 MB a function has one processor
sys.path[:0] = sys.argv[1:]
from loci.core.settings import load_settings
from loci.runtimes.local import local_inference
import numpy
before = time.process_time()
embedder, _ = local_inference(load_settings())
embedder.query("How long are backups kept?")
first = time.process_time() - before

def seconds(work):
    began = time.process_time()
    work()
    return time.process_time() - began

passage = "Copies of the data are kept in another region and deleted after ninety days. " * 10
questions = [seconds(lambda: embedder.query("When does the museum open?")) for _ in range(20)]
passages = [seconds(lambda: embedder.passages([passage] * 10)) for _ in range(5)]
print(json.dumps({"first": first, "question": min(questions), "passages": min(passages)}))
"""


def gateway_model(servers: Servers) -> list[Figure]:
    """Measure processes that begin with nothing, on Lambda's interpreter if this machine has it."""
    machine = "arm64" if platform.machine() in ("aarch64", "arm64") else "x86_64"
    layers = build(machine, MODEL)
    assert layers.model
    folders = [str(folder / "python") for folder in (layers.dependencies, layers.product, layers.model)]
    runs = [_run(servers.scratch, layers.model / "models", folders) for _ in range(STARTS)]
    sizes = ", ".join(f"{name} {size / 1e6:.0f} MB" for name, size in layers.sizes().items())
    names = {"first": "its first question, CPU", "question": "a later question, CPU", "passages": "ten passages, CPU"}
    return [
        Figure(
            f"model in the gateway: {name}",
            budget="",
            measured=sizes if key == "first" else "",
            verdict="no budget",
            loci=milliseconds(median(run[key] for run in runs)),
            numbers={"seconds": [run[key] for run in runs]},
        )
        for key, name in names.items()
    ]


def _run(scratch: Path, models: Path, folders: list[str]) -> dict[str, float]:
    python = str(interpreter.find() or sys.executable)
    environment = clean_environment(scratch, LOCI_MODELS=str(models), LOCI_EMBEDDER=MODEL)
    done = subprocess.run(
        [python, "-IBS", "-c", PROGRAM, *folders], env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)
