"""Renew the hash-pinned locks. They record no download address. Run by `make lock`."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
EVERYWHERE = ("--universal", "--python-version", "3.11")
# Lambda's own interpreter, which is also the only one that LocalStack starts on.
ON_LAMBDA = ("--python-version", "3.13", "--python-platform", "x86_64-manylinux_2_28")
LOCKS = {
    "laptop.lock": ["pyproject.toml", "--extra", "sandbox", "--group", "build", *EVERYWHERE],
    "dev.lock": [
        *("pyproject.toml", "--extra", "aws", "--extra", "otel", "--extra", "sandbox"),
        *("--group", "build", "--group", "dev", "--group", "infra", *EVERYWHERE),
        *("--constraint", "requirements/laptop.lock"),
    ],
    "uv.lock": ["--group", "uv", *EVERYWHERE, "--constraint", "requirements/dev.lock"],
    # What code in the Python runner may import, on every platform: in an environment of its own.
    "runner.lock": ["--group", "runner", *EVERYWHERE, "--constraint", "requirements/laptop.lock"],
    # What lies in the functions' layer.
    "functions.lock": ["--group", "functions", *ON_LAMBDA, "--constraint", "requirements/dev.lock"],
    # What the container image of the inference function has.
    "inference.lock": ["functions/inference/requirements.in", *ON_LAMBDA, "--constraint", "requirements/dev.lock"],
    # What the container image of the function that reads files has, in an environment of its own.
    "readers.lock": [
        *("functions/extract/requirements.in", "--group", "readers"),
        *(*ON_LAMBDA, "--constraint", "requirements/runner.lock"),
    ],
    # What the container image of the function that runs TypeScript has.
    "deno.lock": ["functions/run_deno/requirements.in", *ON_LAMBDA, "--constraint", "requirements/dev.lock"],
    "audit.lock": ["--group", "audit", *EVERYWHERE],
    "zensical.lock": ["--group", "zensical", *EVERYWHERE],
    # LocalStack binds older versions than ours, and Lambda's runtime has next to nothing: each has its environment.
    "localstack.lock": ["tests/servers/localstack/requirements.in", *ON_LAMBDA],
    "lambda-runtime.lock": ["tests/servers/localstack/lambda-runtime.in", *ON_LAMBDA],
    # Each library that `make clients` tries has its environment: their pins do not fit together, nor with ours.
    **{
        f"clients/{wanted.stem}.lock": [wanted.relative_to(HERE.parent), *EVERYWHERE]
        for wanted in sorted((HERE.parent / "tests" / "clients").glob("*.in"))
    },
}
OPTIONS = ["--generate-hashes", "--no-header", "--no-annotate", "--quiet"]


def main() -> None:
    """Write each lock in turn; a later one is bound to an earlier one's versions."""
    uv = Path(sys.executable).with_name("uv")
    for name, what in LOCKS.items():
        command = [uv, "pip", "compile", *what, *OPTIONS, *sys.argv[1:], "--output-file", HERE / name]
        subprocess.run(command, check=True, cwd=HERE.parent)  # noqa: S603


if __name__ == "__main__":
    main()
