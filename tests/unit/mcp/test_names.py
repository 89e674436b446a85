"""Tool names and their spellings."""

import pytest

from loci.mcp.tool import WIRE, wire_name
from loci.mcp.tool_catalog import ToolNames
from tests.support.each import each

REFERENCE = ("pml:search_tools", "pml:execute_dag", "scratchpad_read", "filesystem:read_file", "github:read_file")


@each(
    ("id", "wire"),
    [
        ("pml:search_tools", "pml_search_tools"),
        ("scratchpad_read", "scratchpad_read"),
        ("my-server:Get.Thing", "my_server_get_thing"),
    ],
)
def test_a_wire_name_has_no_character_that_a_client_refuses(id: str, wire: str) -> None:
    assert wire_name(id) == wire
    assert WIRE.fullmatch(wire)


@each("id", ["", "9lives:run", "a" * 49, "é"])
def test_an_id_without_a_valid_wire_name_is_refused(id: str) -> None:
    with pytest.raises(ValueError, match="no valid wire name"):
        wire_name(id)


@each("spelling", ["pml:search_tools", "pml_search_tools", "search_tools"])
def test_each_spelling_finds_the_tool(spelling: str) -> None:
    assert ToolNames(REFERENCE).find(spelling) == "pml_search_tools"


@each("spelling", ["loci:scratchpad_read", "loci_scratchpad_read", "scratchpad_read"])
def test_a_tool_without_a_server_is_found_under_loci(spelling: str) -> None:
    assert ToolNames(REFERENCE).find(spelling) == "scratchpad_read"


def test_a_short_name_that_two_tools_have_finds_neither() -> None:
    names = ToolNames(REFERENCE)
    assert names.find("read_file") is None
    assert names.find("github_read_file") == "github_read_file"


def test_a_tools_own_name_wins_over_anothers_short_one() -> None:
    assert ToolNames(("pml:ping", "ping")).find("ping") == "ping"


def test_two_ids_with_one_wire_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two tools"):
        ToolNames(("a:b_c", "a_b:c"))


def test_no_tool_is_found_behind_nonsense() -> None:
    assert ToolNames(REFERENCE).find("rm -rf") is None
