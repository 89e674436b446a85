"""`loci doctor`: checks of the documents, of the index and of the files that they come from."""

import hashlib
import shlex
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, get_args

from loci.core.diagnosis import Finding, FirstNames, counted, first_names, for_owners, run_check, run_checks, seen_twice
from loci.core.errors import LociError, NotFound, Refused
from loci.core.identity import LOCAL, Owner
from loci.documents.document import Document, Root
from loci.documents.ingest.index_writer import COLLECTION, PARSER_VERSION
from loci.documents.ingest.local_files import TEXTS, below_root, blob_key, read_file
from loci.search.inference import EmbeddingModel, is_sound, knows_script
from loci.search.languages import SAMPLE, language_of
from loci.search.ranking import IndexCounts
from loci.search.search import FOR_ALL_SCRIPTS

if TYPE_CHECKING:
    from loci.app import App

CHUNKS_AT_ONCE = 500
LOOKED_AT: Final = 50
"""Documents whose texts tell the languages of all."""
FEW: Final = 5
"""Another model is named if more than one in this many documents is in another language."""


def check_owners(app: "App", *, fix: bool) -> list[Finding]:
    """Check the documents of the person at this machine, and of every owner with an API key and documents."""

    def others() -> list[Owner]:
        return [owner for owner in app.api_keys.owners() if owner != LOCAL and _has_documents(app, owner)]

    return for_owners("owners", others, lambda owner: _check_owner(app, owner, fix=fix))


def _has_documents(app: "App", owner: Owner) -> bool:
    parts = app.documents.parts
    return bool(parts.index.counts(owner, COLLECTION).chunks or next(parts.catalog.iterate(owner), None))


def _check_owner(app: "App", owner: Owner, *, fix: bool) -> list[Finding]:
    found = [
        *run_check("documents", lambda: check_documents(app, owner)),
        *run_checks("index", lambda: check_index(app, owner, fix=fix)),
        *run_check("links", lambda: check_links(app, owner)),
        *run_check("vectors", lambda: check_vectors(app, owner, fix=fix)),
        *run_check("languages", lambda: check_languages(app, owner)),
    ]
    if app.settings.mode == "embedded":
        found += [
            *run_check("folders", lambda: check_folders(app, owner)),
            *run_check("files", lambda: check_files(app, owner)),
            *run_check("texts", lambda: check_texts(app, owner)),
        ]
    return found


def check_documents(app: "App", owner: Owner) -> Finding:
    """Count the documents, and report the documents that were ingested with a problem."""
    documents, older, faulty = 0, 0, FirstNames()
    for one in app.documents.parts.catalog.iterate(owner):
        documents += 1
        older += one.parser_version < PARSER_VERSION
        if one.problems:
            faulty.add(f"{one.path} ({one.problems[0]})")
    if not documents:
        is_local = app.settings.mode == "embedded"
        return Finding("documents", "ok", f"None yet{'. Ingest some with: loci ingest PATH' if is_local else ''}")
    if faulty.count:
        what = f"{faulty.count:,} of {documents:,} have a problem: {faulty}"
        return Finding("documents", "warning", what, "Correct them, then run: loci ingest PATH")
    if older:
        what = f"{older:,} of {documents:,} were read by an older version of Loci: some words of theirs are not found"
        return Finding("documents", "warning", what, "A running server reads them again, and so does: loci reindex")
    return Finding("documents", "ok", f"{documents:,}")


