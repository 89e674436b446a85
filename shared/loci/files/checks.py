"""`loci doctor`: the lake, its blobs and the index, compared."""

from typing import TYPE_CHECKING

from loci.core.diagnosis import Finding, counted, first_names, for_owners, run_check, seen_twice
from loci.core.errors import LociError, NotFound, Refused
from loci.core.identity import LOCAL, Owner
from loci.core.storage_keys import DAMAGED
from loci.core.stores import every
from loci.files.file import StoredFile
from loci.files.lake import FOLDER, KIND, content_key, reading_key
from loci.files.search_query import COLLECTION, PAST
from loci.files.versions import past_document

if TYPE_CHECKING:
    from loci.app import App

FILE = "lake"


def check_files(app: "App", *, fix: bool) -> list[Finding]:
    """Check the files of the person at this machine, and of every owner with an API key and files."""

    def check(owner: Owner) -> list[Finding]:
        found = _check_owner(app, owner, fix=fix)
        return [one for one in found if owner == LOCAL or one.state != "ok" or one.fixed]

    return for_owners(FILE, app.api_keys.owners, check)


def _check_owner(app: "App", owner: Owner, *, fix: bool) -> list[Finding]:
    return [
        *run_check(FILE, lambda: _check_status(app, owner, fix=fix)),
        *run_check("contents", lambda: _check_contents(app, owner)),
        *run_check("readings", lambda: _check_readings(app, owner, fix=fix)),
        *run_check("file passages", lambda: _check_passages(app, owner, fix=fix)),
        *run_check("spare files", lambda: _check_spare(app, owner, fix=fix)),
    ]


def _check_status(app: "App", owner: Owner, *, fix: bool) -> Finding:
    """Count the files, and report the ones that were never read. The fix reads the files that wait."""
    files = app.files.listed(owner)
    gone = [*app.files.parts.lake.being_removed(owner)]
    waiting = [one for one in files if one.newest.status in ("pending", "running")]
    outdated = [one for one in files if one.is_outdated]
    was_fixed = fix and bool(waiting or gone or outdated)
    if was_fixed:
        app.files.upkeep.finish(owner)
        files = app.files.listed(owner)
        waiting = [one for one in files if one.newest.status in ("pending", "running")]
    elif gone:
        what = f"{counted(len(gone), 'removed file')} not gone yet"
        return Finding(FILE, "warning", what, "The next start of the server goes on, or: loci doctor --fix")
    if waiting:
        what = f"{len(waiting):,} of {counted(len(files), 'file')} not read yet: {first_names(_names(waiting))}"
        why = next((f" ({one.newest.reason})" for one in waiting if one.newest.reason), "")
        return Finding(FILE, "warning", f"{what}{why}", "A running server reads them, and so does: loci files read")
    if outdated and not was_fixed:
        what = f"{counted(len(outdated), 'file')} read by an older reader: {first_names(_names(outdated))}"
        return Finding(FILE, "warning", what, "A running server reads them again, and so does: loci doctor --fix")
    failed = [one for one in files if one.newest.status == "error"]
    if failed:
        why = f"{failed[0].name}: {failed[0].newest.reason}"
        what = f"{len(failed):,} of {counted(len(files), 'file')} could not be read: {first_names(_names(failed))}"
        return Finding(FILE, "warning", what, why, fixed=was_fixed)
    return Finding(FILE, "ok", counted(len(files), "file") if files else "No files yet", fixed=was_fixed)


def _check_contents(app: "App", owner: Owner) -> Finding | None:
    """Check that each version has its content."""
    files = app.files.listed(owner)
    if not files:
        return None
    lost = seen_twice(lambda: set(_versions_without_content(app, owner)))
    if lost:
        what = f"{counted(len(lost), 'version')} of files lost their content: {first_names(lost)}"
        advice = "Restore them from a backup, or add the files again: loci add FILE"
        return Finding("contents", "fault", what, advice)
    return Finding("contents", "ok", "Each version of each file has its content")


def _check_readings(app: "App", owner: Owner, *, fix: bool) -> Finding | None:
    """Check that what was read out of each file is whole. The fix reads the file again."""
    files = [one for one in app.files.listed(owner) if one.current is not None]
    if not files:
        return None
    damaged = [one for one in files if not _is_whole(app, owner, one)]
    if not damaged:
        return Finding("readings", "ok", "What was read out of each file is whole")
    what = f"What was read out of {counted(len(damaged), 'file')} is damaged: {first_names(_names(damaged))}"
    if not fix:
        return Finding("readings", "fault", what, "To read them again, run: loci doctor --fix")
    return _read_again(app, owner, "readings", what, damaged)


