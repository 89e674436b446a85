"""The composition root: puts the product together on the runtime that the settings name."""

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from loci.app import App
from loci.core.identity import Owner, UnnamedOwner
from loci.core.settings import Settings, load_settings

if TYPE_CHECKING:
    from loci.core.diagnosis import Finding
    from loci.documents.upkeep import IndexRebuild


def build_app(settings: Settings | None = None, *, signs: bool = True) -> App:
    """Build Loci on the adapters that the settings name. `signs=False`: without the secrets of a deployment."""
    settings = settings or load_settings()
    # numpy reads it when it is loaded, at the first search. The threads of its BLAS wait busily for the next product,
    # on processors that the model and other searches need: with them a search took twice the processor time.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Each runtime loads its own adapters only.
    if settings.mode == "embedded":
        from loci.runtimes.local import LocalRuntime

        return App(settings, LocalRuntime(settings))
    from loci.runtimes.aws import AwsRuntime

    for line in settings.warnings if signs else ():  # into the server's log: on this machine `loci serve` says them
        print(line, file=sys.stderr)
    return App(settings, AwsRuntime(settings, signs=signs))


def build_index_rebuild(settings: Settings) -> "IndexRebuild":
    """Build what rebuilds the index."""
    from loci.documents.upkeep import IndexRebuild

    app = build_app(settings, signs=False)
    parts, owner_keys = app.documents.parts, app.blobs.owner_keys
    if settings.mode == "aws":
        from loci.runtimes.aws import fit_index, upload_ingest

        named, uploads = _named_owners(app), upload_ingest(app)

        def send() -> int:
            for owner in named():
                app.files.upkeep.send_outdated(owner)
            return 0

        return IndexRebuild(
            parts.upkeep, parts.catalog, named, owner_keys, uploads, begin=lambda: fit_index(app), end=send
        )
    from loci.runtimes.local import end_mending, is_half_mended

    def end() -> int:
        files = sum(app.files.upkeep.index_again(UnnamedOwner(key)) for key in owner_keys())
        end_mending(settings)
        return files

    is_half = is_half_mended(settings)
    return IndexRebuild(parts.upkeep, parts.catalog, _named_owners(app), owner_keys, is_after_damage=is_half, end=end)


def mend_all(settings: Settings) -> "Finding | None":
    """Mend the local database, then rebuild the index of every owner; None if it is whole."""
    from loci.core.diagnosis import Finding
    from loci.runtimes.local import mend_database

    mended = mend_database(settings)
    if mended is None:
        return None
    rebuild = build_index_rebuild(settings)
    for owner in rebuild.owners():
        rebuild.run(owner)
    rebuild.end()
    what = f"{mended.what}. Its index was rebuilt from the texts"
    return Finding("database", "ok" if mended.is_whole else "fault", what, fixed=True)


def count_signing_secrets(settings: Settings) -> int:
    """The number of signing secrets that a deployment on AWS accepts."""
    from loci.runtimes.aws import signing_secrets

    return len(signing_secrets(settings))


def _named_owners(app: App) -> Callable[[], list[Owner]]:
    """Return the function that lists the owners whose names records keep."""
    from loci.auth.grants import granting_owners

    return lambda: [*app.api_keys.owners(), *granting_owners(app.records)]
