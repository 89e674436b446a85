"""Build an image as a deployment does, and have it answer: `python -m tests.infra.built_image run_python`.

It needs Docker, or the program in CDK_DOCKER. The image runs as in Lambda: on a file system that cannot be written but
for /tmp, as a user without rights, with the emulator of Lambda's runtime that AWS's base images have.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from loci.sandbox.lambda_host.function_answer import unpacked_answer
from loci.sandbox.supervisor.limits import Bounds
from tests.infra.images import Image, images

DOCKER = os.environ.get("CDK_DOCKER", "docker")
ASSEMBLY = Path(__file__).resolve().parents[2] / "build" / "cdk"
AS_IN_LAMBDA = ("--read-only", "--tmpfs", "/tmp:exec,size=2g", "--user", "993:990", "--memory", "3008m")  # noqa: S108
INVOKE = "http://{}/2015-03-31/functions/function/invocations"
READY_SECONDS, ANSWER_SECONDS = 60.0, 300.0


@dataclass(frozen=True, slots=True)
class Question:
    """An event for a function, and whether its answer is right."""

    event: dict[str, Any]
    is_right: Callable[[Any], bool]


QUESTIONS = {
    "inference": Question(
        {"ask": "query", "text": "What is a library?"}, lambda answer: bool(answer["answer"]["vector"])
    ),
    "run_python": Question(
        {
            "executor": "e",
            "expected": None,
            "process": "1",
            "state": None,
            "save": {"puts": [], "files": "", "most": 1 << 20},
            "bounds": asdict(Bounds(seconds=60)),
            "code": "import pandas, sklearn.ensemble, xgboost\nprint(2 + 2)",
        },
        lambda answer: unpacked_answer(answer)["run"].get("stdout") == "4\n",
    ),
    "extract": Question(
        # There is no such object: the function says so, and its parsers are proven when the image is built.
        {"get": "http://127.0.0.1:9/", "largest_file": 1},
        lambda answer: "could not be copied" in unpacked_answer(answer).get("failed", ""),
    ),
    "run_deno": Question(
        {
            "order": {
                "code": "2 + 2",
                "context": {},
                "clients": [],
                "limits": {"timeout_ms": 60_000, "memory_mb": 512},
            }
        },
        lambda answer: json.loads(unpacked_answer(answer).get("said", "{}")).get("value") == 4,
    ),
}


def explained(answer: Any) -> str:
    """The answer, as people read it."""
    try:
        return json.dumps(unpacked_answer(answer), indent=2)
    except ValueError:
        return json.dumps(answer, indent=2)


def build(image: Image) -> str:
    """Build it from the folder that the CDK has staged, with the CDK's own options, and return its tag."""
    tag = f"loci-{image.name}:built"
    arguments = [f"--build-arg={name}={value}" for name, value in image.source.get("dockerBuildArgs", {}).items()]
    options = ["--tag", tag, *arguments, "--file", image.source["dockerFile"], "--platform", image.source["platform"]]
    # Lambda takes no list of manifests, which Docker would make of an image and its attestation.
    environment = {**os.environ, "BUILDX_NO_DEFAULT_ATTESTATIONS": "1"}
    subprocess.run([DOCKER, "build", *options, "."], cwd=image.context, check=True, env=environment)
    return tag


def ask(tag: str, event: dict[str, Any]) -> Any:
    """Start the image, and return its answer to the event."""
    run = [DOCKER, "run", "--detach", "--publish", "127.0.0.1::8080", *AS_IN_LAMBDA, tag]
    container = subprocess.run(run, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    try:
        port = subprocess.run([DOCKER, "port", container, "8080/tcp"], check=True, stdout=subprocess.PIPE, text=True)
        return post(INVOKE.format(port.stdout.split()[0]), json.dumps(event).encode())
    finally:
        subprocess.run([DOCKER, "logs", container], check=False)
        subprocess.run([DOCKER, "rm", "--force", container], check=False, stdout=subprocess.DEVNULL)


def post(url: str, body: bytes) -> Any:
    """The answer to an event, once the emulator listens."""
    end = time.monotonic() + READY_SECONDS
    while True:
        try:
            with urllib.request.urlopen(url, body, timeout=ANSWER_SECONDS) as answer:
                return json.loads(answer.read())
        except (urllib.error.URLError, ConnectionError) as error:
            if isinstance(error, urllib.error.HTTPError) or time.monotonic() > end:
                raise
            time.sleep(0.5)


def main() -> None:
    """Build one image, and ask it."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.infra.built_image", description="Build an image, and ask it."
    )
    parser.add_argument("name", choices=sorted(QUESTIONS), help="the function that it is for")
    parser.add_argument("--assembly", type=Path, default=ASSEMBLY, help="the folder that the stage was written to")
    arguments = parser.parse_args()
    question = QUESTIONS[arguments.name]
    answer = ask(build(images(arguments.assembly)[arguments.name]), question.event)
    if not question.is_right(answer):
        sys.exit(f"The image {arguments.name} answers wrongly:\n{explained(answer)}")
    print(f"The image {arguments.name} answers")


if __name__ == "__main__":
    main()
