"""All checks of `loci doctor`, in order; the last ones are for a deployment on AWS."""

import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from loci.app import App
from loci.code.checks import check_machine
from loci.core.diagnosis import Finding, counted, first_names, run_check, run_checks
from loci.core.errors import LociError, Unavailable
from loci.core.identity import LOCAL, SYSTEM, Owner
from loci.core.settings import Settings, sourced_settings
from loci.doctor.machine_checks import check_folder, check_models, check_secret, check_settings, check_space, has_models
from loci.doctor.record_checks import check_contents, check_injections, check_records
from loci.documents.checks import check_documents, check_index, check_links, check_owners, check_vectors
from loci.documents.ingest.index_writer import COLLECTION, Progress
from loci.events.notices import NAME as NOTIFY
from loci.files.checks import check_files
from loci.gateway.checks import NAME as TOOL_SERVERS
from loci.gateway.checks import check_owner, check_tool_servers
from loci.sandbox.wall.layers import Unsafe, offered, strongest

OPERATOR: Final = "Tell the operator of this Loci"
"""The share of the limit of passages from which on `loci doctor` warns."""


@dataclass(frozen=True, slots=True)
class Openers:
    """The functions that open the stores for the checks."""

    app: Callable[[Settings], App]
    database: Callable[[Settings], str | None]
    """Describes the embedded database; returns None if it does not exist yet."""
    mend: Callable[[Settings], Finding | None]
    """Repairs a damaged embedded database and rebuilds its index; returns None if it is not damaged."""
    secrets: Callable[[Settings], int]
    """Returns the number of signing secrets that a deployment on AWS accepts."""


def examine(
    given: Mapping[str, object],
    config: Path | None,
    openers: Openers,
    *,
    fix: bool = False,
    deep: Progress | None = None,
) -> Iterator[Finding]:
    """Yield each finding as soon as it is known. With `fix`, repair what can be repaired without data loss.

    With `deep`, also read every content that Loci stores, and report the progress.
    """
    try:
        sourced = sourced_settings(given, config)
    except LociError as error:
        yield Finding("settings", "fault", error.what, error.resolution)
        return
    yield from check_settings(sourced)
    settings = sourced.settings
    if settings.mode == "embedded":
        yield from _machine(settings)
        stores = _database(settings, openers.database)
        if fix and stores and stores[0].state == "fault":
            stores = run_check("database", lambda: openers.mend(settings)) or stores  # nothing to repair: it is lost
        yield from stores
        if not stores or any(one.state != "ok" and not one.fixed for one in stores):
            return
    elif settings.aws.inference_function is None and has_models(settings):
        yield from check_models(settings)
    try:
        # With a random secret: the checks sign nothing, and must not create the real one.
        app = openers.app(settings.model_copy(update={"secrets": (SecretStr(secrets.token_hex(32)),)}))
    except LociError as error:
        yield Finding("stores", "fault", error.what, error.resolution)
        return
    yield from _app(app, lambda: openers.secrets(settings), fix=fix)
    if deep:
        yield from run_check("all contents", lambda: check_contents(app, deep))


def examine_server(app: App) -> Iterator[Finding]:
    """The same checks for a running local server, without its settings, which were checked at its start. No repairs."""
    yield from _machine(app.settings)
    yield from _database(app.settings, lambda _: app.runtime.check_database())
    yield from _app(app, lambda: 0, fix=False)


def _app(app: App, secrets: Callable[[], int], *, fix: bool) -> Iterator[Finding]:
    """Check everything in the stores, for all owners."""
    settings = app.settings
    if settings.mode == "aws":
        on_aws = check_aws(app, secrets)
        yield from on_aws
        if any(one.state == "fault" for one in on_aws):
            return
    yield from run_check("records", lambda: check_records(app, fix=fix))
    yield from run_check("keys", app.api_keys.soon_expired)
    if notices := app.events.notices:
        yield from run_checks(NOTIFY, notices.findings)
    if settings.mode == "aws" and settings.aws.search != "vectors" and settings.aws.search_url is None:
        return
    yield from check_owners(app, fix=fix)
    yield from check_files(app, fix=fix)
    yield from run_check("injections", lambda: check_injections(app))
    yield from check_tool_servers(app)


def _machine(settings: Settings) -> Iterator[Finding]:
    yield from run_check("data folder", lambda: check_folder(settings.data))
    yield from run_check("disk", lambda: check_space(settings.data))
    yield from run_check("secret", lambda: check_secret(settings.data, len(settings.secrets)))
    yield from check_models(settings)
    yield from check_machine(settings)


def _database(settings: Settings, database: Callable[[Settings], str | None]) -> list[Finding]:
    """Check the database. Without a data folder, which another check reports, there is no finding."""
    if not settings.data.is_dir():
        return []

    def check() -> Finding:
        if (what := database(settings)) is not None:
            return Finding("database", "ok", what)
        return Finding("database", "warning", "There is none yet", "Begin with: loci ingest PATH, or loci serve")

    return run_check("database", check)


