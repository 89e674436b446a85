"""What is checked of each owner's documents."""

from dataclasses import replace

from loci.core.errors import LociError
from loci.core.finding import Finding, checked
from loci.core.identity import LOCAL, Owner
from loci.documents.api import DocumentsHost
from loci.documents.checks.catalog_checks import check_catalog, check_index, check_orphans
from loci.documents.checks.file_checks import check_files, check_folders
from loci.documents.checks.link_checks import check_links
from loci.documents.checks.text_checks import check_spare_texts, check_texts
from loci.documents.checks.vector_checks import check_vectors
from loci.documents.ingest.index_writer import COLLECTION


def check_owners(app: DocumentsHost, *, fix: bool) -> list[Finding]:
    """The person at this machine, and whoever has a key and documents."""
    found = _of(app, LOCAL, fix=fix)
    try:
        others = [owner for owner in app.api_keys.owners() if owner != LOCAL]
        others = [
            owner
            for owner in others
            if app.documents.index.counts(owner, COLLECTION).chunks or app.documents.catalog.documents(owner)
        ]
    except LociError as error:
        return [*found, Finding("owners", "fault", error.what, error.resolution)]
    for owner in others:
        name = f"{owner.tenant}/{owner.subject}" if owner.tenant else owner.subject
        found += [replace(one, name=f"{one.name} of {name}") for one in _of(app, owner, fix=fix)]
    return found


def _of(app: DocumentsHost, owner: Owner, *, fix: bool) -> list[Finding]:
    found = [
        *checked("documents", lambda: check_catalog(app, owner)),
        *checked("index", lambda: check_index(app, owner, fix=fix)),
        *checked("orphans", lambda: check_orphans(app, owner, fix=fix)),
        *checked("links", lambda: check_links(app, owner)),
        *checked("vectors", lambda: check_vectors(app, owner, fix=fix)),
    ]
    if app.settings.mode == "embedded":
        found += [
            *checked("folders", lambda: check_folders(app, owner)),
            *checked("files", lambda: check_files(app, owner)),
            *checked("texts", lambda: check_texts(app, owner)),
            *checked("spare texts", lambda: check_spare_texts(app, owner, fix=fix)),
        ]
    return found
