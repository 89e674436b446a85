"""A server keeps the documents of the ingested folders current by itself."""

import json
import shutil
import signal
import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from tests.e2e.in_process import loci
from tests.support.held import indexed, paths
from tests.support.polling import until
from tests.support.serving import LOCI, PATIENCE, Serving, call, clean_environment, initialize, post, serving
from tests.support.watching import atomic_save, watching

BEGUN = "2 unchanged"


@dataclass(frozen=True)
class Client:
    """A server over stdio, and what it writes to its standard error."""

    process: "subprocess.Popen[str]"
    log: Path

    def ask(self, message: dict[str, object]) -> dict[str, object]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(message), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def finds(self, word: str) -> set[str]:
        answer = self.ask(call("search_documents", {"query": word}))
        return ids(answer)


@contextmanager
def over_stdio(data: Path, **environment: str) -> Generator[Client]:
    log = data.parent / "stdio.txt"
    with log.open("w") as stderr:
        process = subprocess.Popen(
            [*LOCI, "serve", "--stdio"],
            env=clean_environment(data, **environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
    with process:
        try:
            client = Client(process, log)
            client.ask(initialize("2025-06-18"))
            yield client
        finally:
            process.kill()


def ids(answer: object) -> set[str]:
    found = cast("dict[str, dict[str, dict[str, list[dict[str, str]]]]]", answer)
    return {row["id"] for row in found["result"]["structuredContent"]["results"]}


def finds(server: Serving, word: str) -> set[str]:
    return ids(post(f"{server.url}/mcp", call("search_documents", {"query": word})).message())


def said(data: Path, part: str) -> bool:
    return part in (data.parent / "stderr.txt").read_text("utf-8")


@pytest.fixture
def library(data: Path, notes: Path) -> Path:
    """Return the data folder of a library with the two notes."""
    assert loci(data, "ingest", str(notes)).returncode == 0
    return data


@pytest.mark.parametrize("save", [Path.write_text, atomic_save])
def test_over_http_a_saved_note_is_found_without_a_command(
    library: Path, notes: Path, save: Callable[[Path, str], object]
) -> None:
    with serving(library) as server:
        until(lambda: said(library, BEGUN))
        save(notes / "plan.md", "# Plan\n\nstrawberry\n")
        until(lambda: finds(server, "strawberry") == {"notes-plan"}, PATIENCE)
        assert server.stop() == 0
    assert not said(library, "Traceback")


def test_over_stdio_a_saved_note_is_found_without_a_command(library: Path, notes: Path) -> None:
    with over_stdio(library) as client:
        until(lambda: BEGUN in client.log.read_text("utf-8"))
        atomic_save(notes / "plan.md", "# Plan\n\nstrawberry\n")
        until(lambda: client.finds("strawberry") == {"notes-plan"}, PATIENCE)
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert client.process.wait(PATIENCE) == 0


def test_what_changed_while_no_server_ran_is_found(library: Path, notes: Path) -> None:
    (notes / "new.md").write_text("strawberry")
    (notes / "plan.md").unlink()
    with serving(library) as server:
        until(lambda: finds(server, "strawberry") == {"notes-new"} and finds(server, "ship") == set())


def test_a_folder_that_is_ingested_while_the_server_runs_is_followed(data: Path, notes: Path) -> None:
    with serving(data) as server:
        assert loci(data, "ingest", str(notes)).returncode == 0
        until(lambda: said(data, BEGUN))
        (notes / "new.md").write_text("strawberry")
        until(lambda: finds(server, "strawberry") == {"notes-new"}, PATIENCE)


def test_one_of_two_servers_follows_and_after_its_kill_the_other_does(library: Path, notes: Path) -> None:
    with serving(library) as one:
        until(lambda: said(library, BEGUN))
        with over_stdio(library) as other:
            (notes / "new.md").write_text("strawberry")
            until(lambda: finds(one, "strawberry") == {"notes-new"})
            until(lambda: other.finds("strawberry") == {"notes-new"})
            assert "processed" not in other.log.read_text("utf-8")
            one.process.send_signal(signal.SIGKILL)
            until(lambda: "3 unchanged" in other.log.read_text("utf-8"))
            (notes / "new.md").write_text("raspberry")
            until(lambda: other.finds("raspberry") == {"notes-new"}, PATIENCE)


def test_a_setting_turns_it_off(library: Path, notes: Path) -> None:
    with serving(library, LOCI_FOLLOW_FOLDERS="false") as quiet:
        (notes / "new.md").write_text("strawberry")
        with over_stdio(library) as other:
            until(lambda: other.finds("strawberry") == {"notes-new"})
        (notes / "new.md").write_text("raspberry")
        assert finds(quiet, "strawberry") == {"notes-new"}
        assert not said(library, "processed")


def test_a_missing_folder_is_a_remark_and_the_others_are_followed(data: Path, notes: Path, tmp_path: Path) -> None:
    shutil.copytree(notes, tmp_path / "others")
    loci(data, "ingest", str(notes), str(tmp_path / "others"))
    notes.rename(tmp_path / "away")
    with serving(data) as server:
        until(lambda: said(data, f"{notes} does not exist now"))
        (tmp_path / "others" / "new.md").write_text("strawberry")
        until(lambda: finds(server, "strawberry") == {"others-new"})
        assert finds(server, "safari") == {"notes-briefs-auth", "others-briefs-auth"}
        (tmp_path / "away" / "new.md").write_text("raspberry")
        (tmp_path / "away").rename(notes)
        until(lambda: finds(server, "raspberry") == {"notes-new"})


def test_a_server_follows_what_a_watch_names_and_the_watch_goes_on_when_it_ends(
    library: Path, notes: Path, tmp_path: Path
) -> None:
    (tmp_path / "more").mkdir()
    with serving(library) as server:
        until(lambda: said(library, BEGUN))
        with watching(library, tmp_path / "more", until_said="waits until") as watcher:
            (tmp_path / "more" / "new.md").write_text("strawberry")
            until(lambda: finds(server, "strawberry") == {"more-new"})
            server.process.send_signal(signal.SIGKILL)
            watcher.said("Watching ")
            (notes / "last.md").write_text("raspberry")
            until(lambda: indexed(library, "raspberry"))


def test_the_neighbours_of_a_file_that_was_ingested_alone_stay_out(data: Path, notes: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "one.md").write_text("blueberry")
    loci(data, "ingest", str(notes / "plan.md"), str(tmp_path / "other"))
    with serving(data) as server:
        until(lambda: said(data, "1 unchanged"))
        (notes / "new.md").write_text("strawberry")
        (tmp_path / "other" / "new.md").write_text("raspberry")
        until(lambda: finds(server, "raspberry") == {"other-new"})
        assert paths(data) == {"notes/plan.md", "other/one.md", "other/new.md"}


def test_a_forgotten_document_comes_back_only_with_an_ingest(library: Path, notes: Path) -> None:
    assert loci(library, "forget", "--yes", str(notes / "plan.md")).returncode == 0
    with serving(library) as server:
        until(lambda: said(library, "1 unchanged"))
        (notes / "plan.md").write_text("# Plan\n\nstrawberry\n")
        (notes / "new.md").write_text("raspberry")
        until(lambda: finds(server, "raspberry") == {"notes-new"})
        assert finds(server, "strawberry") == set()
        loci(library, "ingest", str(notes))
        assert finds(server, "strawberry") == {"notes-plan"}


def test_a_server_ends_at_once_while_it_ingests(library: Path, notes: Path) -> None:
    for number in range(3000):
        (notes / f"{number}.md").write_text(f"# Note {number}\n\nstrawberry {number}\n" * 20)
    with serving(library) as server:
        until(lambda: indexed(library, "strawberry"))
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(PATIENCE) == 0
    assert len(paths(library)) < 3000  # the next start takes the others
    assert not said(library, "Traceback")
