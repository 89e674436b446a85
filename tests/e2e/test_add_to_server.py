"""`loci add --url`: files go to another Loci server by the way that fits each, and the command says how that went."""

import json
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from tests.e2e.test_files_in_parts import workbook
from tests.e2e.test_files_on_aws import BUCKET, Deployed, arrived, deployment
from tests.e2e.test_files_on_aws import pytestmark as on_a_wall
from tests.support.event_front import event_front
from tests.support.serving import LOCI, PATIENCE, Serving, clean_environment, loci, serving

LATIN = "Zo\xeb says that the ferry sails at noon.\n".encode("latin-1")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("there") / "data"


@pytest.fixture(scope="module")
def server(data: Path) -> Generator[Serving]:
    with serving(data, LOCI_AUTH="required", LOCI_FILE_MB="1") as running:
        yield running


@pytest.fixture(scope="module")
def key(data: Path) -> str:
    return build_app(load_settings({"data": data})).api_keys.create(LOCAL, "test")[1]


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "trip.md").write_text("# Trip\n\nAnn buys the tickets.\n")
    (folder / "old.txt").write_bytes(LATIN)
    (folder / "long.md").write_text("Nothing new today.\n" * 20_000)
    return folder


def added(here: Path, url: str, key: str, *arguments: Path | str) -> dict[str, Any]:
    ended = loci(here, "add", *map(str, arguments), "--url", url, "--json", LOCI_KEY=key)
    assert ended.returncode == 0, ended.stderr + ended.stdout
    return {one.get("path", one["name"]): one for one in json.loads(ended.stdout)["result"]}


@pytest.mark.smoke
def test_a_server_has_the_files_then_byte_by_byte(
    server: Serving, key: str, data: Path, papers: Path, tmp_path: Path
) -> None:
    done = added(tmp_path / "here", server.url, key, "-r", papers)
    assert {name: one["status"] for name, one in done.items()} == dict.fromkeys(done, "okay")
    assert done["trip.md"]["num_chunks"] == 1
    files = build_app(load_settings({"data": data})).files
    for path in papers.iterdir():
        assert files.read(LOCAL, done[path.name]["id"]).content == path.read_bytes()
    assert not (tmp_path / "here").exists()


def test_a_file_that_the_server_has_is_not_sent_again(server: Serving, key: str, tmp_path: Path) -> None:
    path = tmp_path / "again.md"
    path.write_text("Bob packs.\n")
    lines = [loci(tmp_path / "here", "add", str(path), "--url", server.url, LOCI_KEY=key) for _ in range(2)]
    assert [one.stdout.splitlines()[0].endswith("; unchanged)") for one in lines] == [False, True]
    assert [one.stderr for one in lines] == ["1 of 1\n"] * 2
    path.write_text("Bob unpacks.\n")
    assert added(tmp_path / "here", server.url, key, path)["again.md"]["version"] == 2


@pytest.mark.parametrize(
    ("path", "key", "says"),
    [("/nowhere", "", "Check the URL"), ("", "wrong", "key in --key or LOCI_KEY")],
)
def test_a_wrong_address_or_key_is_an_error_of_one_line(
    server: Serving, tmp_path: Path, path: str, key: str, says: str
) -> None:
    (tmp_path / "note.md").write_text("Ann packs.\n")
    ended = loci(tmp_path / "here", "add", str(tmp_path / "note.md"), "--url", server.url + path, LOCI_KEY=key)
    assert (ended.returncode, ended.stdout, says in ended.stderr) == (1, "", True)
    assert "Traceback" not in ended.stderr


