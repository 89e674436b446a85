"""`loci export` and `loci import` with `--to` and `--from`: through the route of another server, with its key."""

import json
import os
import shutil
import signal
import subprocess
import uuid
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.identity import Owner
from loci.core.settings import load_settings
from loci.transfer.items import Loaded
from loci.transfer.staging import PIECE
from tests.e2e.in_process import loci
from tests.support.archives import document, item, run, sent, server
from tests.support.each import each
from tests.support.serving import LOCI, Answer, Serving, clean_environment, post, serving

LARGE = os.urandom(6_000_000)


@dataclass(frozen=True)
class Server:
    """A server that needs a key, with an owner whom it has not seen before."""

    url: str
    key: str
    data: Path
    owner: Owner

    def app(self) -> App:
        return build_app(load_settings({"data": self.data, "models": self.data.parent / "models"}))

    def texts(self) -> dict[str, bytes]:
        archive = self.app().documents.archive
        return {one.id: archive.text(self.owner, one) for one in self.app().documents.newest(self.owner)}

    def ask(self, body: object, key: str | None = None) -> Answer:
        headers = {"Authorization": f"Bearer {key or self.key}"}
        return post(f"{self.url}/transfer", body, headers)


@pytest.fixture(scope="module")
def data_there(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("there")
    (folder / "models").mkdir()
    return folder / "data"


@pytest.fixture(scope="module")
def running(data_there: Path) -> Generator[Serving]:
    with serving(data_there, LOCI_AUTH="required") as server:
        yield server


@pytest.fixture
def there(running: Serving, data_there: Path) -> Server:
    owner = Owner("acme", uuid.uuid4().hex)
    key = build_app(load_settings({"data": data_there})).api_keys.create(owner, "test")[1]
    return Server(running.url, key, data_there, owner)


def told(data: Path, *arguments: Path | str, key: str = "") -> dict[str, Any]:
    ended = loci(data, *map(str, arguments), "--json", LOCI_KEY=key)
    assert ended.returncode == 0, ended.stderr + ended.stdout
    return json.loads(ended.stdout)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    for name in ("models", "notes"):
        (folder / name).mkdir()
    (folder / "notes" / "auth.md").write_text("# Login\n\nSafari drops the cookie.\n")
    (folder / "notes" / "plan.md").write_text("# Plan\n\nShip it.\n")
    loci(folder / "data", "ingest", str(folder / "notes"))
    for text in ("fruit,price\nquince,3\n", "fruit,price\nquince,4\n"):
        (folder / "prices.csv").write_text(text)
        assert loci(folder / "data", "add", str(folder / "prices.csv")).returncode == 0
    return folder / "data"


@pytest.fixture
def full(made: Path, data: Path) -> Path:
    """A data folder with two documents, and a file with two versions."""
    return shutil.copytree(made, data)


def test_all_goes_to_a_server_and_comes_back(full: Path, there: Server, tmp_path: Path) -> None:
    (tmp_path / "long.md").write_text("# Long\n\n" + "The heron waits at the weir.\n" * 100_000)
    told(full, "ingest", tmp_path / "long.md")
    (tmp_path / "noise.bin").write_bytes(LARGE)
    loci(full, "add", str(tmp_path / "noise.bin"))
    sent = told(full, "export", "--to", there.url, key=there.key)
    assert sent["taken"] == {"documents": 3, "files": 3}
    [text] = [one for id, one in there.texts().items() if id.endswith("long")]
    assert len(text) > PIECE
    assert there.app().arriving.list(there.owner, "transfer/") == []
    again = told(full, "export", "--to", f"{there.url}/mcp", key=there.key)
    assert (again["taken"], again["same"]) == ({}, {"documents": 3, "files": 3})
    archive, back = tmp_path / "back.zip", tmp_path / "back" / "data"
    assert told(back, "export", archive, "--from", there.url, key=there.key)["taken"] == sent["taken"]
    assert there.app().arriving.list(there.owner, "transfer/") == []
    assert told(back, "import", archive)["taken"] == sent["taken"]
    home = build_app(load_settings({"data": back}))
    [file] = [one for one in home.files.listed(Owner("", "local")) if one.name == "prices.csv"]
    assert [one.number for one in home.files.versions(Owner("", "local"), file.id)] == [1, 2]
    assert told(full, "import", archive)["same"] == sent["taken"]


def test_an_archive_goes_to_a_server_and_a_server_to_this_machine(full: Path, there: Server, tmp_path: Path) -> None:
    archive, back = tmp_path / "all.zip", tmp_path / "back" / "data"
    told(full, "export", archive)
    assert told(full, "import", archive, "--to", there.url, key=there.key)["taken"] == {"documents": 2, "files": 2}
    assert told(back, "import", "--from", there.url, key=there.key)["taken"] == {"documents": 2, "files": 2}


def test_a_server_gives_a_bundle(full: Path, there: Server, tmp_path: Path) -> None:
    told(full, "export", "--to", there.url, key=there.key)
    made = told(full, "export", "--okf", tmp_path / "out", "--from", there.url, key=there.key)
    assert made["documents"] == len(there.texts())
    assert all((tmp_path / "out" / name).is_file() for name in made["files"])


def test_a_dry_run_changes_nothing_on_the_server(full: Path, there: Server, tmp_path: Path) -> None:
    told(full, "export", tmp_path / "all.zip")
    shown = told(full, "import", tmp_path / "all.zip", "--to", there.url, "--dry-run", key=there.key)
    assert shown["taken"] == {"documents": 2, "files": 2}
    assert there.texts() == {}


def test_another_owner_sees_nothing_of_it(full: Path, there: Server, tmp_path: Path) -> None:
    told(full, "export", "--to", there.url, key=there.key)
    other = there.app().api_keys.create(Owner("acme", "ann"), "test")[1]
    assert told(full, "export", tmp_path / "hers.zip", "--from", there.url, key=other)["taken"] == {}
    there.ask({"put": {"sha256": "0" * 64, "begin": 0, "base64": "AAAA"}})
    assert there.ask({"read": {"sha256": "0" * 64, "begin": 0}}, other).status == 404
    assert there.ask({"read": {"sha256": "0" * 64, "begin": 0}}).message() == {"base64": "AAAA"}
    there.ask({"drop": "0" * 64})


def test_without_a_key_the_server_refuses(full: Path, there: Server) -> None:
    ended = loci(full, "export", "--to", there.url, LOCI_KEY="")
    assert (ended.returncode, "401" in ended.stderr, ended.stderr.count("\n")) == (1, True, 1)


# Interrupted


def killed_after(line: str, data: Path, *arguments: Path | str, key: str) -> None:
    """Kill the command as soon as it has told this."""
    command = [*LOCI, *map(str, arguments)]
    environment = clean_environment(data, LOCI_KEY=key)
    with subprocess.Popen(command, env=environment, text=True, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        for said in process.stderr:
            if line in said:
                process.send_signal(signal.SIGKILL)
                break
    assert process.returncode == -signal.SIGKILL


def test_an_import_that_was_killed_goes_on(there: Server, data: Path, tmp_path: Path) -> None:
    many = tmp_path / "many"
    many.mkdir()
    for number in range(150):
        (many / f"{number}.md").write_text(f"# Note {number}\n")
    loci(data, "ingest", str(many))
    killed_after("64 moved", data, "export", "--to", there.url, key=there.key)
    held = len(there.texts())
    assert 32 <= held < 150
    rest = told(data, "export", "--to", there.url, key=there.key)
    assert rest["same"]["documents"] >= held
    assert rest["same"]["documents"] + rest["taken"]["documents"] == 150
    assert len(there.texts()) == 150


# Attacks on the route


@each(
    "one",
    [
        document("x", "../../etc/x.md", b"# A\n"),
        document("x", "/etc/x.md", b"# A\n"),
        item("documents", "x", {}, {"documents/x": b"# A\n"}),
        item("files", "x", {"name": "../x.txt", "number": 1, "added_at": "x", "versions": []}, {"files/x": b"x"}),
        server("x", {"url": "file:///etc/passwd"}),
        run("../wf", b"{}"),
        item("tool_secret", "x", {"closed": "x"}, {}),
        document("x" * 3000, "a.md", b"# A\n"),
        document("x", "a.md", b"# A\n", former=3),
    ],
)
def test_an_item_that_is_not_written_well_is_refused(there: Server, one: Loaded) -> None:
    for word in ("look", "take"):
        answer = there.ask({word: sent(one)})
        assert answer.status == 400, answer.text
    assert there.texts() == {}


@each(
    ("body", "status"),
    [
        ({"put": {"sha256": "0" * 64, "begin": 10**11, "base64": "AAAA"}}, 413),
        ({"put": {"sha256": "../../x", "begin": 0, "base64": "AAAA"}}, 400),
        ({"put": {"sha256": "0" * 64, "begin": 0, "base64": "no base64"}}, 400),
        ({"put": {"sha256": "0" * 64, "begin": 0, "base64": ""}}, 400),
        ({"take": {"sha256": "0" * 64, "size": 4}}, 400),
        ({"take": "AAAA"}, 400),
        ({"read": {"sha256": "../documents", "begin": 0}}, 400),
        ({"drop": "../documents"}, 400),
        ({"end": True}, 400),
    ],
)
def test_a_request_that_is_not_well_formed_leaves_nothing(there: Server, body: dict[str, Any], status: int) -> None:
    assert there.ask(body).status == status
    assert there.app().arriving.list(there.owner, "transfer/") == []
