"""What hides in a text that a person decides about is written out."""

import json

from loci.web.seen import seen
from tests.support.each import each


@each("one", [*"\u202e\u2066\u200b\u200f\ufeff\u00ad\x1b\r\u2028\U000e0041\u034f\u115f\u1160\u2800\u3164\uffa0"])
def test_what_turns_a_line_around_or_hides_is_an_escape(one: str) -> None:
    shown = seen(f"rm {one}x")
    assert one not in shown
    assert shown.startswith("rm \\")


def test_what_is_json_stays_the_same_json() -> None:
    value = {"path": "a\u202eb\u200b", "text": "\n\t"}
    assert json.loads(seen(json.dumps(value, ensure_ascii=False))) == value


@each("text", ["plain\n\ttext", "größe 日本 שלום مرحبا", "👩\u200d💻", "क्\u200dष"])
def test_plain_texts_of_all_scripts_stay(text: str) -> None:
    assert seen(text) == text
