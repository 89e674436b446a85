"""The wheel, installed in an empty environment with no checkout near.

A release tests the wheel that it publishes, with what the lock pins: WHEEL=dist/packages/….whl (`make test-dist`).
"""

import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from loci.code.packages import find_deno
from loci.core.version import DISTRIBUTION, version
from tests.support.deno import needs_deno
from tests.support.executors import runner_packages
from tests.support.serving import PATIENCE, clean_environment
from tests.surface.results import structured, texts

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "shared" / "loci"
GIVEN = os.environ.get("WHEEL")
WHERE = "import sys, loci, loci.core.version as version; print(loci.__file__, version.version(), *sys.path, sep='\\n')"


@dataclass(frozen=True, slots=True)
class Installed:
    """An environment with the wheel in it, and a folder to work in."""

    wheel: Path
    environment: Path
    cwd: Path

    @property
    def command(self) -> str:
        return str(self.environment / "bin" / "loci")

    def variables(self, **more: str) -> dict[str, str]:
        clean = clean_environment(self.cwd / "data", LOCI_RUNNER=str(runner_packages()), **more)
        return {name: value for name, value in clean.items() if not name.startswith("PYTHON")}

    def run(self, *command: str) -> str:
        return subprocess.run(
            command, cwd=self.cwd, env=self.variables(), capture_output=True, text=True, timeout=PATIENCE, check=True
        ).stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("wheel")
    if GIVEN is None:
        build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
        subprocess.run(build, cwd=ROOT, capture_output=True, check=True)
    [wheel] = folder.glob("*.whl") if GIVEN is None else [Path(GIVEN).resolve()]
    environment = folder / "environment"
    venv.create(environment, with_pip=False, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--python", str(environment / "bin" / "python"), "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], capture_output=True, check=True)
    if GIVEN is None:
        # The dependencies come from this environment. A line of a .pth file adds its folder to the path, but the .pth
        # files in that folder, which lead to the checkout, are not read.
        packages = sysconfig.get_path("purelib", vars={"base": str(environment)})
        (Path(packages) / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    else:
        locked = ["--no-deps", "--require-hashes", "--requirement", str(ROOT / "requirements" / "laptop.lock")]
        subprocess.run([*pip, *locked], capture_output=True, check=True)
    notes = folder / "elsewhere" / "notes"
    notes.mkdir(parents=True)
    (notes / "ferry.md").write_text("# Ferry\n\nIt leaves the harbour at nine.\n")
    return Installed(wheel, environment, notes.parent)


def test_the_wheel_has_every_file_of_the_package_and_the_runner_lock(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
        lock = archive.read("loci/code/runner.lock")
    here = {f"loci/{file.relative_to(PACKAGE)}" for file in PACKAGE.rglob("*") if file.is_file()}
    assert packed == {name for name in here if "__pycache__" not in name} | {"loci/code/runner.lock"}
    assert {Path(name).suffix for name in packed} >= {".py", ".js", ".css", ".html", ".md", ".lock"}
    assert lock == (ROOT / "requirements" / "runner.lock").read_bytes()


def test_the_distribution_and_the_command_have_different_names(installed: Installed) -> None:
    assert installed.wheel.name.startswith(f"{DISTRIBUTION.replace('-', '_')}-")
    assert installed.run(installed.command, "--version") == f"loci {version()}\n"


def test_advice_to_install_an_extra_names_the_distribution() -> None:
    sources = [file.read_text("utf-8") for file in PACKAGE.rglob("*.py")]
    named = {name for source in sources for name in re.findall(r"pip install '([\w-]+)\[", source)}
    assert named == {DISTRIBUTION}


def test_nothing_of_the_checkout_is_on_the_path(installed: Installed) -> None:
    package, told, *path = installed.run(str(installed.environment / "bin" / "python"), "-c", WHERE).splitlines()
    assert Path(package).is_relative_to(installed.environment)
    assert told == version()
    assert not {str(ROOT), str(ROOT / "shared")} & set(path)


def test_the_runner_is_checked_against_the_lock_in_the_wheel(installed: Installed) -> None:
    folder = runner_packages()
    assert installed.run(installed.command, "runner", "install").endswith(f"already installed in {folder}\n")


@pytest.mark.anyio
@needs_deno
async def test_a_client_over_stdio_uses_documents_and_both_sandboxes(installed: Installed) -> None:
    installed.run(installed.command, "ingest", "notes")
    [package] = json.loads((ROOT / "server.json").read_text("utf-8"))["packages"]
    server = StdioServerParameters(
        command=str(Path(installed.command).with_name(package["identifier"])),
        args=[one.get("value") or one["name"] for one in package["packageArguments"]],
        env=installed.variables(LOCI_DENO=str(find_deno(None))),
        cwd=installed.cwd,
    )
    async with Client(server) as client:
        assert client.server_info is not None
        assert client.server_info.version == version()
        searched = await client.call_tool("search_documents", {"query": "harbour"})
        assert [row["id"] for row in structured(searched)["results"]] == ["notes-ferry"], texts(searched)
        typescript = await client.call_tool("pml_execute_code", {"code": "const n: number = 41; n + 1"})
        assert structured(typescript)["result"] == 42, texts(typescript)
        made = structured(await client.call_tool("create_memory_code_runner", {}))["result"]
        code = "import pandas\nprint(len(pandas.Series([1, 2])))"
        python = await client.call_tool("run_memory_code", {**made, "code": code})
        assert structured(python)["result"]["stdout"] == "2\n", texts(python)


@pytest.mark.anyio
@pytest.mark.skipif(GIVEN is None, reason="asks the package index for the newest that the wheel allows")
async def test_uvx_starts_the_wheel_for_a_client(installed: Installed) -> None:
    """Without the lock, as somebody gets it who has only the name."""
    loci = [str(Path(sys.executable).with_name("uvx")), "--from", str(installed.wheel), DISTRIBUTION]
    assert installed.run(*loci, "--version") == f"loci {version()}\n"
    installed.run(*loci, "ingest", "notes")
    server = StdioServerParameters(
        command=loci[0], args=[*loci[1:], "serve"], env=installed.variables(), cwd=installed.cwd
    )
    async with Client(server) as client:
        searched = await client.call_tool("search_documents", {"query": "harbour"})
        assert [row["id"] for row in structured(searched)["results"]] == ["notes-ferry"], texts(searched)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
