"""The container of the laptop mode: its files, and the command that it starts."""

import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Generator
from pathlib import Path

import httpx2
import pytest
import yaml
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.infra.docker_context import copies, ignored, patterns
from tests.support.each import each
from tests.support.serving import LOCI, Serving, clean_environment, loci, serving
from tests.surface.results import texts

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
FILE = ROOT / COMPOSE["services"]["loci"]["build"]["dockerfile"]
DOCKERFILE = FILE.read_text("utf-8").replace("\\\n", "")
IGNORED = patterns(Path(f"{FILE}.dockerignore").read_text("utf-8"))
KEY = re.compile(r"\bloci_[0-9a-f]{12}_[\w-]{43}\b", re.ASCII)
PROFILE = """
import errno, os, sys
from loci.sandbox.wall import kernel
from loci.sandbox.wall.seccomp import ALLOW, EQUAL, FAIL, LOAD, NUMBER, RETURN, step
refused = {"unshare": errno.EPERM} | dict.fromkeys(filter(None, sys.argv[1].split(",")), errno.ENOSYS)
steps = [step(LOAD, NUMBER)]
for name, error in refused.items():
    steps += [step(EQUAL, kernel.numbers()[name], 0, 1), step(RETURN, FAIL | error)]
kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
kernel.set_filter(b"".join([*steps, step(RETURN, ALLOW)]))
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Starts a command as a container does whose profile forbids user namespaces, and the calls that are named."""
LAST_STAGE = dict(re.findall(r"^([A-Z]+) (.*)$", DOCKERFILE.rpartition("\nFROM ")[2], re.MULTILINE))
"""The arguments of the instructions that make the image."""
COMMAND = [*json.loads(LAST_STAGE["ENTRYPOINT"]), *json.loads(LAST_STAGE["CMD"])]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("container") / "data"


@pytest.fixture(scope="module")
def served(data: Path) -> Generator[Serving]:
    """The first start of the image's command, on an empty volume."""
    assert COMMAND[:2] == ["loci", "serve"]
    with serving(data, *COMMAND[2:]) as server:
        yield server


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def found(server: Serving, key: str) -> list[str]:
    url, headers = f"{server.url}/mcp", {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        return texts(await client.call_tool("list_directory_structure", {}))


@pytest.mark.anyio
async def test_the_first_start_shows_a_key_that_connects_and_the_next_one_makes_none(
    served: Serving, data: Path
) -> None:
    [line] = [line for line in served.welcome.splitlines() if "claude mcp add" in line]
    [key] = KEY.findall(line)
    assert f'{served.url}/mcp --header "Authorization: Bearer {key}"' in line
    assert await found(served, key)
    with serving(data, *COMMAND[2:]) as again:
        assert not KEY.search(again.welcome)
        assert await found(again, key)
    assert len(json.loads(loci(data, "keys", "list", "--json").stdout)) == 1


def test_the_health_check_asks_for_an_address_that_exists(served: Serving, tmp_path: Path) -> None:
    python, *program = json.loads(LAST_STAGE["HEALTHCHECK"].partition(" CMD ")[2])
    assert python == "python"
    environment = clean_environment(tmp_path, LOCI_PORT=served.url.rpartition(":")[2])
    for path, code in (("/healthz", 0), ("/nowhere", 1)):
        command = [sys.executable, *(word.replace("/healthz", path) for word in program)]
        assert subprocess.run(command, env=environment, capture_output=True, check=False).returncode == code


def test_a_volume_has_all_data_and_a_user_without_rights_serves() -> None:
    folders = dict(word.split("=", 1) for word in LAST_STAGE["ENV"].split() if word.startswith("LOCI_"))
    for name in ("LOCI_DATA", "LOCI_MODELS"):
        assert folders[name].startswith(f"{LAST_STAGE['VOLUME']}/")
    user = LAST_STAGE["USER"].partition(":")[0]
    assert int(user) > 0
    assert f"--uid {user} " in LAST_STAGE["RUN"]
    assert f"--owner loci --group loci {LAST_STAGE['VOLUME']}" in LAST_STAGE["RUN"]


def test_compose_lets_only_this_machine_in_and_keeps_the_volume() -> None:
    [service] = COMPOSE["services"].values()
    assert service["ports"]
    assert [port for port in service["ports"] if not port.startswith("127.0.0.1:")] == []
    assert f"data:{LAST_STAGE['VOLUME']}" in service["volumes"]
    assert "data" in COMPOSE["volumes"]
    assert service["cap_drop"] == ["ALL"]


def test_the_base_image_is_pinned_and_of_no_one_architecture() -> None:
    bases = re.findall(r"^FROM (.*)$", DOCKERFILE, re.MULTILINE)
    assert len({base.partition(" ")[0] for base in bases}) == 1
    assert re.match(r"python:3\.13-slim@sha256:[0-9a-f]{64}( |$)", bases[0])
    assert not re.search(r"--platform|x86|amd64|arm64|aarch64", DOCKERFILE)


def test_docker_is_sent_what_the_package_is_built_of_and_nothing_else(tmp_path: Path) -> None:
    """The wheel of what Docker is sent has each file that the wheel of this folder has."""
    for source in [source for one in copies(DOCKERFILE) if one.of_context for source in one.sources]:
        below = [ROOT / source] if (ROOT / source).is_file() else (ROOT / source).rglob("*")
        files = [file for file in below if file.is_file() and not ignored(str(file.relative_to(ROOT)), IGNORED)]
        assert files, source
        for file in files:
            (tmp_path / file.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, tmp_path / file.relative_to(ROOT))
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path / "built")]
    subprocess.run(build, cwd=tmp_path, capture_output=True, check=True)
    [wheel] = (tmp_path / "built").iterdir()
    package = ROOT / "shared" / "loci"
    here = {f"loci/{file.relative_to(package)}" for file in package.rglob("*") if file.is_file()}
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert packed == {name for name in here if "__pycache__" not in name} | {"loci/code/runner.lock"}
    for path in (".git/config", ".venv/bin/python", ".env", "build/x", "cdk.json", "shared/loci/__pycache__/x.pyc"):
        assert ignored(path, IGNORED), path


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such profiles")
@each(
    ("forbidden", "state", "told"),
    [
        ("", "ok", "namespaces (unshare: Operation not permitted)"),
        ("landlock_create_ruleset", "warning", "--security-opt seccomp=unconfined"),
    ],
)
def test_the_doctor_says_which_option_a_container_needs_to_run_code(
    data: Path, forbidden: str, state: str, told: str
) -> None:
    """As in Docker, whose profile forbids user namespaces; with and without a kernel that has Landlock."""
    command = [sys.executable, "-c", PROFILE, forbidden, *LOCI, "doctor", "--json"]
    ran = subprocess.run(command, env=clean_environment(data), capture_output=True, text=True, check=False)
    [sandbox] = [one for one in json.loads(ran.stdout)["findings"] if one["name"] == "sandbox"]
    assert sandbox["state"] == state
    assert told in f"{sandbox['what']} {sandbox['advice']}"