def check_languages(app: "App", owner: Owner) -> Finding | None:
    """Look at some documents, and warn if many are in a language that the embedder does not know."""
    parts = app.documents.parts
    model = parts.embedder.model()
    if model is None or not model.scripts:
        return None
    documents = [*parts.catalog.iterate(owner)]
    texts = list[str]()
    for one in documents[:: max(1, len(documents) // LOOKED_AT)][:LOOKED_AT]:
        with suppress(LociError):
            texts.append(parts.library.read(owner, one.id).text[:SAMPLE])
    others = sum(1 for text in texts if language_of(text) or not knows_script(model.scripts, text))
    if others * FEW <= len(texts):
        return None
    name = model.identity.partition("@")[0]
    of = "" if len(texts) == len(documents) else " that were looked at"
    what = f"{others:,} of {counted(len(texts), 'document')}{of} are not in English, the language of {name}"
    return Finding("languages", "warning", what, FOR_ALL_SCRIPTS)


def check_index(app: "App", owner: Owner, *, fix: bool) -> list[Finding]:
    """Compare the catalog with the index. The fix indexes documents again, and removes passages of unknown ones."""
    found = seen_twice(lambda: _differences(app, owner))
    of_kind = {kind: {one.id: one.path for one in found if one.kind == kind} for kind in get_args(_Kind)}
    whole = _whole(app, owner, of_kind["half written"], of_kind["lacking"], fix=fix)
    unknown = of_kind["unknown"]
    if not unknown:
        return [whole, Finding("orphans", "ok", "None: every passage belongs to a known document")]
    what = f"The index has passages of {counted(len(unknown), 'unknown document')}: {first_names(unknown)}"
    if not fix:
        return [whole, Finding("orphans", "warning", what, "To remove them, run: loci doctor --fix")]
    app.documents.upkeep.remove_unknown(owner, unknown)
    return [whole, Finding("orphans", "ok", f"{what}; removed", fixed=True)]


_Kind = Literal["half written", "lacking", "unknown"]


class _Difference(NamedTuple):
    """A document that the catalog and the index do not both have in the same way."""

    kind: _Kind
    id: str
    path: str


def _differences(app: "App", owner: Owner) -> set[_Difference]:
    parts, found = app.documents.parts, set[_Difference]()
    held = parts.index.documents(owner, COLLECTION)
    unknown = set(held)
    for one in parts.catalog.iterate(owner):
        unknown.discard(one.id)
        if not one.sha256:
            found.add(_Difference("half written", one.id, one.path))
        elif held.get(one.id, 0) != one.chunks:
            found.add(_Difference("lacking", one.id, one.path))
    unknown -= parts.catalog.ids(owner) if unknown else set()  # with those whose records are damaged
    return found.union(_Difference("unknown", id, id) for id in unknown)


def _whole(
    app: "App", owner: Owner, half_written: Mapping[str, str], lacking: Mapping[str, str], *, fix: bool
) -> Finding:
    """Report the ids and paths of the documents whose passages are not all in the index."""
    parts, what = app.documents.parts, list[str]()
    if half_written:
        what.append(f"{counted(len(half_written), 'document')} half written: {first_names(half_written.values())}")
    if lacking:
        all_of_them = counted(sum(1 for _ in parts.catalog.iterate(owner)), "document")
        what.append(f"It lacks passages of {len(lacking):,} of {all_of_them}: {first_names(lacking.values())}")
    if not what:
        passages = counted(parts.index.counts(owner, COLLECTION).chunks, "passage")
        return Finding("index", "ok", f"{passages}, as many as the documents have")
    if not fix:
        names = ["--tenant", owner.tenant, "--subject", owner.subject] if owner.tenant else []
        advice = f"Run: {shlex.join(['loci', 'reindex', *names])}" if lacking else "Run: loci doctor --fix"
        return Finding("index", "fault", ". ".join(what), f"{advice} (if an ingest is running, let it finish first)")
    errors: list[LociError] = []
    for id in (*half_written, *lacking):
        try:
            parts.library.reindex(owner, id)
        except LociError as error:
            errors.append(error)
    if errors:
        told = f"{counted(len(errors), 'document')} cannot be indexed: {errors[0].what}"
        return Finding("index", "fault", told, errors[0].resolution)
    return Finding("index", "ok", f"{'. '.join(what)}; indexed again", fixed=True)


def check_links(app: "App", owner: Owner) -> Finding | None:
    """Count the links, and report the links that lead nowhere yet."""
    graph = app.graph.graphs.for_owner(owner)
    links = sum(map(len, graph.outgoing.values()))
    broken = [one for of_one in graph.open.values() for one in of_one]
    if not links and not broken:
        return None
    if not broken:
        return Finding("links", "ok", counted(links, "link"))
    where = [f"{graph.documents[one.source].path}:{one.mention.line} ({one.mention.target})" for one in broken]
    nowhere = "leads" if len(broken) == 1 else "lead"
    return Finding(
        "links",
        "warning",
        f"{counted(len(broken), 'link')} of {links + len(broken):,} {nowhere} nowhere yet: {first_names(where)}",
        "Write the documents that are missing, or correct the links. A link works as soon as its target exists",
    )


def check_vectors(app: "App", owner: Owner, *, fix: bool) -> Finding | None:
    """Check that the vectors are sound and of the current model. The fix embeds the other passages."""
    parts = app.documents.parts
    counts, model = parts.index.counts(owner, COLLECTION), parts.embedder.model()
    if not counts.chunks:
        return None
    if model is None:
        return _without_model(counts)
    damaged = _damaged(app, owner, model)
    if damaged and not fix:
        what = f"{counted(len(damaged), 'document')} with damaged vectors: every search fails ({first_names(damaged)})"
        return Finding("vectors", "fault", what, "Run: loci doctor --fix")
    lacking = before = counts.chunks - counts.embedded.get(model.identity, 0)
    if fix and (before or damaged):
        for id in damaged:  # all of them first: else one would be given the damaged vector of another
            parts.index.remove(owner, COLLECTION, id)
        app.documents.upkeep.renew(owner, lambda one: one.id in damaged or one.model != model.identity)
        counts = parts.index.counts(owner, COLLECTION)
        lacking = counts.chunks - counts.embedded.get(model.identity, 0)
    if not lacking:
        what = f"All {counts.chunks:,} passages have a vector of {model.identity}"
        return Finding("vectors", "ok", what, fixed=bool(before or damaged))
    others = sum(counts.embedded.values()) - counts.embedded.get(model.identity, 0)
    what = (
        f"{lacking:,} of {counts.chunks:,} passages have no vector of {model.identity}"
        f" ({others:,} have one of another model, {lacking - others:,} have none)"
    )
    advice = "Remove those documents with loci forget, then ingest them again" if fix else "Run: loci doctor --fix"
    return Finding("vectors", "warning", what, f"{advice}. A running server adds missing vectors by itself")


def _damaged(app: "App", owner: Owner, model: EmbeddingModel) -> list[str]:
    """The documents with a vector that no model can have made."""
    index, found = app.documents.parts.index, dict[str, None]()
    ids = (f"{id}#{number}" for id, count in index.documents(owner, COLLECTION).items() for number in range(count))
    while some := list(islice(ids, CHUNKS_AT_ONCE)):
        for one in index.chunks(owner, COLLECTION, some).values():
            embedding = one.embedding
            if embedding and embedding.model == model.identity and not is_sound(embedding, model.dimensions):
                found[one.document] = None
    return list(found)


def _without_model(counts: IndexCounts) -> Finding:
    if not counts.embedded:
        return Finding("vectors", "ok", f"None: {counts.chunks:,} passages are found by words")
    names = first_names(counts.embedded)
    what = f"They are of {names}, but no embedder is installed: {counts.chunks:,} passages are found by words"
    return Finding("vectors", "warning", what, f"Run: loci models pull {next(iter(counts.embedded)).partition('@')[0]}")


def check_folders(app: "App", owner: Owner) -> Finding | None:
    """Check that the folders of documents exist."""
    roots = app.documents.parts.catalog.roots(owner)
    if not roots:
        return None
    gone = [root.folder for root in roots.values() if not Path(root.folder).is_dir()]
    if gone:
        advice = f"Put it back. If it is gone for good, run: loci forget {shlex.quote(sorted(gone)[0])}"
        return Finding("folders", "warning", f"{len(gone):,} of {len(roots):,} gone: {first_names(gone)}", advice)
    return Finding("folders", "ok", f"{len(roots):,}: {first_names([root.folder for root in roots.values()])}")


def check_files(app: "App", owner: Owner) -> Finding | None:
    """Check that each file is as it was at its ingest. `check_folders` reports the folders that are gone."""
    roots = app.documents.parts.catalog.roots(owner)
    files, folders = 0, set[str]()
    faults = {name: FirstNames() for name in ("changed", "gone", "unreadable", "in no known folder")}
    for one in app.documents.parts.catalog.iterate(owner):
        if one.root is None:
            continue
        files += 1
        if fault := _fault(one, roots):
            faults[fault].add(one.path)
            folders |= {roots[one.root].folder} if one.root in roots else set()
    if not files:
        return None
    parts = [f"{names.count:,} {fault} ({names})" for fault, names in faults.items() if names.count]
    if not parts:
        return Finding("files", "ok", f"{counted(files, 'file')}, unchanged since their ingest")
    known = shlex.join(sorted(folders))
    advice = f"Run: loci ingest {known}" if folders else "Remove the documents with: loci forget ID"
    return Finding("files", "warning", f"Of {files:,} files {', '.join(parts)}", advice)


def check_texts(app: "App", owner: Owner) -> Finding | None:
    """Check that each uploaded document has its text."""
    lost = seen_twice(lambda: _text_keys(app, owner) - {*app.blobs.list(owner, TEXTS)})
    if lost:
        ids = [key.removeprefix(TEXTS) for key in lost]
        what = f"{counted(len(lost), 'document')} lost their text: {first_names(ids)}"
        advice = "Restore the texts from a backup, or remove the documents with: loci forget ID"
        return Finding("texts", "fault", what, advice)
    uploaded = _text_keys(app, owner)
    return Finding("texts", "ok", f"{len(uploaded):,}, each with its document") if uploaded else None


def _fault(document: Document, roots: Mapping[str, Root]) -> str | None:
    """The fault of the document's file, if it has one and its folder exists."""
    root = roots.get(document.root or "")
    if root is None:
        return "in no known folder"
    if not Path(root.folder).is_dir():
        return None
    try:
        content = read_file(root.folder, below_root(document.path))
    except NotFound:
        return "gone"
    except Refused:
        return "unreadable"
    # A document without a hash is half written, which the check of the index reports.
    is_same = document.sha256 in ("", hashlib.sha256(content).hexdigest())
    return None if is_same else "changed"


def _text_keys(app: "App", owner: Owner) -> set[str]:
    """The keys of the texts that the owner's uploaded documents have."""
    return {blob_key(one.id) for one in app.documents.parts.catalog.iterate(owner) if one.root is None}
