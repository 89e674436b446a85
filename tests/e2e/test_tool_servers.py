"""`loci tools`, and calls of upstream tools through `loci call`."""

import json
import sys
from pathlib import Path

import pytest

from tests.e2e.in_process import loci
from tests.support.each import each
from tests.support.serving import piped

ROOT = Path(__file__).parents[2]
ENTRY = {"command": sys.executable, "args": ["-m", "tests.support.upstream_server"], "cwd": str(ROOT)}
COMMAND = (sys.executable, "-m", "tests.support.upstream_server")


def clients_file(folder: Path, **servers: object) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return str(path)


def test_a_server_of_a_client_s_file_is_imported_and_its_tools_are_called(tmp_path: Path) -> None:
    data = tmp_path / "data"
    imported = loci(data, "tools", "import", clients_file(tmp_path, **{"my shop": ENTRY}))
    assert imported.returncode == 0, imported.stderr
    assert "my-shop" in imported.stdout
    assert "7 tools: add_numbers, draw_cat, break_plate, long_story, advise, stack_plates, gaps" in imported.stdout
    called = loci(data, "call", "my-shop:add_numbers", '{"a": 2, "b": 3}')
    assert json.loads(called.stdout) == {"sum": 5}
    assert called.stderr == ""


def test_a_server_that_loci_has_already_stays_as_it_is(tmp_path: Path) -> None:
    data = tmp_path / "data"
    file = clients_file(tmp_path, shop=ENTRY)
    assert loci(data, "tools", "import", file).returncode == 0
    other = clients_file(tmp_path / "other", shop={"command": "nothing"})
    again = loci(data, "tools", "import", other)
    assert (again.returncode, "nothing new" in again.stdout, "kept as it is" in again.stderr) == (0, True, True)
    [listed] = json.loads(loci(data, "tools", "list", "--json").stdout)["servers"]
    assert (listed["name"], len(listed["tools"]), listed["failure"]) == ("shop", 7, None)


def test_the_servers_of_claude_code_s_projects_are_imported_and_places_without_any_are_named(tmp_path: Path) -> None:
    home, one, other = (tmp_path / name for name in ("home", "one", "other"))
    for folder in (home, one, other):
        folder.mkdir()
    shared = {"enabled": {"command": "true"}, "foreign": {"command": "true"}}
    (one / ".mcp.json").write_text(json.dumps({"mcpServers": shared}))
    projects: dict[str, object] = {
        str(one): {"mcpServers": {"shop": ENTRY}, "enabledMcpjsonServers": ["enabled"]},
        str(other): {"mcpServers": {"notes": {"command": "true"}}, "history": []},
        str(tmp_path / "gone"): {"enabledMcpjsonServers": ["enabled"]},
    }
    (home / ".claude.json").write_text(json.dumps({"numStartups": 3, "projects": projects}))
    variables = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "none"), "CLAUDE_CONFIG_DIR": str(home)}
    imported = loci(tmp_path / "data", "tools", "import", "--json", **variables)
    told = json.loads(imported.stdout)
    assert [(one["name"], len(one["tools"])) for one in told["servers"]] == [("shop", 7)]
    assert [one["name"] for one in told["failed"]] == ["enabled", "notes"]  # the program `true` ends at once
    assert f"No servers in {home / '.cursor' / 'mcp.json'} (there is no such file)" in imported.stderr
    assert ".claude.json" not in imported.stderr


def test_a_server_with_the_name_of_loci_s_own_tools_is_not_imported(tmp_path: Path) -> None:
    imported = loci(tmp_path / "data", "tools", "import", clients_file(tmp_path, loci=ENTRY, shop=ENTRY))
    assert (imported.returncode, "'loci' is the name of Loci's own tools" in imported.stderr) == (0, True)
    assert imported.stdout.startswith("shop  ")


def test_only_the_operators_word_trusts_views(tmp_path: Path) -> None:
    data, told = tmp_path / "data", "Its views are passed on"
    imported = loci(data, "tools", "import", clients_file(tmp_path, shop=ENTRY | {"trust_views": True}))
    assert (imported.returncode, told in imported.stdout) == (0, False)
    added = loci(data, "tools", "add", "shop", "--trust-views", "--", *COMMAND)
    assert (added.returncode, told in added.stdout, told in loci(data, "tools", "list").stdout) == (0, True, True)
    again = loci(data, "tools", "add", "shop", "--", *COMMAND)
    assert (again.returncode, told in again.stdout) == (0, False)


def test_the_last_calls_are_shown_with_their_door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loci.gateway.waiting_calls.PATIENCE", 0.0)
    data = tmp_path / "data"
    assert "No tool of a server has been called" in loci(data, "tools", "log").stdout
    assert loci(data, "tools", "add", "shop", "--approve", "break_*", "--", *COMMAND).returncode == 0
    assert loci(data, "call", "shop:draw_cat").returncode == 0
    refused = loci(data, "call", "shop:break_plate", '{"plate": "china"}')
    assert (refused.returncode, refused.stderr.startswith("APPROVAL_PENDING: ")) == (1, True)
    told = [
        (one["tool"], one["door"], one["outcome"])
        for one in json.loads(loci(data, "tools", "log", "--json").stdout)["calls"]
    ]
    assert told == [("shop:break_plate", "cli", "APPROVAL_PENDING"), ("shop:draw_cat", "cli", "ok")]


def test_without_a_file_the_servers_of_clients_on_this_machine_are_imported(tmp_path: Path) -> None:
    home = tmp_path / "home"
    clients_file(home / ".cursor", shop=ENTRY)
    imported = loci(tmp_path / "data", "tools", "import", "--json", HOME=str(home), XDG_CONFIG_HOME=str(home / "none"))
    assert [one["name"] for one in json.loads(imported.stdout)["servers"]] == ["shop"]


