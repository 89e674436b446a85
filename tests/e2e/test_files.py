"""`loci add` and `loci files`, run as commands."""

import ast
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from tests.support.files.workbooks import xlsx
from tests.support.polling import until
from tests.support.serving import LOCI, call, clean_environment, loci, post, serving
from tests.surface.results import texts

FIRST_CALL = """
import asyncio, sys
from mcp import Client
from loci.compose import build_app
from loci.core.settings import load_settings
from loci.mcp.server import build_server

async def workbooks():
    async with Client(build_server(build_app(load_settings()))) as client:
        answer = await client.call_tool("get_memorylake_metadata", {})
        return answer.structured_content["result"]["total_excel_files"]

print((asyncio.run(workbooks()), [*sys.modules]))
"""
READERS = {
    "duckdb",
    "lxml",
    "matplotlib",
    "numpy",
    "openpyxl",
    "pandas",
    "pypdfium2",
    "python_calamine",
    "scipy",
    "xlrd",
}


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    (folder / "more" / ".hidden").mkdir(parents=True)
    (folder / "trip.md").write_text("# Trip\n\nAnn buys the tickets.\n")
    (folder / "more" / "notes.txt").write_text("Bob packs.\n")
    (folder / "more" / "photo.png").write_bytes(b"\x89PNG")
    (folder / "more" / ".hidden" / "x.md").write_text("x")
    return folder


def added(data: Path, *arguments: str) -> dict[str, Any]:
    ended = loci(data, "add", *arguments, "--json")
    assert ended.returncode == 0, ended.stderr + ended.stdout
    return {one["name"]: one for one in json.loads(ended.stdout)["result"]}


def test_people_read_what_was_read_and_what_was_not(data: Path, papers: Path) -> None:
    (papers / "empty.md").write_text("")
    ended = loci(data, "add", str(papers / "trip.md"), str(papers / "empty.md"), str(papers / "absent.md"))
    assert ended.returncode == 1
    first, *rest = ended.stdout.splitlines()
    assert first.startswith("trip.md  ds-")
    assert first.endswith("(md, version 1, 1 passage)")
    assert rest == [
        "Not read:",
        f"  {papers}/empty.md: The file is empty. Add it again with text in it.",
        f"  {papers}/absent.md: Cannot read it (No such file or directory). Correct the path or its permissions.",
        "1 file read, 1 passage; 2 not read.",
    ]
    assert ended.stderr == "1 of 3\n2 of 3\n3 of 3\n"


def test_the_same_file_again_is_unchanged_and_another_content_a_new_version(data: Path, papers: Path) -> None:
    trip = str(papers / "trip.md")
    assert added(data, trip)["trip.md"]["version"] == 1
    assert "; unchanged)" in loci(data, "add", trip).stdout
    Path(trip).write_text("Bob buys them.\n")
    assert added(data, trip)["trip.md"]["version"] == 2


def test_a_folder_needs_recursive_which_takes_what_looks_readable(data: Path, papers: Path) -> None:
    refused = loci(data, "add", str(papers))
    assert refused.returncode == 1
    assert "is a folder" in refused.stderr
    assert "--recursive" in refused.stderr
    assert added(data, "-r", str(papers)).keys() == {"trip.md", "notes.txt"}


def test_files_of_one_name_in_several_folders_stay_several_files(data: Path, tmp_path: Path) -> None:
    years = tmp_path / "years"
    for year in ("2022", "2023", "2024"):
        (years / year).mkdir(parents=True)
        (years / year / "budget.csv").write_text(f"item,euros\nrent,{year}\n")
    (years / "budget.csv").write_text("item,euros\nrent,2022\n")  # a copy
    paths = ["2022/budget.csv", "2023/budget.csv", "2024/budget.csv", "budget.csv"]

    def files() -> dict[str, tuple[str, int]]:
        told = json.loads(loci(data, "files", "list", "--json").stdout)["result"]["sample_memories"]
        return {one.get("path", one["name"]): (one["id"], one["version"]) for one in told}

    loci(data, "add", "-r", str(years))
    first = files()
    assert (sorted(first), {version for _, version in first.values()}) == (paths, {1})
    again = loci(data, "add", "-r", f"{years}/")
    assert again.stdout.count("; unchanged)") == 4
    assert files() == first
    (years / "2023" / "budget.csv").write_text("item,euros\nrent,9283\n")
    loci(data, "add", "-r", str(years))
    assert files() == {**first, "2023/budget.csv": (first["2023/budget.csv"][0], 2)}
    found = loci(data, "files", "search", "rent in the budget of 2023").stdout
    assert found.startswith("1. 2023/budget.csv  ds-")
    several = loci(data, "files", "show", "budget.csv", "--json")
    assert [*json.loads(several.stdout)] == [first["budget.csv"][0]]
    loci(data, "files", "forget", "-y", "budget.csv")
    several = loci(data, "files", "show", "budget.csv")
    assert "Several files are named budget.csv. Give the path of one: 2022/budget.csv, 2023" in several.stderr


