"""Build the Lambda layers, without Docker: `python -m layers.build [--arch arm64] [--model NAME]`.

`dependencies` changes with the lock, `product` with every change of Loci. With two layers a deploy uploads little. A
stage with a model in the gateway has a third: the model, and what runs it.
"""

import argparse
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from layers import interpreter

Arch = Literal["x86_64", "arm64"]

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "layers"
LOCK = ROOT / "requirements" / "functions.lock"
MACHINES: dict[Arch, str] = {"x86_64": "x86_64", "arm64": "aarch64"}
# Amazon Linux 2023 has glibc 2.34, and also runs wheels for older versions.
GLIBC = ("manylinux_2_34", "manylinux_2_28", "manylinux_2_17", "manylinux2014")
INFERENCE_LOCK = ROOT / "requirements" / "inference.lock"
LIST_TOOLS = """
import sys, tempfile
from pathlib import Path
from loci.compose import build_app
from loci.core.settings import load_settings
from loci.mcp.module import tool_families
from loci.mcp.tool_listing import libraries, write_listing
with tempfile.TemporaryDirectory() as data:
    app = build_app(load_settings({"data": data, "mode": "embedded"}))
    tools = [tool.listed for family in tool_families(app) for tool in family.tools]
    write_listing(Path(sys.argv[1]), libraries(), tools)
    app.close()
"""
"""Keeps the listing of the tools beside the modules, so that a cold start loads no tool to list it."""
RUN_MODELS = ("onnxruntime", "tokenizers")
"""The packages that run a model and are not in `dependencies`."""
SERVICES = frozenset(
    {"bedrock-runtime", "dynamodb", "events", "kms", "lambda", "s3", "scheduler", "secretsmanager", "sns", "sqs", "ssm"}
    | {"stepfunctions", "textract"}
    | {"sso", "sso-oidc", "sts"}  # from which boto3 gets credentials
)
"""The services that a function may call. All of them take 1 MB: the four hundred others take 24 MB."""
LARGEST = 137_000_000
"""Of the two layers: a budget of ours, so that the model still fits beside them."""
LAMBDAS_LARGEST = 250_000_000
"""Of all layers of a function with its code, unzipped. It is Lambda's own limit, and cannot be raised."""


@dataclass(frozen=True, slots=True)
class Layers:
    """Folders, each with a folder `python/`, which Lambda puts on the path. That of the model also has `models/`."""

    dependencies: Path
    product: Path
    model: Path | None = None

    def sizes(self) -> dict[str, int]:
        """Return the bytes of each, unzipped, as Lambda counts them."""
        folders = {"dependencies": self.dependencies, "product": self.product, "model": self.model}
        return {name: _size(folder) for name, folder in folders.items() if folder}


def build(arch: Arch, model: str | None = None, into: Path = BUILD) -> Layers:
    """Return the layers; the third only if a model is named. Build a layer only if its sources have changed."""
    dependencies, product = into / f"dependencies-{arch}", into / "product"
    with_model = into / f"{model}-{arch}" if model else None
    into.mkdir(parents=True, exist_ok=True)
    with (into / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the second of two builds finds the result of the first
        _fresh(dependencies, [LOCK], lambda folder: _install(arch, folder))
        _fresh(product, [ROOT / "pyproject.toml", *sorted((ROOT / "shared").rglob("*.*"))], _unpack_wheel)
        if model and with_model:
            store = sorted((ROOT / "shared" / "loci" / "model_store").rglob("*.py"))
            _fresh(with_model, [INFERENCE_LOCK, *store], lambda folder: _add_model(arch, model, folder))
    return Layers(dependencies, product, with_model)


def _install(arch: Arch, folder: Path) -> None:
    _pip(arch, folder, LOCK)
    _prune(folder)


def _pip(arch: Arch, folder: Path, lock: Path) -> None:
    platforms = [f"--platform={glibc}_{MACHINES[arch]}" for glibc in GLIBC]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    wanted = ["--require-hashes", "--no-deps", "--only-binary=:all:", f"--python-version={interpreter.VERSION}"]
    # The lock is for that version; pip would check this interpreter.
    wanted += ["--implementation=cp", "--ignore-requires-python", *platforms, f"--target={folder}"]
    _run([*pip, *wanted, "-r", str(lock)])


def _add_model(arch: Arch, model: str, folder: Path) -> None:
    """Install what runs models, without what only converts them, and pull the model beside it."""
    locked = re.split(r"\n(?=\S)", INFERENCE_LOCK.read_text("utf-8"))
    lock = folder.parent / "model.lock"
    lock.write_text("\n".join(one for one in locked if one.partition("==")[0] in RUN_MODELS) + "\n", "utf-8")
    _pip(arch, folder, lock)
    lock.unlink()
    for unused in ("backend", "datasets", "quantization", "tools", "transformers"):
        shutil.rmtree(folder / "onnxruntime" / unused, ignore_errors=True)
    shutil.rmtree(folder / "bin", ignore_errors=True)
    models = folder.parent / "models"
    command = [sys.executable, "-m", "loci.cli.models", "pull", model]
    _run(command, {**os.environ, "LOCI_MODELS": str(models)})
    shutil.rmtree(models / ".pulling", ignore_errors=True)
    for path in models.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)  # the function runs as another user


