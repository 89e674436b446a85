"""`loci graph`, and the pages of a server, which load on the first visit."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.in_process import loci
from tests.support.serving import clean_environment

NOTES = {
    "notes/plan.md": "# The <plan>\n\nSee [[log]] and [[nobody]].\n",
    "notes/log.md": "# The log\n\nNothing yet.\n",
}
LATE = "import sys, loci.mcp.http.application; sys.exit(any(name.startswith('loci.web') for name in sys.modules))"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for path, text in NOTES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text, "utf-8")
    assert loci(tmp_path / "data", "ingest", str(tmp_path / "notes")).returncode == 0
    return tmp_path / "data"


def test_the_page_is_one_file_with_the_texts_in_it(data: Path, tmp_path: Path) -> None:
    page = tmp_path / "graph.html"
    made = loci(data, "graph", "--html", str(page), "--title", "A <b>plan")
    assert "2 documents, 1 links, 1 open links, 0 gaps" in made.stdout
    text = page.read_text("utf-8")
    assert "<title>A &lt;b&gt;plan</title>" in text
    assert "Nothing yet." in text
    assert sorted(one.name for one in tmp_path.iterdir() if "graph" in one.name) == ["graph.html"]


def test_programs_get_the_graph_by_ids(data: Path) -> None:
    made = json.loads(loci(data, "graph", "--json").stdout)
    assert [one["id"] for one in made["documents"]] == ["notes-log", "notes-plan"]
    assert (made["gaps"], made["compared_by"]) == ([], "TF-IDF")
    asked = '{"id": "notes-plan", "unresolved": true}'
    edges = json.loads(loci(data, "call", "explore_links", asked).stdout)["result"]
    written = [one for one in edges if not one["inferred"]]
    assert [one["title"] for one in written] == ["The log", "nobody"]
    for link, edge in zip([*made["links"], *made["open_links"]], written, strict=True):
        assert link["source"] == "notes-plan"
        assert {name: edge[name] for name in link if name != "source"} == {
            name: value for name, value in link.items() if name != "source"
        }


def test_gaps_and_clusters_for_programs_have_the_fields_of_the_tools(tmp_path: Path) -> None:
    data, notes = tmp_path / "data", tmp_path / "notes"
    notes.mkdir()
    tides = (
        "# Tides\n\nThe harbour has a high tide and a low tide. The moon pulls the sea against the wall of the harbour"
    )
    texts = [
        f"{tides}, at noon.\n",
        f"{tides}, and boats wait.\n",
        "# Bread\n\nFlour and salt.\n",
        "# Taxes\n\nForms.\n",
    ]
    for at, text in enumerate(texts):
        (notes / f"{at}.md").write_text(text)
    assert loci(data, "ingest", str(notes)).returncode == 0
    made = json.loads(loci(data, "graph", "--json").stdout)
    found = json.loads(loci(data, "call", "find_gaps", '{"threshold": 0, "limit": 50}').stdout)["result"]
    gaps = {(one["source_id"], one["target_id"]): one for one in found}
    assert made["gaps"]
    for gap in made["gaps"]:
        assert gap == gaps[gap["source_id"], gap["target_id"]]
        assert gap["reason"].startswith("Both are about ")
    clusters = json.loads(loci(data, "call", "cluster_documents").stdout)["clusters"]
    assert made["clusters"] == [{name: one[name] for name in ("id", "label", "size")} for one in clusters]


def test_without_gaps_nothing_is_compared(data: Path) -> None:
    assert json.loads(loci(data, "graph", "--json", "--no-gaps").stdout)["compared_by"] is None


def test_without_an_output_the_command_says_what_to_add(data: Path) -> None:
    made = loci(data, "graph")
    assert made.returncode == 1
    assert "--html FILE" in made.stderr


def test_a_page_that_cannot_be_written_leaves_what_was_there(data: Path, tmp_path: Path) -> None:
    made = loci(data, "graph", "--html", str(tmp_path / "nowhere" / "graph.html"))
    assert made.returncode == 1
    assert "Name a file in an existing folder" in made.stderr
    taken = loci(data, "graph", "--html", str(tmp_path / "notes"))
    assert taken.returncode == 1
    assert not list(tmp_path.glob(".notes*"))


def test_a_server_loads_the_pages_when_somebody_looks(tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", LATE], env=clean_environment(tmp_path / "data"), check=False)
    assert ended.returncode == 0
