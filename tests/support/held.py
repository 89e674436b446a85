"""The contents of a data folder, whoever writes to it meanwhile."""

from pathlib import Path

from loci.adapters.local.index.index import SqliteIndex
from loci.adapters.local.sqlite import Database
from loci.compose import build_app
from loci.core.identity import LOCAL, Owner
from loci.core.settings import load_settings
from loci.documents.ingest.index_writer import COLLECTION
from loci.search.ranking import EVERYTHING
from loci.search.words import query_words

MANY = 1000


def paths(data: Path, owner: Owner = LOCAL) -> set[str]:
    """The documents that the owner's library knows."""
    app = build_app(load_settings({"data": data, "models": data.parent / "models"}))
    return {one.path for one in app.documents.parts.library.documents(owner)}


def indexed(data: Path, word: str) -> set[str]:
    """The ids of those that the index has for the word, at this moment."""
    index = SqliteIndex(Database(data / "loci.db"))
    hits = index.candidates(LOCAL, COLLECTION, query_words(word), None, limit=MANY, where=EVERYTHING)
    return {hit.document for hit in hits}
