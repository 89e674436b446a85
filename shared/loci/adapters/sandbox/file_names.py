"""Names of stored files, as files that code opens."""

import re

LONGEST_NAME = 200
"""Bytes."""
# What could be read as a path, and what a terminal or a shell would take for more than a name.
UNSAFE = re.compile(r"[/\\\x00-\x1f\x7f]")


def safe_name(name: str) -> str:
    """The name, as a file's name and no path."""
    plain = UNSAFE.sub("_", name).strip().encode("utf-8", "replace")
    if len(plain) > LONGEST_NAME:
        stem, dot, ending = plain.rpartition(b".")
        kept = LONGEST_NAME - len(ending) - 1
        plain = stem[:kept] + dot + ending if dot and len(ending) < 20 else plain[:LONGEST_NAME]
    text = plain.decode("utf-8", "ignore")
    return "_" if text in ("", ".", "..") else text
