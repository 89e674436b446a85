"""The example collection, read just far enough to check it: apart from what Loci itself makes of markdown."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import cast

import yaml

FENCE = re.compile(r"^[ ]*```.*?^[ ]*```[ ]*$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`[^`\n]+`")
WIKI = re.compile(r"\[\[([^\]|#]+)(?:#([^\]|]+))?(?:\|[^\]]+)?\]\]")
INLINE = re.compile(r"(?<!\[)\[[^\[\]]+\]\(([^)\s]+)\)")
REFERENCE = re.compile(r"(?<!\[)\[[^\[\]]+\]\[([^\[\]]+)\]")
DEFINITION = re.compile(r"^\[([^\]]+)\]: (\S+)$", re.MULTILINE)
HEADING = re.compile(r"^#{1,6} (.+)$|^(.+)\n=+$", re.MULTILINE)
BLOCK = re.compile(r" \^([a-z-]+)$", re.MULTILINE)
FIELDS = ("follows", "implements")


@dataclass(frozen=True, slots=True)
class Link:
    """A link as it stands in a note."""

    target: str
    anchor: str | None
    by_path: bool
    """Whether the target is a path; otherwise it is a name: a base name, a title or an alias."""


@dataclass(frozen=True)
class Note:
    """A note of the collection."""

    path: PurePosixPath
    text: str

    @cached_property
    def front(self) -> Mapping[str, object]:
        """Its front matter; nothing where it has none."""
        if not self.text.startswith("---\n"):
            return {}
        block: object = yaml.safe_load(self.text.split("---\n", 2)[1])
        assert isinstance(block, dict), f"The front matter of {self.path} is no mapping"
        return cast("dict[str, object]", block)

    @cached_property
    def prose(self) -> str:
        """Its text without front matter and code."""
        body = self.text.split("---\n", 2)[2] if self.front else self.text
        return CODE.sub("", FENCE.sub("", body))

    @cached_property
    def headings(self) -> list[str]:
        return [one or other for one, other in HEADING.findall(self.prose)]

    @cached_property
    def names(self) -> set[str]:
        """What a wiki link may call it, in lower case."""
        aliases = cast("list[str]", self.front.get("aliases", []))
        title = str(self.front.get("title") or next(iter(self.headings), self.path.stem))
        return {name.lower() for name in (self.path.stem, str(self.path.with_suffix("")), title, *aliases)}

    @cached_property
    def anchors(self) -> set[str]:
        """What may stand behind `#` in a link to it: headings, headings as the web writes them, block marks."""
        slugs = {re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-")) for heading in self.headings}
        return {*self.headings, *slugs, *(f"^{mark}" for mark in BLOCK.findall(self.prose))}

    @property
    def links(self) -> Iterator[Link]:
        """Every link to a note: wiki links, relative ones, those by reference, and those of its front matter."""
        for field in FIELDS:
            if field in self.front:
                yield Link(str(self.front[field]).strip("[]"), None, by_path=False)
        for target, anchor in WIKI.findall(self.prose):
            yield Link(target, anchor or None, by_path=False)
        definitions: dict[str, str] = dict(DEFINITION.findall(self.prose))
        references = [definitions[label] for label in REFERENCE.findall(self.prose)]
        for target in (*INLINE.findall(self.prose), *references):
            path, _, anchor = target.partition("#")
            yield Link(path, anchor or None, by_path=True)


@dataclass(frozen=True)
class Collection:
    """All notes of the example."""

    notes: tuple[Note, ...]

    def target(self, source: Note, link: Link) -> Note | None:
        """The note that a link in `source` leads to; None where nobody has written it."""
        if link.by_path:
            return self._at(source.path.parent, link.target)
        return next((note for note in self.notes if link.target.lower() in note.names), None)

    def _at(self, folder: PurePosixPath, target: str) -> Note | None:
        parts: list[str] = [] if target.startswith("/") else list(folder.parts)
        for part in PurePosixPath(target.lstrip("/")).parts:
            if part == "..":
                parts.pop()
            else:
                parts.append(part)
        return next((note for note in self.notes if note.path == PurePosixPath(*parts)), None)

    @cached_property
    def pairs(self) -> set[frozenset[str]]:
        """The base names of every two notes that are linked, whichever way."""
        found = ((note, self.target(note, link)) for note in self.notes for link in note.links)
        return {frozenset((note.path.stem, other.path.stem)) for note, other in found if other}


def read() -> Collection:
    """The collection as it is packed with Loci."""
    with resources.as_file(resources.files("loci") / "example") as root:
        return Collection(tuple(_note(root, path) for path in sorted(root.rglob("*.md"))))


def _note(root: Path, path: Path) -> Note:
    return Note(PurePosixPath(path.relative_to(root).as_posix()), path.read_text(encoding="utf-8"))
