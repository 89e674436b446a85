"""`loci log`: the log of calls of this machine and of a server, as a table and as JSON."""

import json
from pathlib import Path

from tests.e2e.in_process import loci
from tests.support.each import each
from tests.support.polling import until
from tests.support.serving import Serving, call, post, serving


def test_calls_of_this_machine_and_of_a_server_are_shown(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert loci(data, "call", "scratchpad_list").returncode == 0
    assert loci(data, "call", "scratchpad_read", '{"id": "a_secret_word"}').returncode == 1
    with serving(data) as server:
        post(f"{server.url}/mcp", call("scratchpad_list"))
        lines = until(lambda: _three(data, server))
        with_table = loci(data, "log")
    doors = [(one["door"], one["tool"], one["code"], one["proof"]) for one in map(json.loads, lines)]
    failed = ("cli", "scratchpad_read", "SCRATCHPAD_NOT_FOUND", "local")
    assert doors == [("cli", "scratchpad_list", "", "local"), failed, ("mcp", "scratchpad_list", "", "local")]
    here = loci(data, "log", "--json", "--since", "2020-01-01", "--tool", "scratchpad_list").stdout.splitlines()
    assert here == [lines[0], lines[2]]
    head, *rows = with_table.stdout.splitlines()
    assert head.split() == ["at", "tool", "outcome", "ms", "door", "client", "by"]
    assert [row.split()[2] for row in rows] == ["scratchpad_list", "scratchpad_read", "scratchpad_list"]
    assert "a_secret_word" not in "".join((*lines, with_table.stdout))


def test_what_was_written_is_shown_with_its_trust(tmp_path: Path) -> None:
    data = tmp_path / "data"
    for path, text in (("clip.md", "---\ntrust: foreign\n---\n# Clip\n"), ("own.md", "# Own\n")):
        arguments = json.dumps({"path": path, "content": text})
        assert loci(data, "call", "write_document", arguments).returncode == 0
    assert loci(data, "call", "read_node_content", '{"id": "clip.md"}').returncode == 0
    with serving(data) as server:
        after = json.dumps({"path": "made.md", "content": "# Made\n", "supersedes": "own.md"})
        assert loci(data, "call", "write_document", after).returncode == 0
        lines = loci(data, "log", "--writes", "--json").stdout.splitlines()
        remote = loci(data, "log", "--writes", "--json", "--url", server.url).stdout.splitlines()
    assert remote == lines
    told = [(one["name"], one["trust"], one["sources"]) for one in map(json.loads, lines)]
    after_reading = [(name, "foreign", ["note clip.md"]) for name in ("made.md", "own.md")]
    assert told == [("clip.md", "own", []), ("own.md", "own", []), *after_reading]
    head, *rows = loci(data, "log", "--writes").stdout.splitlines()
    assert head.split() == ["at", "tool", "name", "trust", "client", "by", "sources"]
    assert [row.split()[2:5] for row in rows] == [
        *(["write_document", "clip.md", "own"], ["write_document", "own.md", "own"]),
        *(["write_document", one, "foreign"] for one in ("made.md", "own.md")),
    ]
    assert loci(data, "call", "undo_write", '{"path": "own.md"}').returncode == 0
    undone = loci(data, "log", "--writes", "--json", "--tool", "undo_write").stdout.splitlines()
    assert [json.loads(one)["name"] for one in undone] == ["own.md", "made.md"]


def _three(data: Path, server: Serving) -> list[str] | None:
    lines = loci(data, "log", "--json", "--url", server.url).stdout.splitlines()
    return lines if len(lines) == 3 else None


@each("since", ["yesterday", "d", "2026-13-01", ""])
def test_a_time_that_is_none_is_refused_with_an_example(tmp_path: Path, since: str) -> None:
    refused = loci(tmp_path / "data", "log", "--since", since or "x")
    assert (refused.returncode, "30m, 12h, 7d" in refused.stderr) == (1, True)
