"""Parts of pages that are made from data beside the code or the tests, between marks of the page."""

from collections.abc import Callable
from pathlib import Path

from loci.sandbox.supervisor.deno_starter import SYSTEM_CALLS
from tests.attack.sandbox import classes
from tests.support.refused_reasons import REFUSED


def refused_calls() -> str:
    """The system calls that are refused, with the reason of each."""
    rows = [f"| {reason} | {' '.join(f'`{one}`' for one in names.split())} |" for reason, names in REFUSED.items()]
    of_deno = " ".join(f"`{one}`" for one in SYSTEM_CALLS)
    lines = ["| why | system calls |", "|---|---|", *rows, "", f"Deno is given these besides: {of_deno}."]
    return "\n".join(lines) + "\n"


PARTS: dict[str, dict[str, Callable[[], str]]] = {
    "security.md": {"classes": classes.table},
    "code.md": {"refused calls": refused_calls},
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