def check_own(app: App, owner: Owner) -> Iterator[Finding]:
    """The checks that concern one owner. Yield each finding as soon as it is known."""
    yield from run_check("meaning", lambda: _check_meaning(app))
    yield from run_check("sandboxes", lambda: _check_sandboxes(app))
    yield from _without_advice(run_check("documents", lambda: check_documents(app, owner)))
    yield from _without_advice(run_checks("index", lambda: check_index(app, owner, fix=False)))
    yield from run_check("links", lambda: check_links(app, owner))
    yield from _without_advice(run_check("vectors", lambda: check_vectors(app, owner, fix=False)))
    yield from run_check("files", lambda: _check_files(app, owner))
    yield from run_check("injections", lambda: check_injections(app, [owner]))
    yield from _without_advice(run_check("keys", lambda: app.api_keys.soon_expired(owner)))
    for one in run_checks(TOOL_SERVERS, lambda: check_owner(app.tools, owner)):
        yield replace(one, advice=None if one.state == "ok" else "Ask it again on the page of tools")


def _check_meaning(app: App) -> Finding:
    if app.documents.upkeep.model() is None:
        return Finding("meaning", "warning", "Searches find documents and files by their words only", OPERATOR)
    return Finding("meaning", "ok", "Searches find documents and files by their meaning, too")


def _check_sandboxes(app: App) -> Finding:
    settings = app.settings
    if settings.mode == "aws":
        runs = {"Python": settings.aws.run_python_function, "TypeScript": settings.aws.run_deno_function}
        missing = [language for language, function in runs.items() if function is None]
        if missing:
            return Finding("sandboxes", "warning", f"No {' and no '.join(missing)} can run here", OPERATOR)
    elif isinstance(strongest(offered()), Unsafe) and not settings.allow_unsandboxed:
        return Finding("sandboxes", "warning", "No code can run here: this machine cannot isolate it", OPERATOR)
    return Finding("sandboxes", "ok", "Code can run")


def _check_files(app: App, owner: Owner) -> Finding:
    files = app.files.listed(owner)
    bad = [one.name for one in files if one.newest.status == "error"]
    if bad:
        what = f"{counted(len(bad), 'file')} of {len(files):,} could not be read: {first_names(bad)}"
        return Finding("files", "warning", what, "The page of files says why")
    return Finding("files", "ok", f"{len(files):,}")


def _without_advice(findings: list[Finding]) -> list[Finding]:
    """Remove advice that needs the command line of this machine."""
    return [replace(one, advice=OPERATOR if one.state == "fault" else None) for one in findings]


def check_aws(app: App, secrets: Callable[[], int]) -> list[Finding]:
    """Check each service of a deployment. If a service does not answer, its adapter explains why."""
    return [
        *run_check("table", lambda: _table(app)),
        *run_check("bucket", lambda: _bucket(app)),
        *run_check("secret", lambda: Finding("secret", "ok", f"{counted(secrets(), 'signing secret')} accepted")),
        *run_check("search", lambda: _search(app)),
        *run_check("inference", lambda: _inference(app)),
        *run_check("reader", lambda: _reader(app)),
    ]


def _table(app: App) -> Finding:
    return Finding("table", "ok", f"{app.settings.aws.table} answers, with {counted(len(app.api_keys.list()), 'key')}")


def _bucket(app: App) -> Finding:
    app.blobs.list(SYSTEM, "doctor/")
    return Finding("bucket", "ok", f"{app.settings.aws.bucket} answers")


def _search(app: App) -> Finding:
    try:
        index = app.documents.parts.index
        index.counts(LOCAL, COLLECTION)
    except Unavailable as error:
        if app.settings.aws.search == "vectors" or app.settings.aws.search_url is not None:
            raise
        return Finding("search", "warning", error.what, error.resolution)
    on_aws = app.settings.aws
    where = on_aws.vector_bucket if on_aws.search == "vectors" else on_aws.search_url
    return Finding("search", "ok", f"{where} answers")


def _inference(app: App) -> Finding | None:
    name = app.settings.aws.inference_function
    model = app.documents.parts.embedder.model()
    if name is None:
        return None if model else _without_model()
    if model is None:
        return Finding("inference", "warning", f"{name} has no embedder", "Build its image with one, and deploy it")
    return Finding("inference", "ok", f"{name} answers, and embeds with {model.identity}")


def _without_model() -> Finding:
    """Say what a model would add. A stage without a model is a choice, not a fault."""
    what = (
        "None: searches find documents by their words. With a model they also find those that say it in other words, "
        'and Loci links similar documents: set "model_in_gateway" or "inference" in cdk.json, and deploy'
    )
    return Finding("inference", "ok", what)


def _reader(app: App) -> Finding:
    """Say which function reads files. A stage without it is a choice, too."""
    name = app.settings.aws.extract_function
    if name is not None:
        return Finding("reader", "ok", f"{name} reads files")
    what = (
        "None: Loci reads only plain texts and Markdown. To read workbooks, PDFs and other files, "
        'set "extract" in cdk.json, and deploy'
    )
    return Finding("reader", "ok", what)
