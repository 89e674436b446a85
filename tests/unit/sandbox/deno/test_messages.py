"""Lines of a process that nobody trusts."""

import json

import pytest

from loci.sandbox.supervisor.bounded_json import LARGE, TooManyPartsError
from loci.sandbox.supervisor.deno_messages import (
    BadResultError,
    Logged,
    OverLimit,
    Ready,
    Returned,
    Thrown,
    ToolRequest,
    parsed,
)
from tests.support.each import each


def test_what_the_runner_says_is_understood() -> None:
    assert parsed(b'{"t":"ready"}') == Ready()
    assert parsed(b'{"t":"log","level":"warn","text":"a"}') == Logged("warn", "a")
    assert parsed(b'{"t":"call","n":1,"tool":"a:b","args":{"x":1}}') == ToolRequest(1, "a:b", {"x": 1}, 46)
    assert parsed(b'{"t":"result","value":[1],"seen":[],"dropped":2}') == Returned([1], None, seen=False, dropped=2)
    assert parsed(b'{"t":"limit","what":"depth"}') == OverLimit("depth", "", 0)
    assert parsed(b'{"t":"limit","what":[],"message":"many","dropped":3}') == OverLimit("values", "many", 3)
    error = parsed(
        b'{"t":"error","name":"A","message":"b","line":1,"column":2,"stack":[{"name":"f","line":1,"column":2}]}'
    )
    assert error == Thrown("A", "b", 1, 2, None, [("f", 1, 2)], 0)


@each(
    "line",
    [
        *(b"", b"plain", b"[]", b"null", b"5", b"\xff\xfe", b'{"t":5}', b'{"t":"other"}', b'{"json":5}'),
        b'{"t":"call","n":{},"tool":[]}',
        b'{"t":"call","n":1.5,"tool":"a"}',
        b'{"t":"result","value":NaN}',
        b'{"t":"call","n":' + b"9" * 5000 + b',"tool":"a"}',
        b"[" * 200_000,
    ],
)
def test_what_is_no_message_was_printed(line: bytes) -> None:
    assert isinstance(parsed(line), Logged)


@each("value", [b"1e999", b"[" * 200 + b"]" * 200, b'{"a":[-1e999]}'])
def test_a_result_that_could_not_be_sent_on_is_none(value: bytes) -> None:
    with pytest.raises(BadResultError):
        parsed(b'{"t":"result","value":' + value + b"}")


def test_half_a_character_becomes_a_mark() -> None:
    assert parsed(b'{"t":"result","value":{"\\ud800":"\\udfff"},"seen":[]}') == Returned({"?": "?"}, None, False, 0)


def test_a_result_that_does_not_say_what_it_saw_is_not_remembered() -> None:
    told = parsed(b'{"t":"result","value":1}')
    assert isinstance(told, Returned)
    assert told.seen


@each("part", ["\n", '"', "\\", "\\n", "é", "€", "😀", "\ud800", "\udc00\ud800", ',"[{:'])
def test_a_long_text_stays_as_it_is(part: str) -> None:
    for more in range(2):
        text = "x" * more + part * (LARGE // len(json.dumps(part)) + 1)
        value = json.dumps({"a": [text, 1, 2.5], "b": "c"}, ensure_ascii=more % 2 == 0 or "\ud800" in text)
        told = parsed(f'{{"t":"result","value":{value}}}'.encode())
        assert isinstance(told, Returned)
        whole = json.loads(json.dumps(text)).encode("utf-8", "replace").decode()
        assert told.value == {"a": [whole, 1, 2.5], "b": "c"}


@each("value", [b"[" + b"[]," * 400_000 + b"[]]", b"[" + b'"",' * 400_000 + b"1]"])
def test_more_parts_than_may_be_read_are_refused_before_they_are_parsed(value: bytes) -> None:
    with pytest.raises(TooManyPartsError, match="more than"):
        parsed(b'{"t":"result","value":' + value + b"}")


def test_lists_are_counted_in_no_other_encoding() -> None:
    told = json.dumps({"t": "result", "value": ['"', *[[]] * 400_000]}, separators=(",", ":"))
    assert isinstance(parsed(told.encode("utf-16-le")), Logged)
