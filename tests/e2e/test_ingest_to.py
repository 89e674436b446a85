"""`loci ingest --to`: send a folder to another Loci server, through its endpoint and with its key."""

import json
import signal
import subprocess
import uuid
from collections.abc import Generator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from loci.compose import build_app
from loci.core.identity import LOCAL, Owner
from loci.core.settings import load_settings
from tests.e2e.in_process import loci
from tests.e2e.standing_still import standing_still
from tests.support.api_events import Version
from tests.support.each import each
from tests.support.event_front import event_front
from tests.support.held import paths
from tests.support.serving import Serving, call, clean_environment, post, serving

NOBODY = "loci_000000000000_0000000000000000000000000000000000000000000"


@dataclass(frozen=True)
class Server:
    """A server that needs a key, the key, and a data folder of this machine, which must stay unused."""

    url: str
    key: str
    data: Path
    here: Path
    owner: Owner = LOCAL

    def run(self, *arguments: Path | str, key: str | None = None) -> subprocess.CompletedProcess[str]:
        given = [*map(str, arguments), "--to", f"{self.url}/mcp"]
        return loci(self.here, "ingest", *given, LOCI_KEY=self.key if key is None else key)

    def told(self, *arguments: Path | str) -> dict[str, Any]:
        return json.loads(self.run(*arguments, "--json").stdout)

    def paths(self) -> set[str]:
        return paths(self.data, self.owner)

    def found(self, word: str) -> set[str]:
        headers = {"Authorization": f"Bearer {self.key}"}
        answer = post(f"{self.url}/mcp", call("search_documents", {"query": word}), headers).message()
        return {row["id"] for row in answer["result"]["structuredContent"]["results"]}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("there") / "data"


@pytest.fixture(scope="module")
def server(data: Path) -> Generator[Serving]:
    with serving(data, LOCI_AUTH="required") as server:
        yield server


@pytest.fixture
def there(server: Serving, data: Path, tmp_path: Path) -> Server:
    """One over HTTP, for an owner whom it has not seen before."""
    owner = Owner("acme", uuid.uuid4().hex)
    return Server(server.url, new_key(data, owner), data, tmp_path / "here", owner)


def new_key(data: Path, owner: Owner) -> str:
    return build_app(load_settings({"data": data})).api_keys.create(owner, "test")[1]


# Sent


def test_a_search_on_the_server_finds_the_documents(there: Server, notes: Path) -> None:
    ended = there.run(notes)
    assert (ended.returncode, ended.stdout) == (0, "2 seen: 2 sent, 0 unchanged, 0 failed. 0 removed.\n")
    assert there.found("safari") == {"notes-briefs-auth"}


def test_nothing_is_written_on_this_machine(there: Server, notes: Path) -> None:
    there.run(notes)
    assert not there.here.exists()


def test_only_changed_documents_are_sent(there: Server, notes: Path) -> None:
    there.run(notes)
    (notes / "plan.md").write_text("# Plan\n\nWait.\n")
    told = there.told(notes)
    assert (told["seen"], told["sent"], told["unchanged"], told["failed"], told["left"]) == (2, 1, 1, 0, 0)
    assert (there.found("ship"), there.found("wait")) == (set(), {"notes-plan"})


def test_a_deleted_file_is_removed_from_the_server(there: Server, notes: Path) -> None:
    there.run(notes)
    (notes / "plan.md").unlink()
    assert there.told(notes)["removed"] == 1
    assert there.paths() == {"notes/briefs/auth.md"}


def test_documents_below_another_name_stay(there: Server, notes: Path, tmp_path: Path) -> None:
    (tmp_path / "notes-too").mkdir()
    (tmp_path / "notes-too" / "a.md").write_text("text")
    there.run(notes, tmp_path / "notes-too")
    (notes / "plan.md").unlink()
    assert there.told(notes)["removed"] == 1
    assert there.paths() == {"notes/briefs/auth.md", "notes-too/a.md"}


def test_a_single_file_removes_nothing(there: Server, notes: Path) -> None:
    there.run(notes)
    (notes / "briefs" / "auth.md").unlink()
    told = there.told(notes / "plan.md")
    assert (told["unchanged"], told["removed"]) == (1, 0)


def test_every_byte_and_every_name_arrives(there: Server, notes: Path) -> None:
    (notes / "latin.md").write_bytes(b"caf\xe9 \xff\x00")
    (notes / "100% ü & #1?.md").write_text("\ufeff# Odd\r\n\r\nname \u2028 \x00", newline="")
    assert there.told(notes)["sent"] == 4
    assert there.told(notes)["unchanged"] == 4
    assert "notes/100% ü & #1?.md" in there.paths()


def test_hundreds_of_files_arrive(there: Server, notes: Path) -> None:
    for number in range(300):
        (notes / f"{number}.md").write_text(f"# Note {number}\n")
    told = there.told(notes)
    assert (told["seen"], told["sent"]) == (302, 302)


# Not sent


