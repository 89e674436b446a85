"""What hides in a text that a person decides about is written out."""

import json

from loci.core.seen import visible
from tests.support.each import each


@each("one", [*"\u202e\u2066\u200b\u200f\ufeff\u00ad\x1b\r\u2028\U000e0041\u034f\u115f\u1160\u2800\u3164\uffa0\ufe01"])
def test_what_turns_a_line_around_or_hides_is_an_escape(one: str) -> None:
    shown = visible(f"rm {one}x")
    assert one not in shown
    assert shown.startswith("rm \\")


def test_no_text_hides_in_selectors_and_joiners_behind_a_picture() -> None:
    hidden = "\ufe0f\ufe0e\ufe0f\u200c\u200d\ufe0f\u200c\ufe0e"
    assert visible(f"😊{hidden}") == "😊\ufe0f" + "".join(rf"\u{ord(one):04x}" for one in hidden[1:])


def test_what_is_json_stays_the_same_json() -> None:
    value = {"path": "a\u202eb\u200b", "text": "\n\t"}
    assert json.loads(visible(json.dumps(value, ensure_ascii=False))) == value


@each("text", ["plain\n\ttext", "größe 日本 שלום مرحبا", "👩\u200d💻", "क्\u200dष", "❤\ufe0f\u200d🔥 1\ufe0f⃣"])
def test_plain_texts_of_all_scripts_and_pictures_stay(text: str) -> None:
    assert visible(text) == text
