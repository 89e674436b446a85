"""The names under which code finds tools."""

from pathlib import Path

import pytest

from loci.code.bridge import Bridge, clients, spellings
from loci.code.typescript_run import ToolClient
from loci.core.errors import NotFound
from loci.core.identity import LOCAL_CALLER
from tests.support.tool_set import ToolSet


@pytest.mark.parametrize(
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


def test_a_tool_that_the_run_was_not_given_is_not_called(tmp_path: Path) -> None:
    tools = ToolSet(tmp_path)
    with pytest.raises(NotFound, match="was not given"):
        Bridge(tools, LOCAL_CALLER, "read files").call("github:list_commits", {})
    assert tools.called == []
