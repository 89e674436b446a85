"""Vectors: whether those in the index are of the model that is used."""

from loci.app import App
from loci.core.finding import Finding, counted, some
from loci.core.identity import Owner
from loci.documents.ingest.index_writer import COLLECTION
from loci.search.inference import EmbeddingModel, is_sound
from loci.search.ranking import IndexCounts

AT_ONCE = 500


def check_vectors(app: App, owner: Owner, *, fix: bool) -> Finding | None:
    """Mended by embedding what has none of the model."""
    counts = app.documents.index.counts(owner, COLLECTION)
    if not counts.chunks:
        return None
    model = app.documents.embedder.model()
    if model is None:
        return _without_model(counts)
    damaged = _damaged(app, owner, model)
    if damaged and not fix:
        what = f"Those of {counted(len(damaged), 'document')} are damaged, so nothing can be found: {some(damaged)}"
        return Finding("vectors", "fault", what, "Run: loci doctor --fix")
    before = _lacking(counts, model.identity) + len(damaged)
    if before and fix:
        for id in damaged:  # all of them first: what one has is taken for another with the same text
            app.documents.index.remove(owner, COLLECTION, id)
        for id in damaged:
            app.documents.library.renew(owner, id)
        app.documents.fill.run(owner)
        counts = app.documents.index.counts(owner, COLLECTION)
    lacking = _lacking(counts, model.identity)
    if not lacking:
        what = f"All {counts.chunks:,} passages have theirs of {model.identity}"
        return Finding("vectors", "ok", what, fixed=before > 0)
    others = sum(counts.embedded.values()) - counts.embedded.get(model.identity, 0)
    what = (
        f"{lacking:,} of {counts.chunks:,} passages have none of {model.identity}"
        f" ({others:,} of another model, {lacking - others:,} of no model)"
    )
    advice = "Take those documents out with loci forget, then in again" if fix else "Run: loci doctor --fix"
    return Finding("vectors", "warning", what, f"{advice}; a server that runs fills them in by itself")


def _damaged(app: App, owner: Owner, model: EmbeddingModel) -> list[str]:
    """The documents with a vector that no model has made."""
    ids = [
        f"{id}#{number}"
        for id, count in app.documents.index.documents(owner, COLLECTION).items()
        for number in range(count)
    ]
    found: dict[str, None] = {}
    for start in range(0, len(ids), AT_ONCE):
        for one in app.documents.index.chunks(owner, COLLECTION, ids[start : start + AT_ONCE]).values():
            its = one.embedding
            if its and its.model == model.identity and not is_sound(its, model.dimensions):
                found[one.document] = None
    return list(found)


def _without_model(counts: IndexCounts) -> Finding:
    if not counts.embedded:
        return Finding("vectors", "ok", f"None: {counts.chunks:,} passages are found by words")
    names = some(counts.embedded)
    what = f"They are of {names}, and no embedder is here: {counts.chunks:,} passages are found by words"
    return Finding("vectors", "warning", what, f"Run: loci models pull {next(iter(counts.embedded)).partition('@')[0]}")


def _lacking(counts: IndexCounts, model: str) -> int:
    return counts.chunks - counts.embedded.get(model, 0)
