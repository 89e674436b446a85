"""The names under which code finds tools."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from loci.code.bridge import Bridge, clients, spellings
from loci.compose import build_app
from loci.core.errors import NotFound
from loci.core.identity import LOCAL_CALLER
from loci.core.settings import load_settings
from loci.sandbox.supervisor.deno_messages import ToolClient
from tests.support.each import each


@each(
    ("name", "expected"),
    [
        ("list_commits", ("list_commits", "listCommits")),
        ("listCommits", ("listCommits", "list_commits")),
        ("my-server", ("my_server", "myServer")),
        ("API.get/URLMap", ("api_get_url_map", "apiGetUrlMap")),
        ("github", ("github",)),
        ("2fa", ()),
        ("über", ("ber",)),
        ("", ("_",)),
    ],
)
def test_a_name_is_spelled_as_code_can_write_it(name: str, expected: tuple[str, ...]) -> None:
    assert spellings(name) == expected


def test_tools_are_grouped_by_server() -> None:
    assert clients(["github:list_commits", "fs:read", "github:star"]) == (
        ToolClient(("github",), (("github:list_commits", ("list_commits", "listCommits")), ("github:star", ("star",)))),
        ToolClient(("fs",), (("fs:read", ("read",)),)),
    )


def test_of_two_with_the_same_name_the_first_has_it() -> None:
    first, second = clients(["a-b:read-file", "a-b:read_file", "a_b:x"])
    assert first.tools == (("a-b:read-file", ("read_file", "readFile")), ("a-b:read_file", ()))
    assert second.names == ()


def test_a_tool_that_the_run_was_not_given_is_not_called(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(build_app(load_settings({"data": tmp_path, "models": tmp_path / "models"}))) as app:
        bridge = Bridge(app.tools, LOCAL_CALLER, "list the scratchpad")
        assert "loci:scratchpad_list" in bridge.tools
        assert "loci:delete_memory" not in bridge.tools
        with pytest.raises(NotFound, match="was not given"):
            bridge.call("loci:delete_memory", {"memory_id": "any"})
        bridge.call("loci:scratchpad_list", {})
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["tool"] for line in lines if line["message"] == "call"] == ["scratchpad_list"]
    assert (dict(bridge.called), bridge.worked) == ({"loci:scratchpad_list": 1}, ["loci:scratchpad_list"])
