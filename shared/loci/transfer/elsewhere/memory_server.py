"""`memory.jsonl` of the reference memory server: entities with observations, and relations between them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from loci.core.errors import Refused
from loci.transfer.elsewhere.notes import Note, file_name, text_of, told
from loci.transfer.items import Loaded, Unreadable

LARGEST: Final = 256 << 20


@dataclass(slots=True)
class _Entity:
    name: str
    kind: str
    observations: list[str] = field(default_factory=list[str])
    relations: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


class MemoryServer:
    """One document for each entity: its type as a tag, its observations, and its relations as links."""

    def fits(self, path: Path) -> bool:
        """True if its first line is an entity or a relation."""
        if path.suffix.lower() not in (".jsonl", ".json") or not path.is_file():
            return False
        with path.open("rb") as opened:
            first = opened.readline(1 << 20)
        try:
            line: Any = json.loads(first)
        except (ValueError, RecursionError):
            return False
        return isinstance(line, dict) and cast("dict[str, Any]", line).get("type") in ("entity", "relation")

    def items(self, path: Path, into: str) -> Iterator[Loaded | Unreadable]:
        """The entities as documents."""
        entities = _entities(text_of(path, LARGEST))
        taken: set[str] = set()
        files = {one.name: file_name(one.name, taken) for one in entities.values()}
        yield from told((Note(files[one.name], _text(one, files)) for one in entities.values()), into)


def _entities(text: str) -> dict[str, _Entity]:
    entities: dict[str, _Entity] = {}
    relations: list[tuple[str, str, str]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            match json.loads(line):
                case {"type": "entity", "name": str(name), "entityType": str(kind), **more}:
                    known = entities.setdefault(name, _Entity(name, kind))
                    known.observations += _texts(cast("dict[str, Any]", more).get("observations"))
                case {"type": "relation", "from": str(source), "to": str(target), "relationType": str(kind)}:
                    relations.append((source, kind, target))
                case _:
                    raise ValueError
        except (ValueError, RecursionError):
            what = f"Line {number} is neither an entity nor a relation of the memory server"
            raise Refused(what, "Correct it, or leave it out", code="BAD_FORMAT") from None
    for source, kind, target in relations:
        entities.setdefault(source, _Entity(source, "")).relations.append((kind, target))
        entities.setdefault(target, _Entity(target, ""))
    return entities


def _texts(observations: object) -> list[str]:
    """Texts only, and nothing is none. Raises `ValueError` for what is no list."""
    if not isinstance(observations, list | None):
        raise ValueError
    return [one for one in cast("list[object]", observations or []) if isinstance(one, str)]


def _text(one: _Entity, files: dict[str, str]) -> bytes:
    lines = ["---", f"title: {json.dumps(one.name, ensure_ascii=False)}"]
    lines += [f"tags: [{json.dumps(one.kind, ensure_ascii=False)}]"] if one.kind else []
    lines += ["---", f"# {_line(one.name)}", ""]
    lines += [f"- {_line(observation)}" for observation in one.observations]
    if one.relations:
        lines += ["", "## Relations", ""]
        lines += [f"- {_line(kind)} [[{files[target].removesuffix('.md')}]]" for kind, target in one.relations]
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def _line(text: str) -> str:
    return " ".join(text.split())
