"""Print what CHANGELOG says of the version of a tag, if it is the version here: `python -m release.notes v1.2.0`."""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEADING = re.compile(r"^## ", re.MULTILINE)


class NotReady(Exception):
    """The tag does not fit the tree that it is on."""


def notes(tag: str, version: str, changelog: str) -> str:
    """Return the section of the version, without its heading, or raise NotReady."""
    if tag != f"v{version}":
        raise NotReady(f"The tag is {tag}, but pyproject.toml has the version {version}. Change one of them.")
    for section in HEADING.split(changelog)[1:]:
        heading, _, text = section.partition("\n")
        if heading.split()[:1] == [version] and text.strip():
            return text.strip() + "\n"
    raise NotReady(f"CHANGELOG.md has no section `## {version}`. Rename `## Unreleased`.")


def main() -> None:
    """Print the notes, or say what is missing and exit with 1."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    try:
        print(notes(sys.argv[1], project["version"], (ROOT / "CHANGELOG.md").read_text("utf-8")), end="")
    except NotReady as fault:
        sys.exit(str(fault))


if __name__ == "__main__":
    main()
