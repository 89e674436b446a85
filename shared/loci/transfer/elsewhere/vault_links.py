"""Links that a vault counts from its top: in a folder of a library they lead from the note that has them."""

import posixpath
import re
from collections.abc import Set
from urllib.parse import quote, unquote

MARKDOWN_LINK = re.compile(
    r"(?P<before>\]\(<?)(?P<target>[^()\s<>#]{1,300}|[^<>#\n]{1,300}(?=>))(?P<after>[^)\n]{0,300}\))"
)
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|/|\.")
FENCE = re.compile(r" {0,3}(?:```|~~~)")


def with_found_links(path: str, content: bytes, names: Set[str]) -> bytes:
    """The note with its markdown links written from its own folder, if that is where their notes are."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return content
    here = posixpath.dirname(path)

    def relative(found: re.Match[str]) -> str:
        target = unquote(found["target"])
        if SCHEME.match(target) or target not in names or posixpath.normpath(posixpath.join(here, target)) in names:
            return found[0]
        return f"{found['before']}{quote(posixpath.relpath(target, here or '.'))}{found['after']}"

    lines: list[str] = []
    is_code = False
    for line in text.splitlines(keepends=True):
        if FENCE.match(line):
            is_code = not is_code
        lines.append(line if is_code else MARKDOWN_LINK.sub(relative, line))
    return "".join(lines).encode()
