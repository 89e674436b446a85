"""The bundle of a release, as the tool for bundles and a client take it."""

import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from loci.core.version import version
from release.bundle import ROOT, mcpb, stage
from tests.support.serving import clean_environment

pytestmark = pytest.mark.conformance


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, capture_output=True, check=True)
    [wheel] = folder.glob("*.whl")
    (folder / "staged").mkdir()
    stage(wheel, folder / "staged")
    mcpb("validate", folder / "staged")
    mcpb("pack", folder / "staged", folder / "loci.mcpb")
    with zipfile.ZipFile(folder / "loci.mcpb") as bundle:
        bundle.extractall(folder / "unpacked")
    return folder / "unpacked"


def test_the_bundle_brings_its_wheel_and_pins_the_rest_as_the_lock(unpacked: Path) -> None:
    wanted = tomllib.loads((unpacked / "pyproject.toml").read_text("utf-8"))
    [source] = wanted["tool"]["uv"]["sources"].values()
    assert (unpacked / source["path"]).is_file()
    lock = (ROOT / "requirements" / "laptop.lock").read_text("utf-8")
    pinned = {pin.split(" ")[0] for pin in wanted["tool"]["uv"]["constraint-dependencies"]}
    assert pinned == set(re.findall(r"^\S+==\S+", lock, re.MULTILINE))


@pytest.mark.anyio
async def test_a_client_lists_the_tools_of_what_the_bundle_starts(unpacked: Path, tmp_path: Path) -> None:
    """By this interpreter: uv would ask the package index."""
    manifest = json.loads((unpacked / "manifest.json").read_text("utf-8"))
    start = manifest["server"]["mcp_config"]
    assert [start["command"], *start["args"]] == ["uv", "run", "--directory", "${__dirname}", "server.py"]
    server = StdioServerParameters(
        command=sys.executable, args=[manifest["server"]["entry_point"]], env=clean_environment(tmp_path), cwd=unpacked
    )
    async with Client(server) as client:
        assert client.server_info is not None
        assert client.server_info.version == manifest["version"] == version()
        assert (await client.list_tools()).tools


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