def test_tools_for_programs_are_named_as_a_search_names_them(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert loci(data, "tools", "add", "shop", "--approve", "break_*", "--", *COMMAND).returncode == 0
    found = json.loads(loci(data, "call", "pml_search_tools", '{"query": "break a plate", "limit": 50}').stdout)
    wanted = {one["tool_id"]: one for one in found["tools"] if one["name"].startswith("shop:")}
    [server] = json.loads(loci(data, "tools", "list", "--json").stdout)["servers"]
    listed = {one["tool_id"]: one for one in server["tools"]}
    assert wanted
    for id, one in wanted.items():
        assert listed[id] == {name: one[name] for name in one if name not in ("score", "related", "why", "returns")}


def test_a_server_is_added_tested_and_removed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    dead = {"command": sys.executable, "args": ["-c", "raise SystemExit('no licence')"]}
    file = clients_file(tmp_path, dead=dead, shop=ENTRY)
    added = loci(data, "tools", "import", file)
    assert (added.returncode, added.stdout.startswith("shop  "), "dead" in added.stdout) == (1, True, False)
    assert all(one in added.stderr for one in (f"dead, from {file}", "no licence", "give --anyway")), added.stderr
    assert [one["name"] for one in json.loads(loci(data, "tools", "list", "--json").stdout)["servers"]] == ["shop"]
    assert loci(data, "tools", "remove", "shop").returncode == 0
    added = loci(data, "tools", "import", "--anyway", clients_file(tmp_path, dead=dead))
    assert (added.returncode, "no licence" in added.stdout) == (1, True)
    assert loci(data, "tools", "test").returncode == 1
    assert loci(data, "tools", "remove", "dead").stdout == "Removed dead.\n"
    assert "no tool servers" in loci(data, "tools", "list").stdout
    gone = loci(data, "tools", "test", "dead")
    assert (gone.returncode, "There is no tool server 'dead'" in gone.stderr) == (1, True)


@each(
    ("command", "says"),
    [
        (("/no/such/npx", "-y", "x"), ("/no/such/npx could not be started", "Node.js")),
        (("/no/such/uvx", "x"), ("(No such file or directory)", "Install uv")),
        (("/no/such/docker", "run", "x"), ("", "Install Docker")),
        ((__file__,), ("(Permission denied)", "give its whole path")),
        ((sys.executable, "-c", "raise SystemExit('no licence')"), ("it ended with code 1", "no licence")),
    ],
)
def test_a_program_that_does_not_start_changes_nothing(
    tmp_path: Path, command: tuple[str, ...], says: tuple[str, ...]
) -> None:
    data = tmp_path / says[-1]
    refused = loci(data, "tools", "add", "shop", "--", *command)
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (1, "", 1)
    assert all(one in refused.stderr for one in ("Nothing was changed", *says)), refused.stderr
    assert "no tool servers" in loci(data, "tools", "list").stdout
    assert loci(data, "tools", "add", "shop", "--deny", "advise", "--", *COMMAND).returncode == 0
    assert loci(data, "tools", "add", "shop", "--", *command).returncode == 1
    assert json.loads(loci(data, "call", "shop:add_numbers", '{"a": 2, "b": 3}').stdout) == {"sum": 5}
    assert "TOOL_DENIED" in loci(data, "call", "shop:advise", "{}").stderr


def test_what_is_no_server_is_refused_and_nothing_is_kept(tmp_path: Path) -> None:
    data = tmp_path / "data"
    for given, why in (
        (("add", "a b", "x"), "is no name"),
        (("add", "pml", "x"), "Loci's own"),
        (("add", "x", "https://"), "is no URL"),
        (("add", "x", "https://e.com/mcp", "--header", "Token"), "--header"),
        (("add", "x", "https://e.com/mcp", "--header", "A: ${NOT_SET_AT_ALL}"), "NOT_SET_AT_ALL"),
        (("import", str(tmp_path / "missing.json")), "cannot be read"),
    ):
        refused = loci(data, "tools", *given)
        assert refused.returncode == 1, given
        assert why in refused.stderr, refused.stderr
    assert "no tool servers" in loci(data, "tools", "list").stdout


def test_a_secret_fills_in_an_entry(tmp_path: Path) -> None:
    data = tmp_path / "data"
    stored = piped(data, "t0p-s3cret\n", "tools", "secret", "SHOP_TOKEN")
    assert (stored.returncode, "t0p-s3cret" in stored.stdout) == (0, False), stored.stderr
    command = (sys.executable, "-c", "import os; t = os.environ['TOKEN']; raise SystemExit(f'{len(t)} of {t}')")
    added = loci(data, "tools", "add", "shop", "--env", "TOKEN=${SHOP_TOKEN}", "--", *command)
    assert "10 of ***" in added.stderr
    assert loci(data, "tools", "add", "shop", "--env", "TOKEN=${SHOP_TOKEN}", "--", *COMMAND).returncode == 0
    assert loci(data, "tools", "secret", "--list").stdout == "SHOP_TOKEN\n"
    assert loci(data, "tools", "secret", "SHOP_TOKEN", "--remove").returncode == 0
    refused = loci(data, "tools", "test", "shop")
    assert "it needs SHOP_TOKEN. Store it with: loci tools secret SHOP_TOKEN" in refused.stdout


def test_a_secret_is_no_argument_and_not_empty(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert "1 to 16384 characters" in piped(data, "", "tools", "secret", "SHOP_TOKEN").stderr
    assert "Give a name, or --list" in loci(data, "tools", "secret").stderr
    assert "no name for a secret" in piped(data, "x", "tools", "secret", "A-B").stderr
