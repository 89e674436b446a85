"""Stems as documents say them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from loci.core.identity import Owner
from loci.documents.document import Document
from loci.documents.ingest.index_writer import COLLECTION
from loci.search.document_index import DocumentIndex
from loci.search.ranking import Chunk
from loci.search.words import word_positions

READ: Final = 20
"""Passages of a document that are looked through."""


def beginnings(index: DocumentIndex, owner: Owner, documents: Iterable[Document]) -> dict[str, list[Chunk]]:
    """The first passages of the documents, by document, read together."""
    counts = {one.id: min(one.chunks, READ) for one in documents}
    ids = [f"{id}#{at}" for id, count in counts.items() for at in range(count)]
    held = index.chunks(owner, COLLECTION, ids)
    return {id: [held[f"{id}#{at}"] for at in range(count) if f"{id}#{at}" in held] for id, count in counts.items()}


def wording(chunks: Iterable[Chunk], stems: Sequence[str]) -> Mapping[str, str]:
    """Those of the stems that the passages say, in the same order, each in its commonest form; no form twice."""
    said: dict[str, Counter[str]] = defaultdict(Counter)
    wanted = frozenset(stems)
    for chunk in chunks:
        text = "\n".join([*chunk.heading, chunk.text])
        for stem, begin, end in word_positions(text, wanted):
            said[stem][text[begin:end]] += 1
    forms: dict[str, str] = {}
    for stem in stems:
        form = _form(said[stem]) if stem in said else None
        if form and form not in forms.values():
            forms[stem] = form
    return forms


def _form(said: Counter[str]) -> str:
    """One word rather than several, and small letters, where that is ever said; else what is said most often."""
    small = Counter[str]()
    for form, times in said.items():
        small[form.lower()] += times
    best = min(small, key=lambda form: (not form.isalnum(), -small[form], form))
    return best if best in said else max(sorted(said), key=lambda form: (form.lower() == best, said[form]))
