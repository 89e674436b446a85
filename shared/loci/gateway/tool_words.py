"""Cuts tools into the words that find them, by field, and knows which words mean about the same."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from loci.core.json import JsonObject
from loci.gateway.offer import Offer
from loci.search.words import SEAM, index_words, query_words

LONGEST: Final = 1000
"""Characters of a description that are read. What comes later is seldom about what the tool does."""
SYNONYMS: Final = """
    delete remove drop erase discard wipe
    create add make new insert
    get fetch retrieve read load
    list show enumerate display
    search find look lookup query
    update edit modify change alter
    send post write submit
    move rename
    copy duplicate clone fork
    run execute evaluate
    start launch begin
    stop cancel close end abort
    undo revert reset restore
    merge combine join
    navigate open visit browse
    count number total
    comment reply answer respond
    download save
    folder directory
    file document
    issue ticket bug
    email mail message
    repository repo
    database db
    picture image photo screenshot snapshot capture
    website webpage web page url site
    event meeting appointment
    chart graph plot diagram
    spreadsheet sheet workbook excel
    user member person people
    table collection
    record row
    postgres postgresql
    mongo mongodb
    kubernetes k8s cluster
"""
"""A line has words that mean about the same in the names of tools."""


@dataclass(frozen=True, slots=True)
class KnownTool:
    """A tool, as a search sees it."""

    id: str
    """The id of the tool, such as `filesystem:read_file`; the id of one of Loci's own may name no server."""
    title: str
    description: str
    input_schema: JsonObject

    @property
    def server(self) -> str:
        """The part before the colon."""
        return self.id.rpartition(":")[0]

    @property
    def name(self) -> str:
        """The part after the colon."""
        return self.id.rpartition(":")[2]


@dataclass(frozen=True, slots=True)
class KnownOffer(KnownTool):
    """A prompt or a resource, as a search sees it."""

    offer: Offer
    called: str
    """The name of the prompt, or the address of the resource."""


def fields_of(tool: KnownTool) -> dict[str, list[str]]:
    """The words of each field, in order."""
    return {
        "server": index_words(tool.server),
        "name": index_words(tool.name),
        "title": index_words(tool.title),
        "description": index_words(tool.description[:LONGEST]),
        "parameters": index_words(" ".join(_parameters(tool.input_schema))),
    }


def in_words(name: str) -> str:
    """The parts of a name, with spaces between them."""
    return " ".join(SEAM.sub(" ", name).split())


def plain_name(name: str) -> str:
    """The letters and digits of a name: `Read File`, `read_file` and `readFile` are the same."""
    return "".join(one for one in name.lower() if one.isalnum())


def query_terms(query: str) -> dict[str, Sequence[str]]:
    """The words of a request, each with the others that mean about the same."""
    words = query_words(query)
    return {word: [one for one in _SAME.get(word, ()) if one not in words] for word in words}


def spellings(query: str) -> dict[str, str]:
    """Stems as they are written: in the request, else in the list of synonyms."""
    return _SPELLED | {word: part.strip(".,;:!?()\"'") for part in query.split() for word in index_words(part)}


def parameters_of(schema: JsonObject) -> JsonObject:
    """The schemas of the parameters, by their names."""
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _parameters(schema: JsonObject) -> Iterator[str]:
    """The names and descriptions of the parameters, and the values that they may have."""
    for name, one in parameters_of(schema).items():
        yield name
        facts = cast("dict[str, Any]", one) if isinstance(one, dict) else {}
        if isinstance(text := facts.get("description"), str):
            yield text[:LONGEST]
        if isinstance(values := facts.get("enum"), list):
            yield from (value for value in cast("list[object]", values) if isinstance(value, str))


def _same() -> dict[str, tuple[str, ...]]:
    same: dict[str, dict[str, None]] = {}
    for line in SYNONYMS.strip().splitlines():
        group = index_words(line)
        for word in group:
            same.setdefault(word, {}).update(dict.fromkeys(one for one in group if one != word))
    return {word: tuple(others) for word, others in same.items()}


_SAME: Final = _same()
_SPELLED: Final = {stem: word for word in reversed(SYNONYMS.split()) for stem in index_words(word)}
