"""The commands besides `serve`."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from loci.cli.main import COMMANDS as LISTED
from loci.cli.main import command_of
from loci.core.version import version
from tests.e2e.in_process import loci
from tests.support.each import each
from tests.support.serving import LOCI, PATIENCE, clean_environment
from tests.support.serving import loci as command
from tests.surface.results import written

COMMANDS = [
    *(
        (),
        ("serve",),
        ("ingest",),
        ("watch",),
        ("reindex",),
        ("search",),
        ("graph",),
        ("forget",),
        ("doctor",),
        ("keys",),
        ("keys", "create"),
        ("keys", "list"),
    ),
    *(("keys", "revoke"), ("models",), ("models", "list"), ("models", "pull"), ("models", "check")),
    *(("owners",), ("owners", "list"), ("owners", "delete")),
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@each("command", COMMANDS)
def test_every_command_has_help_and_takes_a_data_folder(data: Path, command: tuple[str, ...]) -> None:
    ended = loci(data, *command, "--help")
    assert ended.returncode == 0
    assert "Usage: loci" in ended.stdout
    assert ("--data" in ended.stdout) == (command not in ((), ("keys",), ("models",), ("owners",)))
    assert not data.exists()


@pytest.mark.smoke
def test_the_version_is_printed(data: Path) -> None:
    assert command(data, "--version").stdout == f"loci {version()}\n"
    assert loci(data, "fly").returncode == 2  # there is no such command


def test_the_list_of_commands_has_the_line_of_each_command_and_loads_none(data: Path) -> None:
    assert {name: line for name, (_, line) in LISTED.items()} == {
        name: command_of(name).get_short_help_str(1000) for name in LISTED
    }
    environment = {**clean_environment(data), "PYTHONPROFILEIMPORTTIME": "1"}
    ended = subprocess.run([*LOCI, "--help"], env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert "Rebuild the search index" in ended.stdout
    assert sorted(set(re.findall(r"loci\.cli\.\w+", ended.stderr))) == ["loci.cli.main"]


def test_a_shell_completes_commands_and_options(data: Path) -> None:
    for typed, word, completed in [("loci se", 1, ["search", "serve", "service"]), ("loci serve --st", 2, ["--stdio"])]:
        environment = {"_LOCI_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(word)}
        ended = command(data, **environment)
        assert sorted(ended.stdout.split()) == completed


def test_a_key_is_shown_once_listed_without_its_text_and_stays_in_the_list_when_it_is_revoked(data: Path) -> None:
    assert "Loci shows this key only once" in loci(data, "keys", "create").stdout
    created = json.loads(loci(data, "keys", "create", "laptop", "--json").stdout)
    listed = json.loads(loci(data, "keys", "list", "--json").stdout)
    assert {name: value for name, value in created.items() if name != "key"} in listed
    assert all("key" not in one for one in listed)
    assert re.fullmatch(r"loci_[0-9a-f]{12}_[A-Za-z0-9_-]{43}", created["key"])
    assert "revoked" not in loci(data, "keys", "list").stdout
    assert json.loads(loci(data, "keys", "revoke", created["id"], "--json").stdout)["revoked"]
    assert "revoked" in loci(data, "keys", "list").stdout


def test_a_key_that_expires_is_listed_with_its_day_and_the_doctor_warns_in_the_last_week(data: Path) -> None:
    for name, days in [("soon", "5"), ("late", "90")]:
        assert loci(data, "keys", "create", name, "--days", days).returncode == 0
    keys = {one["name"]: one for one in json.loads(loci(data, "keys", "list", "--json").stdout)}
    soon, late = keys["soon"], keys["late"]
    listed = loci(data, "keys", "list").stdout
    assert [f"valid until {key['expires'][:10]}" in listed for key in (soon, late)] == [True, True]
    found = {one["name"]: one for one in json.loads(loci(data, "doctor", "--json").stdout)["findings"]}["keys"]
    assert (found["state"], soon["id"] in found["what"], late["id"] in found["what"]) == ("warning", True, False)
    assert loci(data, "keys", "create", "--days", "0").returncode == 2
    assert loci(data, "keys", "create", "capped", "--calls-per-month", "1500").returncode == 0
    assert "capped  0 of 1,500 calls this month" in loci(data, "keys", "list").stdout


def test_a_key_needs_an_owner_with_both_names_and_one_that_is_unknown_is_told(data: Path) -> None:
    assert loci(data, "keys", "create", "--tenant", "acme").returncode == 1
    ended = loci(data, "keys", "revoke", "nope")
    assert ended.returncode == 1
    assert ended.stderr == "loci: There is no key nope. List the keys with: loci keys list.\n"


def test_the_data_option_wins_over_the_environment(data: Path, tmp_path: Path) -> None:
    loci(data, "keys", "create", "--data", str(tmp_path / "elsewhere"))
    assert not data.exists()
    assert (tmp_path / "elsewhere" / "loci.db").exists()


WITHOUT_BOTO3 = """
import sys
sys.modules["boto3"] = None
from loci.cli.main import main
main()
"""


@each("command", [("keys", "list", "--stack", "loci-dev-gateway"), ("search", "x")])
def test_without_the_packages_for_aws_a_command_names_the_extra(data: Path, command: tuple[str, ...]) -> None:
    environment = clean_environment(data, LOCI_MODE="aws", LOCI_TABLE="t", LOCI_BUCKET="b")
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_BOTO3, *command], env=environment, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert (ended.stderr.count("\n"), "pip install 'loci-mcp[aws]'" in ended.stderr) == (1, True)


def test_a_search_for_programs_has_the_shape_of_the_tool(data: Path, tmp_path: Path) -> None:
    many = {
        f"{one}.md": f"# Page {one}\n\n{'The water of the pier is told of at length. ' * 20}\n" for one in range(30)
    }
    marked = {"old.md": "---\nstatus: deprecated\ntrust: foreign\n---\n# Lighthouse\n\nThe lighthouse is red.\n"}
    tides = {"2024-05-06 tides.md": "The tide rises.\n\nIt falls at six.\n"}
    notes = written(tmp_path / "notes", tides | many | marked)
    assert loci(data, "ingest", str(notes)).returncode == 0
    every = json.loads(loci(data, "search", "water of the pier", "--json", "-n", "100").stdout)
    assert [len(row["snippet"]) > 800 for row in every["results"]] == [True] * 30
    assert "left_out" not in every["metadata"]
    assert "It falls at six." in loci(data, "search", "tide").stdout
    assert "[retired; foreign: " in loci(data, "search", "lighthouse").stdout
    found = json.loads(loci(data, "search", "tide", "--json").stdout)
    called = json.loads(loci(data, "call", "search_documents", '{"query": "tide", "limit": 5}').stdout)
    assert found == called
    assert (found["results"][0]["date"], found["results"][0]["lines"]) == ("2024-05-06", "1-3")


def test_a_search_of_files_for_programs_has_the_shape_of_the_tool(data: Path, tmp_path: Path) -> None:
    notes = written(tmp_path / "notes", {"tides.md": "The tide rises.\n"})
    assert loci(data, "add", str(notes / "tides.md")).returncode == 0
    found = json.loads(loci(data, "files", "search", "tide", "--json").stdout)
    called = json.loads(loci(data, "call", "search_memory", '{"parsed_query": "tide"}').stdout)
    assert found == called
    assert found["result"]["results"]


def test_adding_files_answers_programs_as_the_tool_does(data: Path, tmp_path: Path) -> None:
    tides = written(tmp_path / "notes", {"tides.md": "The tide rises.\n"}) / "tides.md"
    first = json.loads(loci(data, "add", str(tides), "--json").stdout)
    same = json.dumps({"name": "tides.md", "text": tides.read_text()})
    called = json.loads(loci(data, "call", "add_memory", same).stdout)
    assert first == called
    both = loci(data, "add", str(tides), str(tides.with_name("absent.md")), "--json")
    assert both.returncode == 1
    told = json.loads(both.stdout)
    [failed] = told.pop("failed")
    assert (told, failed["path"], failed["error"].keys()) == (
        called,
        str(tides.with_name("absent.md")),
        {"code", "message", "resolution"},
    )


def test_commands_about_files_answer_programs_as_the_tools_do(data: Path, tmp_path: Path) -> None:
    notes = written(tmp_path / "notes", {"tides.md": "The tide rises.\n"})

    def told(command: str) -> object:
        return json.loads(loci(data, *command.split(), "--json").stdout)

    def called(tool: str, **arguments: object) -> Any:
        return json.loads(loci(data, "call", tool, json.dumps(arguments)).stdout)

    assert loci(data, "add", str(notes / "tides.md")).returncode == 0
    listed = called("get_memorylake_metadata")
    assert told("files list") == listed
    [file] = listed["result"]["sample_memories"]
    it = {"memory_ids": [file["id"]]}
    fetched = called("fetch_memory", **it)
    assert fetched[file["id"]].pop("local_path")  # a copy that goes when the command ends
    assert told(f"files show {file['id']}") == fetched
    assert told("files read --all") == called("ingestion_status", **it)
    removed = told(f"files forget --yes {file['id']}")
    assert loci(data, "add", str(notes / "tides.md")).returncode == 0
    assert removed == called("delete_memory", **it)


@each(
    ("command", "code"),
    [
        (("forget", "nothing", "--yes"), "NODE_NOT_FOUND"),
        (("ingest", "nowhere"), "NO_SUCH_PATH"),
        (("import", "nowhere.zip"), "NO_SUCH_PATH"),
        (("add", "nothing.pdf"), None),
        (("files", "show", "nothing.pdf"), "MEMORY_NOT_FOUND"),
        (("files", "forget", "nothing.pdf", "--yes"), "MEMORY_NOT_FOUND"),
        (("graph", "--html", "nowhere/graph.html"), "CANNOT_WRITE"),
        (("tools", "test", "nothing"), None),
        (("tools", "capabilities", "show", "nothing"), None),
        (("keys", "revoke", "nothing"), None),
    ],
)
def test_an_error_for_programs_has_the_shape_of_a_tools_error(
    data: Path, command: tuple[str, ...], code: str | None
) -> None:
    ended = loci(data, *command, "--json")
    assert ended.returncode == 1
    error = json.loads(ended.stdout)["error"]
    assert error.keys() == {"code", "message", "resolution"}
    assert code in (None, error["code"])
    assert ended.stderr.startswith(f"loci: {error['message']}")
    assert "{" not in loci(data, *command).stdout


@each("command", [("--help",), ("search", "x", "--json"), ("keys", "revoke", "nothing", "--json")])
def test_a_reader_that_has_left_is_no_fault(data: Path, command: tuple[str, ...]) -> None:
    """As with `loci … | head -1`."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = subprocess.run(
            [*LOCI, *command],
            env=clean_environment(data),
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    finally:
        os.close(writing)
    assert [line for line in ended.stderr.splitlines() if not line.startswith("loci: ")] == []


@each(
    ("command", "says"),
    [
        (("events", "--stack", "a", "--url", "https://loci.example.com"), "Give --stack, or the URL, not both"),
        (("connect", "cursor", "--stack", "a", "--url", "https://x.example"), "Give --stack, or the URL, not both"),
        (("export", "a.zip", "--stack", "a", "--from", "https://x.example"), "Give --stack, or the URL, not both"),
        (("import", "a.zip", "--stack", "a", "--to", "https://x.example"), "Give --stack, or the URL, not both"),
        (("export", "--stack", "a"), "goes into a FILE"),
        (("import", "--stack", "a"), "comes from a PATH"),
    ],
)
def test_a_stack_beside_a_url_or_without_a_file_is_refused(data: Path, command: tuple[str, ...], says: str) -> None:
    ended = loci(data, *command)
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
    assert says in ended.stderr
    assert not data.exists()
