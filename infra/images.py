"""The container images of functions. They contain few files, so that other changes do not build a new image."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from aws_cdk import aws_ecr_assets as images
from aws_cdk import aws_lambda as lambda_

from infra.stage import Stage

ROOT = Path(__file__).resolve().parents[1]
PLATFORMS = {"x86_64": images.Platform.LINUX_AMD64, "arm64": images.Platform.LINUX_ARM64}
RUNS = (
    *("functions/run_python", "functions/run_deno", "functions/extract"),
    *("requirements/runner.lock", "requirements/deno.lock", "requirements/readers.lock"),
)
INFERENCE = ("functions/inference", "requirements/inference.lock")
MODELS = (
    "shared/loci/*",
    *("!shared/loci/__init__.py", "!shared/loci/core", "!shared/loci/model_store"),
    *("!shared/loci/adapters/__init__.py", "!shared/loci/adapters/local/__init__.py"),
    "!shared/loci/adapters/local/inference",
    *("!shared/loci/runtimes/__init__.py", "!shared/loci/runtimes/local.py", "!shared/loci/runtimes/providers.py"),
    *("!shared/loci/search/__init__.py", "!shared/loci/search/inference.py", "!shared/loci/search/late_interaction.py"),
    "**/__pycache__",
)
"""Of the package `loci`, only what pulls and runs models."""
PROGRAMS = ("shared/loci/*", "!shared/loci/__init__.py", "!shared/loci/sandbox", "**/__pycache__")
"""Of the package `loci`, only the part that runs behind a wall."""
READERS = (
    "!shared/loci/files",
    "shared/loci/files/*",
    "!shared/loci/files/__init__.py",
    "!shared/loci/files/extract",
    "**/__pycache__",
)
"""Besides that, what reads files."""


def image(
    stage: Stage, name: str, *, without: Sequence[str], arguments: Mapping[str, str] | None = None
) -> lambda_.AssetImageCode:
    """Return the image of `functions/<name>`, without the files in `without` and those in `.dockerignore`."""
    return lambda_.AssetImageCode(
        str(ROOT),
        file=f"functions/{name}/Dockerfile",
        platform=PLATFORMS[stage.architecture],
        build_args=dict(arguments or {}),
        asset_name=f"{stage.prefix}-{name}",
        exclude=list(without),
    )
