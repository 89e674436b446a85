"""Everything from a laptop to the deployed Loci and back, by the commands, which are killed on the way."""

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from loci.adapters.aws.blobs import S3Blobs
from loci.authoring.edit_draft import EditDraft
from loci.core.identity import LOCAL
from tests.deployed.deployment import Deployment, Door
from tests.deployed.users import NewUser, User
from tests.e2e.test_moving import facts, opened
from tests.support.broken_front import Front, Passed, front
from tests.support.polling import until
from tests.support.serving import LOCI, call, clean_environment, loci

pytestmark = pytest.mark.aws

FERRIES = "---\ntags: [travel, sea]\n---\n# Ferries\n\nThe ferry to Anholt takes three hours. See [[Harbour]].\n"
NOTES = {"harbour.md": "# Harbour\n\nShips lie here.\n", "briefs/100% ü & #1.md": "# Odd\n\nA ship has an odd name.\n"}
LARGE = 6_000_000
"""Bytes: three pieces."""


@dataclass(frozen=True, slots=True)
class There:
    """The deployed Loci, as its user has it."""

    door: Door
    user: User
    arriving: S3Blobs
    front: Front
    """Commands come through it."""

    @property
    def url(self) -> str:
        return self.front.url + urlsplit(self.door.url).path

    @property
    def key(self) -> str:
        return self.user.key

    def moved(self, data: Path, *arguments: Path | str) -> dict[str, Any]:
        """What the command says that it did."""
        done = loci(data, *map(str, arguments), "--json", LOCI_KEY=self.key)
        assert done.returncode == 0, done.stderr + done.stdout
        return json.loads(done.stdout)

    def killed(self, data: Path, when: Callable[[], object], *arguments: Path | str) -> None:
        """Kill the command as soon as that is so: from then on it gets no answer."""
        is_over = threading.Event()

        def held(passed: Passed) -> Passed:
            if when():
                is_over.wait(120)
            return passed

        self.front.breaks = held
        environment = clean_environment(data, LOCI_KEY=self.key)
        with subprocess.Popen([*LOCI, *map(str, arguments)], env=environment, stdout=subprocess.DEVNULL) as process:
            until(lambda: when() or process.poll() is not None, 120)
            process.kill()
        self.front.breaks = lambda passed: passed
        is_over.set()
        assert process.returncode == -signal.SIGKILL

    def found(self, words: str) -> list[str]:
        """The paths of the documents that a search finds there."""
        answer = self.door.post(call("search_documents", {"query": words}), self.user.headers).message()["result"]
        return sorted(one["path"] for one in answer["structuredContent"]["results"])

    def files(self, words: str) -> list[str]:
        answer = self.door.post(call("search_memory", {"parsed_query": words}), self.user.headers).message()["result"]
        return [one["name"] for one in answer["structuredContent"]["result"]["results"]]

    def pieces(self) -> list[str]:
        return self.arriving.list(self.user.owner, "transfer/")


@pytest.fixture
def there(deployment: Deployment, new_user: NewUser, arriving: S3Blobs) -> Generator[There]:
    door = deployment.door("REST API")
    with front(urlsplit(door.url).port or 0) as before:
        yield There(door, new_user(), arriving, before)


@pytest.fixture
def laptop(tmp_path: Path) -> Path:
    """A data folder with documents, their history and a deletion, and files with versions, of which one is large."""
    (tmp_path / "models").mkdir()
    for path, text in NOTES.items():
        (tmp_path / "notes" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "notes" / path).write_text(text)
    app = opened(tmp_path / "data")
    changes = app.authoring
    changes.write(LOCAL, "kept/ferries.md", EditDraft("create", FERRIES), expect=None)
    changes.write(LOCAL, "kept/ferries.md", EditDraft("append", "They sail in June."), expect=None)
    gone = changes.write(LOCAL, "kept/gone.md", EditDraft("create", "# Gone\n"), expect=None)
    changes.delete(LOCAL, "kept/gone.md", expect=str(gone.hash))
    app.documents.ingest(LOCAL, [str(tmp_path / "notes")])
    for text in (b"The heron waits at the weir.\n", b"The heron flies over the weir.\n"):
        app.files.add(LOCAL, "birds.txt", text, wait=60)
    app.files.add(LOCAL, "noise.bin", os.urandom(LARGE), wait=60)
    app.close()
    return tmp_path / "data"


def test_all_goes_to_the_deployment_and_comes_back_as_it_was(there: There, laptop: Path, tmp_path: Path) -> None:
    before = facts(laptop)
    first, second, back = tmp_path / "first.zip", tmp_path / "second.zip", tmp_path / "back" / "data"
    counts = there.moved(laptop, "export", first)["taken"]
    assert counts == {"documents": 3, "deleted": 1, "files": 3}

    there.killed(laptop, there.pieces, "import", first, "--to", there.url)
    assert len(there.pieces()) == 1
    rest = there.moved(laptop, "import", first, "--to", there.url)
    assert rest["same"].get("documents") == 3
    assert {name: rest["taken"].get(name, 0) + rest["same"].get(name, 0) for name in counts} == counts
    assert there.pieces() == []
    # A version that the ingestion has not read yet is sent to it once more.
    assert until(lambda: there.moved(laptop, "import", first, "--to", there.url)["same"] == counts, 60)

    assert there.found("ferry Anholt") == ["kept/ferries.md"]
    assert there.found("ship") == ["notes/briefs/100% ü & #1.md", "notes/harbour.md"]
    until(lambda: there.files("heron flies") == ["birds.txt"])

    assert there.moved(back, "export", second, "--from", there.url)["taken"] == counts
    assert there.pieces() == []
    assert there.moved(back, "import", second)["taken"] == counts
    assert facts(back) == before
