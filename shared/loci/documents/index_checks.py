"""`loci doctor`: the catalog and the index, compared."""

import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from loci.core.errors import LociError
from loci.core.finding import Finding, counted, first_names
from loci.core.identity import Owner
from loci.documents.host import DocumentsHost
from loci.documents.ingest.index_writer import COLLECTION


def check_index(app: DocumentsHost, owner: Owner, *, fix: bool) -> list[Finding]:
    """Compare the catalog with the index. The fix indexes documents again, and removes passages of unknown ones."""
    found = _compare(app, owner)
    return [_whole(app, owner, found, fix=fix), _known(app, owner, found, fix=fix)]


def _whole(app: DocumentsHost, owner: Owner, found: "_Comparison", *, fix: bool) -> Finding:
    """Report the documents of which the index has not all passages."""
    wrong = [*found.half_written, *found.lacking]
    if not wrong:
        return Finding("index", "ok", f"{counted(found.passages, 'passage')}, as many as the documents have")
    parts = [
        f"{counted(len(found.half_written), 'document')} half written: {first_names(found.half_written.values())}"
        if found.half_written
        else "",
        f"It lacks passages of {len(found.lacking):,} of {counted(found.documents, 'document')}:"
        f" {first_names(found.lacking.values())}"
        if found.lacking
        else "",
    ]
    what = ". ".join(filter(None, parts))
    if not fix:
        advice = f"Run: {_reindex(owner)}" if found.lacking else "Run: loci doctor --fix"
        return Finding("index", "fault", what, f"{advice} (if an ingest is running, let it finish first)")
    errors: list[LociError] = []
    for id in wrong:
        try:
            app.documents.parts.library.reindex(owner, id)
        except LociError as error:
            errors.append(error)
    if errors:
        what = f"{counted(len(errors), 'document')} cannot be indexed: {errors[0].what}"
        return Finding("index", "fault", what, errors[0].resolution)
    return Finding("index", "ok", f"{what}; indexed again", fixed=True)


def _known(app: DocumentsHost, owner: Owner, found: "_Comparison", *, fix: bool) -> Finding:
    """Report the passages of documents that have no record."""
    if not found.unknown:
        return Finding("orphans", "ok", "None: every passage belongs to a known document")
    what = f"The index has passages of {counted(len(found.unknown), 'unknown document')}: {first_names(found.unknown)}"
    if not fix:
        return Finding("orphans", "warning", what, "To remove them, run: loci doctor --fix")
    for id in found.unknown:
        app.documents.parts.index.remove(owner, COLLECTION, id)
        if app.documents.parts.catalog.document(owner, id):  # somebody has just ingested it
            app.documents.parts.library.reindex(owner, id)
    return Finding("orphans", "ok", f"{what}; removed", fixed=True)


@dataclass(frozen=True, slots=True)
class _Comparison:
    """The differences between the catalog and the index of an owner. Documents have their ids and paths."""

    documents: int
    passages: int
    half_written: Mapping[str, str]
    lacking: Mapping[str, str]
    unknown: Collection[str]


def _compare(app: DocumentsHost, owner: Owner) -> _Comparison:
    """Compare both, and a second time what differs: somebody may just be writing a few documents."""
    first = _compared(app, owner)
    if not (first.half_written or first.lacking or first.unknown):
        return first
    now = _compared(app, owner)
    wrong = first.half_written.keys() | first.lacking.keys()
    return replace(
        now,
        half_written={id: path for id, path in now.half_written.items() if id in wrong},
        lacking={id: path for id, path in now.lacking.items() if id in wrong},
        unknown={*now.unknown}.intersection(first.unknown),
    )


def _compared(app: DocumentsHost, owner: Owner) -> _Comparison:
    parts = app.documents.parts
    documents, half_written, lacking = 0, dict[str, str](), dict[str, str]()
    held = parts.index.documents(owner, COLLECTION)
    unknown = set(held)
    for one in parts.catalog.each(owner):
        documents += 1
        unknown.discard(one.id)
        if not one.sha256:
            half_written[one.id] = one.path
        elif held.get(one.id, 0) != one.chunks:
            lacking[one.id] = one.path
    unknown -= parts.catalog.ids(owner) if unknown else set()  # with those whose records are damaged
    return _Comparison(documents, sum(held.values()), half_written, lacking, unknown)


def _reindex(owner: Owner) -> str:
    """The command that rebuilds the owner's index."""
    names = ["--tenant", owner.tenant, "--subject", owner.subject] if owner.tenant else []
    return shlex.join(["loci", "reindex", *names])
