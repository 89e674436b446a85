"""Build the two Lambda layers, without Docker: `python -m layers.build [--arch arm64]`.

`dependencies` changes with the lock, `product` with every change of Loci. With two layers a deploy uploads little.
"""

import argparse
import fcntl
import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable
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
# The services that a function calls, and those from which boto3 gets credentials.
SERVICES = frozenset({"bedrock-runtime", "dynamodb", "lambda", "s3", "secretsmanager"} | {"sso", "sso-oidc", "sts"})
LARGEST = 135_000_000  # Lambda allows 250 MB: the rest is for later versions


@dataclass(frozen=True, slots=True)
class Layers:
    """Two folders, each with a folder `python/`, which Lambda puts on the path."""

    dependencies: Path
    product: Path

    def sizes(self) -> dict[str, int]:
        """Return the bytes of each, unzipped, as Lambda counts them."""
        return {"dependencies": _size(self.dependencies), "product": _size(self.product)}


def build(arch: Arch, into: Path = BUILD) -> Layers:
    """Return both layers. Build a layer only if its sources have changed."""
    dependencies, product = into / f"dependencies-{arch}", into / "product"
    into.mkdir(parents=True, exist_ok=True)
    with (into / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the second of two builds finds the result of the first
        _fresh(dependencies, [LOCK], lambda folder: _install(arch, folder))
        _fresh(product, [ROOT / "pyproject.toml", *sorted((ROOT / "shared").rglob("*.*"))], _unpack_wheel)
    return Layers(dependencies, product)


def _install(arch: Arch, folder: Path) -> None:
    platforms = [f"--platform={glibc}_{MACHINES[arch]}" for glibc in GLIBC]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    wanted = ["--require-hashes", "--no-deps", "--only-binary=:all:", f"--python-version={interpreter.VERSION}"]
    # The lock is for that version; pip would check this interpreter.
    wanted += ["--implementation=cp", "--ignore-requires-python", *platforms, f"--target={folder}"]
    _run([*pip, *wanted, "-r", str(LOCK)])
    _prune(folder)


def _prune(folder: Path) -> None:
    """Remove what no function uses: tests, gRPC, and the descriptions of four hundred other AWS services."""
    unwanted = ("bin", "grpc", "grpcio-*", "google", "opensearch", "opensearch_protobufs-*", "protobuf-*")
    unwanted += ("numpy/f2py", "numpy/**/tests", "networkx/**/tests")
    for unused in (found for pattern in unwanted for found in folder.glob(pattern)):
        shutil.rmtree(unused, ignore_errors=True)
    for service in (folder / "botocore" / "data").iterdir():
        if service.is_dir() and service.name not in SERVICES:
            shutil.rmtree(service)


def _unpack_wheel(folder: Path) -> None:
    """Unpack the package with its metadata, where it finds its own version."""
    wheels = folder.parent / "wheel"
    _run([sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(wheels)])
    [wheel] = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    shutil.rmtree(wheels)


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


def _run(command: list[str]) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        sys.exit(f"{' '.join(command[:4])} … failed:\n{done.stdout}{done.stderr}")


def main() -> None:
    """Build, and print the sizes."""
    parser = argparse.ArgumentParser(prog="python -m layers.build", description="Build the two Lambda layers.")
    parser.add_argument("--arch", choices=get_args(Arch), default="x86_64", help="the functions' processor")
    arguments = parser.parse_args()
    if interpreter.find() is None:
        print(
            f"There is no Python {interpreter.VERSION}, so the layers have no bytecode: cold starts take 0.8 s longer"
        )
    sizes = build(arguments.arch).sizes()
    for name, size in sizes.items():
        print(f"{name:<13} {size / 1e6:6.1f} MB")
    print(f"{'both':<13} {sum(sizes.values()) / 1e6:6.1f} MB of {LARGEST / 1e6:.0f} MB")
    if sum(sizes.values()) > LARGEST:
        sys.exit("The layers are too large: remove a dependency from the group `functions`")


if __name__ == "__main__":
    main()
