"""The files of this machine that documents were taken in from: whether they are as they were."""

import hashlib
import shlex
from collections.abc import Mapping
from pathlib import Path

from loci.core.errors import NotFound, Refused
from loci.core.finding import Finding, counted, some
from loci.core.identity import Owner
from loci.documents.api import DocumentsHost
from loci.documents.document import Document, Root
from loci.documents.ingest.read_file import read_file
from loci.documents.ingest.roots import below_root


def check_folders(app: DocumentsHost, owner: Owner) -> Finding | None:
    """Whether the folders that documents lie in are there."""
    roots = app.documents.catalog.roots(owner)
    if not roots:
        return None
    gone = [root.folder for root in roots.values() if not Path(root.folder).is_dir()]
    if gone:
        advice = f"Put it back; if it is gone for good, run: loci forget {shlex.quote(sorted(gone)[0])}"
        return Finding("folders", "warning", f"{len(gone):,} of {len(roots):,} gone: {some(gone)}", advice)
    return Finding("folders", "ok", f"{len(roots):,}: {some([root.folder for root in roots.values()])}")


def check_files(app: DocumentsHost, owner: Owner) -> Finding | None:
    """Whether each file is what was taken in. Those in folders that are gone are not told one by one."""
    roots = app.documents.catalog.roots(owner)
    kept = [one for one in app.documents.catalog.documents(owner) if one.root is not None]
    if not kept:
        return None
    states = {one: state for one in kept if (state := _state(one, roots))}
    if not states:
        return Finding("files", "ok", f"{counted(len(kept), 'file')}, as they were taken in")
    parts = [
        f"{len(paths):,} {name} ({some(paths)})"
        for name in ("changed", "gone", "unreadable", "in no known folder")
        if (paths := [one.path for one, state in states.items() if state == name])
    ]
    folders = sorted({roots[one.root].folder for one in states if one.root in roots})
    advice = f"Run: loci ingest {shlex.join(folders)}" if folders else "Take them out with: loci forget ID"
    return Finding("files", "warning", f"Of {len(kept):,} files {', '.join(parts)}", advice)


def _state(document: Document, roots: Mapping[str, Root]) -> str | None:
    """What is wrong with the document's file, if anything is."""
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
    # One without a hash is half written, which is told of the index.
    is_same = document.sha256 in ("", hashlib.sha256(content).hexdigest())
    return None if is_same else "changed"
