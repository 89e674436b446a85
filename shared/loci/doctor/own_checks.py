"""The checks of what concerns one owner: they tell nothing of this machine, of its settings, or of anybody else."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from loci.app import App
from loci.core.finding import Finding, counted, first_names, run_check, run_checks
from loci.core.identity import Owner
from loci.documents.checks import check_documents, check_index, check_links, check_vectors
from loci.sandbox.wall.probe import Unsafe, offered, strongest
from loci.tools.checks import NAME as TOOL_SERVERS
from loci.tools.checks import check_owner

OPERATOR: Final = "Tell the operator of this Loci"


def check_own(app: App, owner: Owner) -> Iterator[Finding]:
    """Yield each finding as soon as it is known."""
    yield from run_check("meaning", lambda: _check_meaning(app))
    yield from run_check("sandboxes", lambda: _check_sandboxes(app))
    yield from _without_advice(run_check("documents", lambda: check_documents(app, owner)))
    yield from _without_advice(run_checks("index", lambda: check_index(app, owner, fix=False)))
    yield from run_check("links", lambda: check_links(app, owner))
    yield from _without_advice(run_check("vectors", lambda: check_vectors(app, owner, fix=False)))
    yield from run_check("files", lambda: _check_files(app, owner))
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
        return Finding("sandboxes", "warning", "No code can run here: there is no wall to put around it", OPERATOR)
    return Finding("sandboxes", "ok", "Code can run")


def _check_files(app: App, owner: Owner) -> Finding:
    files = app.files.listed(owner)
    bad = [one.name for one in files if one.newest.status == "error"]
    if bad:
        what = f"{counted(len(bad), 'file')} of {len(files):,} could not be read: {first_names(bad)}"
        return Finding("files", "warning", what, "The page of files says why")
    return Finding("files", "ok", f"{len(files):,}")


def _without_advice(findings: list[Finding]) -> list[Finding]:
    """Their advice is for whoever has this machine's command line."""
    return [replace(one, advice=OPERATOR if one.state == "fault" else None) for one in findings]