def test_a_changed_file_from_before_paths_is_the_only_one_of_its_name_that_is_added(data: Path, tmp_path: Path) -> None:
    app = build_app(load_settings({"data": data}))
    for name in ("plan.md", "budget.csv"):
        file = app.files.add(LOCAL, name, b"item,euros\nrent,2022\n")
        app.files.parts.lake.put(LOCAL, replace(file, path=None))  # as it was written before files had paths
    for path in ("a/plan.md", "a/budget.csv", "b/budget.csv"):
        (tmp_path / "years" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "years" / path).write_text(f"item,euros\nrent,{path}\n")
    told = added(data, "-r", str(tmp_path / "years"))
    assert (told["plan.md"]["path"], told["plan.md"]["version"]) == ("a/plan.md", 2)
    app = build_app(load_settings({"data": data}))
    assert sorted((one.full_path, one.newest.number) for one in app.files.listed(LOCAL)) == [
        ("a/budget.csv", 1),
        ("a/plan.md", 2),
        ("b/budget.csv", 1),
        ("budget.csv", 1),
    ]


def test_different_files_of_one_name_in_one_command_are_told_apart(data: Path, tmp_path: Path) -> None:
    for place in ("a/x", "b/x", "c/y"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "notes.md").write_text(f"# {place}\n")
    paths = [str(tmp_path / place / "notes.md") for place in ("a/x", "b/x", "c/y")]
    told = json.loads(loci(data, "add", *paths, paths[0], "--json").stdout)["result"]
    assert [(one["path"], one["version"]) for one in told] == [
        ("a/x/notes.md", 1),
        ("b/x/notes.md", 1),
        ("y/notes.md", 1),
        ("a/x/notes.md", 1),
    ]


def test_standard_input_is_a_file_that_needs_a_name(data: Path) -> None:
    assert "Add --name" in loci(data, "add", "-").stderr
    told = subprocess.run(
        [*LOCI, "add", "-", "--name", "notes.md"],
        env=clean_environment(data),
        input=b"Ann buys the tickets.\n",
        capture_output=True,
        check=True,
    )
    assert b"notes.md  ds-" in told.stdout


def test_files_are_listed_shown_searched_and_forgotten(data: Path, papers: Path) -> None:
    id = added(data, str(papers / "trip.md"))["trip.md"]["id"]
    assert loci(data, "files", "list").stdout == f"trip.md  {id}  (md, version 1, 1 passage)\n"
    shown = json.loads(loci(data, "files", "show", "trip.md", "--json").stdout)
    assert [one["version"] for one in shown[id]["history"]] == [1]
    found = loci(data, "files", "search", "who buys tickets").stdout
    assert found.startswith(f"1. trip.md  {id}\n")
    assert "Ann buys the tickets." in found
    assert "There is no file 'x.md'" in loci(data, "files", "forget", "-y", "x.md", "trip.md").stderr
    assert loci(data, "files", "forget", "-y", id).stdout == "Forgot 1 file.\n"
    assert loci(data, "files", "list").stdout.startswith("There are no files yet.")


def test_an_empty_question_is_an_error_and_a_reason_names_its_file_once(data: Path, papers: Path) -> None:
    asked = loci(data, "files", "search", " ")
    assert (asked.returncode, asked.stderr.startswith("loci: The question is empty.")) == (1, True)
    (papers / "bad.pdf").write_text("no pdf")
    assert loci(data, "add", str(papers / "bad.pdf")).stdout.count("bad.pdf") == 1


def test_what_could_not_be_read_is_read_again_on_request(data: Path, papers: Path) -> None:
    (papers / "empty.md").write_text("")
    loci(data, "add", str(papers / "empty.md"), str(papers / "trip.md"))
    again = loci(data, "files", "read")
    assert (again.returncode, again.stdout.splitlines()[-1]) == (1, "0 read, 1 not.")
    every = loci(data, "files", "read", "--all")
    assert every.stdout.splitlines()[-1] == "1 read, 1 not."


@pytest.mark.anyio
async def test_over_stdio_an_upload_is_refused_with_the_ways_that_work(data: Path) -> None:
    command = ["-m", "loci", "serve", "--stdio"]
    server = StdioServerParameters(command=sys.executable, args=command, env=clean_environment(data))
    async with Client(stdio_client(server)) as client:
        answer = await client.call_tool("add_memory", {"name": "trip.pdf", "upload_bytes": 10})
    assert answer.is_error
    assert texts(answer)[0].startswith("NO_UPLOADS: ")
    assert "loci add trip.pdf" in texts(answer)[0]


def test_a_server_reads_what_a_killed_process_had_accepted(data: Path) -> None:
    app = build_app(load_settings({"data": data, "models": data.parent / "models"}))
    file, _ = app.files.parts.ingest.accept(LOCAL, "trip.md", b"Ann buys the tickets.\n")
    with serving(data) as server:

        def status() -> str:
            answer = post(f"{server.url}/mcp", call("ingestion_status", {"memory_ids": [file.id]}))
            return answer.message()["result"]["structuredContent"]["result"][0]["status"]

        until(lambda: status() == "okay")


def test_a_server_tells_its_workbooks_without_loading_what_reads_or_computes(data: Path, papers: Path) -> None:
    (papers / "costs.xlsx").write_bytes(xlsx(("Costs", [["City", "Cost"], ["Berlin", 40]])))
    assert added(data, str(papers / "costs.xlsx"))["costs.xlsx"]["status"] == "okay"
    command = [sys.executable, "-c", FIRST_CALL]
    ran = subprocess.run(command, env=clean_environment(data), capture_output=True, text=True, check=True)
    workbooks, modules = ast.literal_eval(ran.stdout.splitlines()[-1])
    assert workbooks == 1
    assert not READERS.intersection(modules)
    assert not [one for one in modules if one.startswith("loci.files.extract.")]
