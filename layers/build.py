"""Build the two Lambda layers, without Docker: `python -m layers.build [--arch arm64]`.

`dependencies` changes with the lock, `product` with every change of Loci: two layers, so that a deploy uploads little.
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
# Amazon Linux 2023 has glibc 2.34: wheels for an older one run, too.
GLIBC = ("manylinux_2_34", "manylinux_2_28", "manylinux_2_17", "manylinux2014")
# Those that a function calls, and those that boto3 gets credentials from.
SERVICES = frozenset({"bedrock-runtime", "dynamodb", "lambda", "s3", "secretsmanager"} | {"sso", "sso-oidc", "sts"})
LARGEST = 135_000_000  # of the 250 MB that Lambda allows: the rest is for what comes


@dataclass(frozen=True, slots=True)
class Layers:
    """Two folders, each with the `python/` that Lambda puts on the path."""

    dependencies: Path
    product: Path

    def sizes(self) -> dict[str, int]:
        """Bytes of each, as Lambda counts them: unzipped."""
        return {"dependencies": _size(self.dependencies), "product": _size(self.product)}


def build(arch: Arch, into: Path = BUILD) -> Layers:
    """Both layers, made anew only where what they are made of has changed."""
    dependencies, product = into / f"dependencies-{arch}", into / "product"
    into.mkdir(parents=True, exist_ok=True)
    with (into / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of two builds the second finds what the first has made
        _fresh(dependencies, [LOCK], lambda folder: _install(arch, folder))
        _fresh(product, [ROOT / "pyproject.toml", *sorted((ROOT / "shared").rglob("*.*"))], _unpack_wheel)
    return Layers(dependencies, product)


def _install(arch: Arch, folder: Path) -> None:
    platforms = [f"--platform={glibc}_{MACHINES[arch]}" for glibc in GLIBC]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    wanted = ["--require-hashes", "--no-deps", "--only-binary=:all:", f"--python-version={interpreter.VERSION}"]
    # The lock is of that version; pip would ask this interpreter.
    wanted += ["--implementation=cp", "--ignore-requires-python", *platforms, f"--target={folder}"]
    _run([*pip, *wanted, "-r", str(LOCK)])
    _prune(folder)


def _prune(folder: Path) -> None:
    """Take out what no function uses: tests, gRPC, and the descriptions of four hundred other AWS services."""
    unwanted = ("bin", "grpc", "grpcio-*", "google", "opensearch", "opensearch_protobufs-*", "protobuf-*")
    unwanted += ("numpy/f2py", "numpy/**/tests", "networkx/**/tests")
    for unused in (found for pattern in unwanted for found in folder.glob(pattern)):
        shutil.rmtree(unused, ignore_errors=True)
    for service in (folder / "botocore" / "data").iterdir():
        if service.is_dir() and service.name not in SERVICES:
            shutil.rmtree(service)


def _unpack_wheel(folder: Path) -> None:
    """The package with its metadata, in which it finds its own version."""
    wheels = folder.parent / "wheel"
    _run([sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(wheels)])
    [wheel] = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    shutil.rmtree(wheels)


def _fresh(layer: Path, made_of: Iterable[Path], fill: Callable[[Path], None]) -> None:
    """Fill the layer beside its place and swap it in, unless it is there and made of the same."""
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
    """Lambda cannot write bytecode into a layer, so without it each cold start compiles all that it imports."""
    if python := interpreter.find():
        # Unchecked: the zip of a layer does not keep the times that Python would compare.
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
        print(f"No Python {interpreter.VERSION} here, so without bytecode: cold starts take 0.8 s longer")
    sizes = build(arguments.arch).sizes()
    for name, size in sizes.items():
        print(f"{name:<13} {size / 1e6:6.1f} MB")
    print(f"{'both':<13} {sum(sizes.values()) / 1e6:6.1f} MB of {LARGEST / 1e6:.0f} MB")
    if sum(sizes.values()) > LARGEST:
        sys.exit("The layers are too large: take a dependency out of the group `functions`")


if __name__ == "__main__":
    main()