def test_files_of_one_name_stay_apart_there_and_are_known_again(
    server: Serving, key: str, data: Path, tmp_path: Path
) -> None:
    for place in ("tides/north", "tides/south"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "table.txt").write_bytes(f"{place}: No\xebl at 9.\n".encode("latin-1"))
    older = build_app(load_settings({"data": data}))
    file = older.files.add(LOCAL, "table.txt", (tmp_path / "tides/south/table.txt").read_bytes())
    older.files.parts.lake.put(LOCAL, replace(file, path=None))  # as it was written before files had paths
    sent = ("add", "-r", str(tmp_path / "tides"), "--url", server.url)
    told = json.loads(loci(tmp_path / "here", *sent, "--json", LOCI_KEY=key).stdout)["result"]
    assert [(one["path"], one["version"]) for one in told] == [("north/table.txt", 1), ("south/table.txt", 1)]
    assert (told[1]["id"], told[0]["id"] != file.id) == (file.id, True)
    assert loci(tmp_path / "here", *sent, LOCI_KEY=key).stdout.count("; unchanged)") == 2


def test_if_one_file_fails_the_others_are_added_and_the_exit_code_is_1(
    server: Serving, key: str, tmp_path: Path
) -> None:
    for name, content in (("empty.md", b""), ("blank.md", b" \n"), ("good.md", b"Ann packs.\n")):
        (tmp_path / name).write_bytes(content)
    (tmp_path / "huge.txt").write_bytes(b"\xe9" * ((1 << 20) + 1))
    paths = [str(tmp_path / name) for name in ("empty.md", "blank.md", "huge.txt", "absent.md", "good.md")]
    ended = loci(tmp_path / "here", "add", *paths, "--url", server.url, LOCI_KEY=key)
    assert ended.returncode == 1
    good, title, empty, blank, huge, absent, summary = ended.stdout.splitlines()
    assert (good.split()[0], title) == ("good.md", "Not read:")
    assert [("is empty" in one) for one in (empty, blank)] == [True, True]
    assert "more than the limit of 1 MB" in huge
    assert "No such file" in absent
    assert summary == "1 file read, 1 passage; 4 not read."


def test_standard_input_is_sent_too(server: Serving, key: str, tmp_path: Path) -> None:
    ended = subprocess.run(
        [*LOCI, "add", "-", "--name", "notes.md", "--url", server.url],
        env=clean_environment(tmp_path / "here", LOCI_KEY=key),
        input=b"Ann buys the tickets.\n",
        capture_output=True,
        timeout=PATIENCE,
        check=True,
    )
    assert ended.stdout.startswith(b"notes.md  ds-")


def test_a_wrong_key_is_told(server: Serving, papers: Path, tmp_path: Path) -> None:
    ended = loci(tmp_path / "here", "add", str(papers / "trip.md"), "--url", server.url, LOCI_KEY="loci_no")
    assert ended.returncode == 1
    assert "This key is not valid here" in ended.stderr


@contextmanager
def delivering(deployed: Deployed) -> Generator[None]:
    """EventBridge and the queue: the ingestion hears of each object that was sent."""
    ended = threading.Event()

    def deliver() -> None:
        while not ended.wait(0.2):
            for one in deployed.s3.list_objects_v2(Bucket=BUCKET, Prefix="files-in/").get("Contents", ()):
                deployed.take(arrived(one["Key"]))

    thread = threading.Thread(target=deliver)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@on_a_wall
def test_a_hosted_loci_gets_texts_in_calls_and_others_by_forms_and_parts(papers: Path, tmp_path: Path) -> None:
    for place in (papers, papers / "50% off"):
        place.mkdir(exist_ok=True)
        (place / "old.txt").write_bytes(LATIN + place.name.encode())
    (papers / "50% off" / "fruit.xlsx").write_bytes(workbook())
    with deployment(tmp_path / "no-models", file_mb="100") as deployed:
        key = deployed.app.api_keys.create(LOCAL, "test")[1]
        handler = "functions/gateway/handler.py:lambda_handler"
        with event_front(handler, {"LOCI_SECRETS": "s" * 64}, workers=1) as url, delivering(deployed):
            done = added(tmp_path / "here", f"{url}/mcp", key, "-r", papers)
        assert {name: one["status"] for name, one in done.items()} == dict.fromkeys(done, "okay")
        assert done["50% off/fruit.xlsx"]["num_chunks"] == 1
        for path in (*papers.glob("*.*"), *papers.glob("*/*.*")):
            id = done[path.relative_to(papers).as_posix()]["id"]
            assert deployed.app.files.read(LOCAL, id).content == path.read_bytes()
