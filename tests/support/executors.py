"""Executors for tests: with all packages or next to none, behind each wall that this machine has."""

import os
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from loci.core.settings import load_settings
from loci.sandbox.supervisor.executor_files import remove
from loci.sandbox.supervisor.executor_process import ExecutorEnded, ExecutorOutput, ExecutorProcess, ExecutorReply
from loci.sandbox.supervisor.fork_server_client import PACKAGES, ForkServer, WorkFolders, interpreter
from loci.sandbox.supervisor.limits import Bounds
from loci.sandbox.wall.layers import UNPRIVILEGED, Layer, Unsafe, is_strong, offered, strongest

PATIENT = Bounds(
    seconds=50.0, grace_seconds=0.3, memory_bytes=256 << 20, base_bytes=128 << 20, disk_bytes=64 << 20, files=2_000
)

FUNCTION = "function"
"""The wall of a machine that stands for a function of Lambda: whatever layers there are."""


def runner_packages() -> Path:
    """The environment that `make setup` makes."""
    folder = load_settings().runner_folder
    if not (folder / "bin" / "python").exists():
        pytest.fail(f"The runner's packages are not in {folder}: run make setup", pytrace=False)
    return folder


def walls() -> dict[str, frozenset[Layer]]:
    """The strongest wall that this machine has; with `make attack`, also those that weaker machines have."""
    asked = os.environ.get("ATTACK_WALLS")
    if asked == FUNCTION:
        return {FUNCTION: offered().layers}
    found = strongest(offered())
    if isinstance(found, Unsafe):
        return {}
    known = {"strongest": found}
    if asked == "all":
        known |= {"unprivileged": UNPRIVILEGED, "namespaces": found - {Layer.LANDLOCK}}
    return {name: layers for name, layers in known.items() if is_strong(layers) and layers <= found}


@dataclass(frozen=True)
class ExecutorFactory:
    """Makes executors."""

    server: ForkServer
    folder: Path

    def folders(self) -> WorkFolders:
        made = Path(tempfile.mkdtemp(dir=self.folder))
        folders = WorkFolders(made / "work", made / "scratch", made / "memory")
        for one in (folders.work, folders.scratch, folders.memory):
            one.mkdir()
        return folders

    @contextmanager
    def executor(self, bounds: Bounds = PATIENT, folders: WorkFolders | None = None) -> Generator[ExecutorProcess]:
        folders = folders or self.folders()
        one = self.server.spawn(folders, bounds)
        try:
            yield one
        finally:
            one.end()
            remove(str(folders.work.parent))  # there may be more than what pytest can remove


@contextmanager
def executor_factory(
    folder: Path, layers: frozenset[Layer], packages: Sequence[str] = PACKAGES
) -> Generator[ExecutorFactory]:
    """A fork server of its own."""
    cache = folder / "cache"
    cache.mkdir(exist_ok=True)
    python = interpreter(runner_packages() / "bin" / "python")
    server = ForkServer(python, layers, cache, drawing=packages == PACKAGES, packages=packages)
    try:
        yield ExecutorFactory(server, folder)
    finally:
        server.close()


def no_files(memory_id: str, memory_name: str) -> dict[str, str]:
    """Stored files where there are none."""
    return {"missing": f"no {memory_id} {memory_name}"}


def printed(executor: ExecutorProcess, code: str) -> str:
    """The text that the code prints."""
    reply = executor.run(code, no_files)
    assert reply.said["ok"], reply.said
    return bytes(reply.output.stdout).decode()


def tried(executor: ExecutorProcess, code: str) -> tuple[ExecutorReply | ExecutorEnded, ExecutorOutput]:
    """The end of the code, and its output."""
    try:
        reply = executor.run(code, no_files)
    except ExecutorEnded as why:
        return why, why.output
    return reply, reply.output