def _check_passages(app: "App", owner: Owner, *, fix: bool) -> Finding | None:
    """Compare the files with the index. The fix reads files again, and removes passages of unknown ones."""
    index, lake = app.files.parts.index, app.files.parts.lake

    def lacking() -> set[str]:
        held = index.documents(owner, COLLECTION)
        return {one.id for one in lake.files(owner) if one.current and held.get(one.id, 0) != one.current.chunks}

    def spare() -> set[tuple[str, str]]:
        files = [*lake.files(owner), *lake.being_removed(owner)]
        damaged = _damaged_ids(app, owner)
        known = {one.id for one in files} | damaged
        past = {past_document(id, one) for id, versions in lake.histories(owner).items() for one in versions}
        here = {(COLLECTION, id) for id in index.documents(owner, COLLECTION) if id not in known}
        there = {
            (PAST, id) for id in index.documents(owner, PAST) if id not in past and id.partition("@")[0] not in damaged
        }
        return here | there

    wrong, unknown = seen_twice(lacking), seen_twice(spare)
    if not wrong and not unknown:
        held = sum(index.documents(owner, COLLECTION).values())
        return (
            Finding("file passages", "ok", f"{counted(held, 'passage')}, as many as the files have") if held else None
        )
    files = [one for one in lake.files(owner) if one.id in wrong]
    parts = (
        [f"The index lacks passages of {counted(len(files), 'file')}: {first_names(_names(files))}"] if files else []
    )
    parts += [f"It has passages of {counted(len(unknown), 'unknown file')}"] if unknown else []
    what = ". ".join(parts)
    if not fix:
        return Finding("file passages", "fault" if files else "warning", what, "Run: loci doctor --fix")
    for collection, id in unknown:
        index.remove(owner, collection, id)
    return _read_again(app, owner, "file passages", what, files)


def _check_spare(app: "App", owner: Owner, *, fix: bool) -> Finding | None:
    """Check for contents and readings that belong to no version. The fix deletes them."""
    lake = app.files.parts.lake

    def spare() -> set[str]:
        kept = {key for file in lake.files(owner) for key in _keys(app, owner, file)}
        unsure = _damaged_ids(app, owner) | {one.id for one in lake.being_removed(owner)}
        found = set(app.blobs.list(owner, FOLDER)) - kept
        return {key for key in found if key.split("/")[1] not in unsure}

    found = seen_twice(spare)
    if not found:
        return None
    what = f"{counted(len(found), 'blob')} of no file: {first_names(found)}"
    if any(app.settings.data.glob(f"*{DAMAGED}*")):  # their records may be among those that could not be read
        return Finding("spare files", "warning", what, "They stay as long as a damaged database is kept beside them")
    if not fix:
        return Finding("spare files", "warning", what, "To delete them, run: loci doctor --fix")
    for key in found:
        id = key.split("/")[1]
        with lake.turn(owner, id):  # nobody adds a version with this content meanwhile
            held = lake.held(owner, id)
            if held is None or key not in _keys(app, owner, held):
                app.blobs.remove(owner, key)
    return Finding("spare files", "ok", f"{what}; deleted", fixed=True)


def _read_again(app: "App", owner: Owner, name: str, what: str, files: list[StoredFile]) -> Finding:
    errors: list[str] = []
    for one in files:
        try:
            after = app.files.read_again(owner, one.id)
        except LociError as error:
            errors.append(f"{one.full_path}: {error}")
        else:
            errors += [f"{one.full_path}: {after.newest.reason}"] if after.newest.status != "okay" else []
    if errors:
        return Finding(name, "fault", f"{what}; {counted(len(errors), 'file')} cannot be read again", errors[0])
    return Finding(name, "ok", f"{what}; mended", fixed=True)


def _is_whole(app: "App", owner: Owner, file: StoredFile) -> bool:
    try:
        app.files.parts.lake.reading(owner, file.id, file.shown)
    except (NotFound, Refused):
        return False
    return True


def _versions_without_content(app: "App", owner: Owner) -> list[str]:
    there = set(app.blobs.list(owner, FOLDER))
    return [
        f"{file.full_path} {version.number}"
        for file in app.files.listed(owner)
        for version in {
            one.number: one for one in [*app.files.parts.versions.for_file(owner, file), file.newest]
        }.values()
        if content_key(file.id, version.sha256) not in there
    ]


def _keys(app: "App", owner: Owner, file: StoredFile) -> set[str]:
    """The keys of all blobs of a file."""
    versions = [
        *app.files.parts.versions.for_file(owner, file),
        *app.files.parts.lake.history(owner, file.id),
        file.newest,
    ]
    return {key(file.id, one.sha256) for one in versions for key in (content_key, reading_key)}


def _damaged_ids(app: "App", owner: Owner) -> set[str]:
    """The ids of files whose records cannot be read: the check of the records names them."""
    lake = app.files.parts.lake
    known = {one.id for one in [*lake.files(owner), *lake.being_removed(owner)]}
    return {one.key for one in every(app.records, owner, KIND)} - known


def _names(files: list[StoredFile]) -> list[str]:
    return [one.full_path for one in files]
