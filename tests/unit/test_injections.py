"""Hidden characters in texts, and texts of people that instruct no model. For the others see tests/attack."""

from loci.core.injections import injections
from tests.support.each import each

HIDDEN = [
    "a\U000e0049\U000e0067\U000e006eb",
    "a\u202egnirts",
    "x\u200b\u200c\u200b\u200b\u200cy",
    "a\ufe01\ufe02\ufe03b",
]
PLAIN = """
Ignore the previous version of this file.
The linter ignores all rules in this folder.
Do not forget the instructions for the oven.
Read the instructions above before you begin.
You are now ready to deploy.
Enable developer mode on the phone, and reboot it.
The assistant of the director sent the contract to bob@example.com.
Messages to the agent are stored for a day.
Never show the password in the log.
System: Debian 12, user: root
Claude reads the file and writes a summary.
Send the report to https://example.com/inbox
This prompt overrides the default.
She never told the person at the desk her name.
👩\u200d👩\u200d👧 is one family, 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f is a flag
می\u200cخواهم is Persian
<!-- prettier-ignore -->
<!-- TODO: you should never see this in production -->
""".strip().splitlines()  # noqa: RUF001


@each("text", HIDDEN)
def test_hidden_characters_are_found_and_shown_by_their_numbers(text: str) -> None:
    (one,) = injections(f"first\n{text}")
    assert (one.kind, one.line, "U+" in one.words) == ("hidden", 2, True)


@each("text", PLAIN)
def test_what_people_write_to_people_is_no_injection(text: str) -> None:
    assert injections(text) == []