def test_failed_files_are_listed_and_the_others_arrive(there: Server, notes: Path) -> None:
    (notes / "large.md").write_text("x" * 5_000_000)
    with (notes / "huge.md").open("wb") as file:
        file.truncate(20_000_000)
    ended = there.run(notes)
    assert ended.returncode == 1
    assert "4 seen: 2 sent, 0 unchanged, 2 failed. 0 removed.\n" in ended.stdout
    assert "notes/large.md: It has 4.8 MB, more than a request can hold. Split it." in ended.stdout
    assert there.paths() == {"notes/briefs/auth.md", "notes/plan.md"}


def test_a_file_of_the_server_s_machine_is_not_replaced(there: Server, notes: Path) -> None:
    loci(there.data, "ingest", str(notes))
    there = replace(there, key=json.loads(loci(there.data, "keys", "create", "--json").stdout)["key"], owner=LOCAL)
    told = there.told(notes)
    assert (told["sent"], told["failed"], told["removed"]) == (0, 2, 0)
    assert "is a file on this machine" in told["failures"][0]["reason"]


def test_the_server_keeps_the_documents_of_a_folder_that_is_suddenly_empty(there: Server, notes: Path) -> None:
    there.run(notes)
    (notes / "plan.md").unlink()
    (notes / "briefs" / "auth.md").unlink()
    ended = there.run(notes)
    assert (ended.returncode, "has no documents now, but the server has 2" in ended.stderr) == (1, True)
    assert len(there.paths()) == 2


def test_two_folders_of_one_name_are_refused(there: Server, notes: Path, tmp_path: Path) -> None:
    (tmp_path / "other" / "notes").mkdir(parents=True)
    ended = there.run(notes, tmp_path / "other" / "notes")
    assert (ended.returncode, "would both become notes/ on the server" in ended.stderr) == (1, True)


@each(("key", "says"), [("", "Show an API key"), (NOBODY, "This key is not valid here")])
def test_without_a_valid_key_the_server_refuses(there: Server, notes: Path, key: str, says: str) -> None:
    ended = there.run(notes, key=key)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (1, "", 1)
    assert "401" in ended.stderr
    assert says in ended.stderr
    assert "LOCI_KEY" in ended.stderr


def test_another_owner_neither_sees_nor_removes_the_documents(there: Server, notes: Path) -> None:
    there.run(notes)
    (notes / "plan.md").unlink()
    ended = there.run(notes, key=new_key(there.data, Owner("acme", "ann")))
    assert ended.stdout == "1 seen: 1 sent, 0 unchanged, 0 failed. 0 removed.\n"
    assert there.paths() == {"notes/briefs/auth.md", "notes/plan.md"}


@each("url", ["ftp://example.com", "nonsense", "https://"])
def test_a_bad_url_is_an_error_of_one_line(notes: Path, tmp_path: Path, url: str) -> None:
    ended = loci(tmp_path / "here", "ingest", str(notes), "--to", url)
    assert (ended.returncode, ended.stderr.count("\n"), "is not a URL" in ended.stderr) == (1, 1, True)


# Interrupted, and to the gateway function


def test_after_an_interruption_the_next_run_sends_only_the_rest(there: Server, notes: Path) -> None:
    for number in range(300):
        (notes / f"{number}.md").write_text(f"# Note {number}\n")
    environment = clean_environment(there.here, LOCI_KEY=there.key)
    command = ("ingest", str(notes), "--to", f"{there.url}/mcp", "--json")
    # One of ten lines, each of about ten bytes.
    with standing_still(*command, environment=environment, room=15, stdout=subprocess.PIPE) as standing:
        standing.process.send_signal(signal.SIGINT)
        standing.rest()
        assert standing.process.stdout is not None
        first = json.loads(standing.process.stdout.read())
    assert standing.process.returncode == 130
    assert first["left"] > 0
    assert first["sent"] + first["left"] == 302
    second = there.told(notes)
    assert second["unchanged"] >= first["sent"]
    assert (second["sent"] + second["unchanged"], second["left"]) == (302, 0)
    assert len(there.paths()) == 302


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_the_gateway_function_takes_documents_too(tmp_path: Path, notes: Path, version: Version) -> None:
    data = tmp_path / "there" / "data"
    data.parent.mkdir()
    key = json.loads(loci(data, "keys", "create", "--json").stdout)["key"]
    environment = clean_environment(data, LOCI_AUTH="required")
    (notes / "100% ü & #1?.md").write_text("odd")
    handler = "functions/gateway/handler.py:lambda_handler"
    with event_front(handler, environment, workers=2, version=version) as url:
        function = Server(url, key, data, tmp_path / "here")
        first = function.told(notes)
        (notes / "plan.md").unlink()
        second = function.told(notes)
        refused = function.run(notes, key=NOBODY)
    assert (first["sent"], second["unchanged"], second["removed"]) == (3, 2, 1)
    assert function.paths() == {"notes/briefs/auth.md", "notes/100% ü & #1?.md"}
    assert (refused.returncode, "401" in refused.stderr) == (1, True)
