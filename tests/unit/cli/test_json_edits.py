"""Whatever a person wrote around it, an entry goes in and out of a file of servers, and the rest stays byte by byte."""

import json
from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from loci.cli.json_edits import entry_in, read_json, with_entry, without_entry
from loci.core.errors import Refused
from loci.core.json import JsonObject
from tests.support.each import each
from tests.unit.linear.growth import faulty_growth
from tests.unit.linear.shapes import repeated

ENTRY: JsonObject = {"url": "https://loci.example.com/mcp", "headers": {"Authorization": "Bearer x"}}
NAMES = st.text('ab/*"\\{}[],:é\n', min_size=1, max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
SERVERS = st.dictionaries(NAMES, VALUES, max_size=3)
REMARKS = st.sampled_from(["", ' // it\'s "a", {remark}', " /* of [two\nlines, */"])


def remarked(text: str, remark: str) -> str:
    """With a remark behind each line, and a comma behind each last one."""
    lines = text.split("\n")
    return "\n".join(line if line.endswith("\\") else f"{line}{remark}" for line in lines)


@settings(deadline=None)
@given(SERVERS, st.sampled_from([None, 1, 2, "\t"]), REMARKS, st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_an_entry_goes_in_and_out(servers: dict[str, Any], indent: Any, remark: str, last: bool, line_end: str) -> None:
    value = {"x": [1], "servers": servers, "z": {}}
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    if indent is not None:
        text = remarked(text, remark).replace("\n", line_end)
        text = text.replace("]", ",]") if last and "[]" not in text and "]" not in str(servers) else text
    added = with_entry(text, "servers", "loci", ENTRY)
    assert read_json(added) == {**value, "servers": {**servers, "loci": ENTRY}}
    assert entry_in(added, "servers", "loci") == ENTRY
    changed = with_entry(added, "servers", "loci", {"url": "x"})
    assert read_json(changed) == {**value, "servers": {**servers, "loci": {"url": "x"}}}
    assert without_entry(added, "servers", "loci") == text == without_entry(changed, "servers", "loci")


@settings(deadline=None)
@given(st.text('{}[],:"/*\\ \n1at', max_size=30))
def test_what_json_reads_is_read_the_same(text: str) -> None:
    try:
        value = json.loads(text)
    except ValueError:
        return
    assert read_json(text) == value


@each("token", ['\\"', "/* ", "{", ",", ", ", "\\\n"])
def test_what_breaks_off_is_refused_in_linear_time(token: str) -> None:
    def read(text: str) -> None:
        with suppress(Refused):
            read_json(text)

    assert faulty_growth(read, repeated('{"a": "', token, ""), most=16_000) is None
    assert faulty_growth(read, repeated('{"a": 1} ', token, ""), most=16_000) is None