def _prune(folder: Path) -> None:
    """Remove what no function uses: tests, C, types, gRPC, routers, and the descriptions of 400 other AWS services."""
    unwanted = ("bin", "grpc", "grpcio-*", "google", "opensearch", "opensearch_protobufs-*", "protobuf-*")
    unwanted += ("numpy/f2py", "aws_lambda_powertools/event_handler", "*/**/tests")
    for unused in [found for pattern in unwanted for found in folder.glob(pattern)]:
        shutil.rmtree(unused, ignore_errors=True)
    for source in [found for kind in ("pyi", "h", "c", "a") for found in folder.rglob(f"*.{kind}")]:
        source.unlink()
    for service in (folder / "botocore" / "data").iterdir():
        if service.is_dir() and service.name not in SERVICES:
            shutil.rmtree(service)


def _unpack_wheel(folder: Path) -> None:
    """Unpack the package with its metadata, where it finds its own version, and list its tools."""
    wheels = folder.parent / "wheel"
    _run([sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(wheels)])
    [wheel] = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    shutil.rmtree(wheels)
    own = {name: value for name, value in os.environ.items() if not name.startswith("LOCI_")}
    _run([sys.executable, "-c", LIST_TOOLS, str(folder / "loci")], own)


def _fresh(layer: Path, made_of: Iterable[Path], fill: Callable[[Path], None]) -> None:
    """Build the layer in a temporary folder and move it into place, unless it was built from the same sources."""
    wanted, stamp = _fingerprint([Path(__file__), *made_of]), layer.with_suffix(".made-of")
    if layer.is_dir() and stamp.is_file() and stamp.read_text() == wanted:
        return
    with tempfile.TemporaryDirectory(dir=layer.parent, prefix=f".{layer.name}-") as scratch:
        (Path(scratch) / "layer" / "python").mkdir(parents=True)
        fill(Path(scratch) / "layer" / "python")
        _compile(Path(scratch) / "layer" / "python")
        stamp.unlink(missing_ok=True)
        if layer.exists():
            layer.rename(Path(scratch) / "old")
        (Path(scratch) / "layer").rename(layer)
    stamp.write_text(wanted)


def _compile(folder: Path) -> None:
    """Compile the modules: Lambda cannot write bytecode into a layer, so each cold start would compile them."""
    if python := interpreter.find():
        # Unchecked, because the zip of a layer does not keep the times that Python would compare.
        _run(
            [
                str(python),
                "-m",
                "compileall",
                "-q",
                "--invalidation-mode=unchecked-hash",
                "-s",
                str(folder),
                str(folder),
            ]
        )


def _fingerprint(files: Iterable[Path]) -> str:
    digest = hashlib.sha256(f"{interpreter.VERSION} {interpreter.find() is not None}\n".encode())
    for file in files:
        if "__pycache__" not in file.parts:
            digest.update(f"{file.relative_to(ROOT)}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _run(command: list[str], environment: Mapping[str, str] | None = None) -> None:
    done = subprocess.run(  # noqa: S603
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(command[:4])} … failed:\n{done.stdout}{done.stderr}")


def main() -> None:
    """Build, and print the sizes."""
    parser = argparse.ArgumentParser(prog="python -m layers.build", description="Build the Lambda layers.")
    parser.add_argument("--arch", choices=get_args(Arch), default="x86_64", help="the functions' processor")
    parser.add_argument("--model", help="add a layer with this model, as a stage with model_in_gateway has it")
    arguments = parser.parse_args()
    if interpreter.find() is None:
        print(
            f"There is no Python {interpreter.VERSION}, so the layers have no bytecode: cold starts take 0.8 s longer"
        )
    sizes = build(arguments.arch, arguments.model).sizes()
    largest = LAMBDAS_LARGEST if arguments.model else LARGEST
    for name, size in sizes.items():
        print(f"{name:<13} {size / 1e6:6.1f} MB")
    print(f"{'together':<13} {sum(sizes.values()) / 1e6:6.1f} MB of {largest / 1e6:.0f} MB")
    if sum(sizes.values()) > largest:
        sys.exit("The layers are too large: remove a dependency from the group `functions`")


if __name__ == "__main__":
    main()
