"""Parts of pages that are made from data beside the code or the tests, between marks of the page."""

from collections.abc import Callable
from pathlib import Path

from tests.attack.sandbox import classes

PARTS: dict[str, dict[str, Callable[[], str]]] = {
    "security.md": {"classes": classes.table},
}
"""By page, the parts by their marks."""


def renewed(page: Path) -> str:
    """The text of the page, with all its parts as they are now."""
    text = page.read_text("utf-8")
    for mark, made in PARTS[page.name].items():
        before, begin, rest = text.partition(f"<!-- {mark} -->\n")
        _, end, after = rest.partition(f"<!-- /{mark} -->")
        assert end, f"{page.name} has no marks for {mark}"
        text = before + begin + made() + end + after
    return text
