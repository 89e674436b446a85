"""All checks of `loci doctor`, in order."""

import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from loci.app import App
from loci.code.module import machine_checks
from loci.core.errors import LociError
from loci.core.finding import Finding, run_check, run_checks
from loci.core.settings import Settings, sourced_settings
from loci.doctor.aws_checks import check_aws
from loci.doctor.deep_checks import check_contents
from loci.doctor.machine_checks import check_folder, check_models, check_secret, check_settings, check_space, has_models
from loci.doctor.record_checks import check_records
from loci.documents.checks import check_owners
from loci.documents.ingest.index_writer import Progress
from loci.events.notices import NAME as NOTIFY
from loci.files.checks import check_files
from loci.tools.checks import check_tool_servers


@dataclass(frozen=True, slots=True)
class Openers:
    """The functions that open what the checks look at."""

    app: Callable[[Settings], App]
    database: Callable[[Settings], str | None]
    """Returns a sentence about the embedded database; None: there is none yet."""
    mend: Callable[[Settings], Finding | None]
    """Makes a damaged embedded database whole and rebuilds its index; returns None if it is whole."""
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

    With `deep`, read every content that Loci keeps, and tell it how far that is.
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
            stores = run_check("database", lambda: openers.mend(settings)) or stores  # nothing to mend: it is lost
        yield from stores
        if not stores or any(one.state != "ok" and not one.fixed for one in stores):
            return
    elif settings.aws.inference_function is None and has_models(settings):
        yield from check_models(settings)
    try:
        app = openers.app(_with_throwaway_secret(settings))
    except LociError as error:
        yield Finding("stores", "fault", error.what, error.resolution)
        return
    yield from _app(app, lambda: openers.secrets(settings), fix=fix)
    if deep:
        yield from run_check("all contents", lambda: check_contents(app, deep))


def examine_server(app: App, database: Callable[[Settings], str | None]) -> Iterator[Finding]:
    """The same for the server on this machine that asks: its settings were checked when it started. Repairs nothing."""
    yield from _machine(app.settings)
    yield from _database(app.settings, database)
    yield from _app(app, lambda: 0, fix=False)


def _app(app: App, secrets: Callable[[], int], *, fix: bool) -> Iterator[Finding]:
    """Check all that the stores hold, of every owner."""
    settings = app.settings
    if settings.mode == "aws":
        on_aws = check_aws(app, secrets)
        yield from on_aws
        if any(one.state == "fault" for one in on_aws):
            return
    yield from run_check("records", lambda: check_records(app, fix=fix))
    if notices := app.events.notices:
        yield from run_checks(NOTIFY, notices.findings)
    if settings.mode == "aws" and settings.aws.search != "s3" and settings.aws.search_url is None:
        return
    yield from check_owners(app, fix=fix)
    yield from check_files(app, fix=fix)
    yield from check_tool_servers(app)


def _machine(settings: Settings) -> Iterator[Finding]:
    yield from run_check("data folder", lambda: check_folder(settings.data))
    yield from run_check("disk", lambda: check_space(settings.data))
    yield from run_check("secret", lambda: check_secret(settings.data, len(settings.secrets)))
    yield from check_models(settings)
    yield from machine_checks(settings)


def _database(settings: Settings, database: Callable[[Settings], str | None]) -> list[Finding]:
    """Check the database; no finding if there is no data folder, which another finding reports."""
    if not settings.data.is_dir():
        return []
    return run_check("database", lambda: _database_finding(database(settings)))


def _database_finding(what: str | None) -> Finding:
    if what is None:
        return Finding("database", "warning", "There is none yet", "Begin with: loci ingest PATH, or loci serve")
    return Finding("database", "ok", what)


def _with_throwaway_secret(settings: Settings) -> Settings:
    """Return the settings with a new secret: the checks sign nothing, and must not create the real secret."""
    return settings.model_copy(update={"secrets": (SecretStr(secrets.token_hex(32)),)})
