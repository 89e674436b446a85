"""Sessions with coding agents as documents: the one door. Commands and hooks call these methods."""

import os
import re
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

from loci.core.atomic_write import replace_file
from loci.core.errors import NotFound, Refused
from loci.core.full_disk import disk_error
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.core.settings import Settings
from loci.core.stores import Record, RecordStore, read_or_none
from loci.documents.api import Documents
from loci.documents.document import Document, is_session
from loci.documents.ingest.index_writer import Progress, no_progress
from loci.documents.ingest.local_files import LocalPath, below_root
from loci.search.language_model import LanguageModel
from loci.sessions.consent import HOME, Consent
from loci.sessions.page import document_of, path_of
from loci.sessions.places import Place, Transcript, home_places, named_place, repository_of
from loci.sessions.readers import cursor_marks, cursor_session, session_in_text, sessions_in_rows
from loci.sessions.record import SessionRecord, one_line
from loci.sessions.remarks import with_remarks
from loci.sessions.sources import FORGOTTEN, Made, Source, Sources

CONSENT: Final = "sessions_consent"
THE_CONSENT: Final = "all"
READING: Final = 2
"""The version of the readers. A newer one reads transcripts again that are still there."""


@dataclass(slots=True)
class Collected:
    """The outcome of a look at all transcripts."""

    written: list[str] = field(default_factory=list[str])
    """The files of new and changed documents."""
    unchanged: int = 0
    excluded: int = 0
    """Sessions of repositories that stay out."""
    unread: list[str] = field(default_factory=list[str])
    """Transcripts that cannot be read."""
    removed: list[str] = field(default_factory=list[str])
    """The paths of documents that are out now."""


class Sessions:
    """The transcripts of coding agents on this machine. Nothing is read before the person agreed."""

    def __init__(
        self, settings: Settings, records: RecordStore, documents: Documents, model: Callable[[], LanguageModel | None]
    ) -> None:
        self.folder = LocalPath(settings.sessions_folder, True, "sessions")
        self._settings = settings
        self._records = records
        self._sources = Sources(records)
        self._documents = documents
        self._model = model

    def consent(self, owner: Owner) -> Consent | None:
        """The consent of the owner, if it was given."""
        return read_or_none(self._records.get(owner, CONSENT, THE_CONSENT), _consent_of)

    def agree(self, owner: Owner, places: Sequence[str], excluded: Collection[str]) -> Consent:
        """Remember that these folders may be read from now on, besides earlier ones, but for these repositories."""
        before = self.consent(owner) or Consent((), ())
        folders = [one if one == HOME else named_place(one).folder for one in places]
        consent = Consent(
            tuple(dict.fromkeys((*before.places, *folders))), tuple(dict.fromkeys((*before.excluded, *excluded)))
        )
        value: JsonObject = {"places": [*consent.places], "excluded": [*consent.excluded]}
        self._records.put(owner, CONSENT, THE_CONSENT, value)
        self._make_folder()
        self._documents.watch(owner, [self.folder])
        return consent

    def collect(
        self,
        owner: Owner,
        consent: Consent,
        files: Sequence[str] = (),
        progress: Progress = no_progress,
        *,
        quiet: float = 0.0,
    ) -> Collected:
        """Make documents of new and grown transcripts, and of these files even if their documents were forgotten.

        `quiet`: seconds for which nobody wrote a transcript. A session that goes on is read later.
        """
        places = _places(consent)
        named = [(place, os.path.realpath(os.path.expanduser(one))) for one in files for place in [named_place(one)]]  # noqa: PTH111
        found = [one for place, path in named if (one := place.find(path))]
        is_asked = {one.path for one in found}
        found += [one for place in places for one in place.transcripts()]
        collected, before = Collected(), time.time() - quiet
        self._make_folder()
        for number, one in enumerate({one.path: one for one in found}.values(), 1):
            if quiet and one.stamp[2] > before * 1e9:
                continue
            self._collect_one(owner, one, self._out(consent), collected, is_asked=one.path in is_asked)
            progress(number, len(found), one.below)
        return collected

    def take_in(self, owner: Owner, path: str) -> bool:
        """Make a document of the transcript at that path, and ingest it. False if the person did not agree to it."""
        consent, real = self.consent(owner), os.path.realpath(path)
        found = next((one for place in (_places(consent) if consent else []) if (one := place.find(real))), None)
        if consent is None or found is None:
            return False
        self._make_folder()
        collected = Collected()
        self._collect_one(owner, found, self._out(consent), collected)
        if collected.written:
            self._documents.parts.ingest.update(owner, self.folder, collected.written, [])
        return True

    def forget(self, owner: Owner, removed: Sequence[Document]) -> int:
        """Delete the texts of sessions whose documents were removed. If none is left, the consent ends, too.

        Returns the number of texts.
        """
        paths = {below_root(one.path) for one in removed if one.root and is_session(one.properties)}
        return self._delete(owner, paths) if paths else 0

    def forget_all(self, owner: Owner) -> int:
        """Delete all texts of sessions and end the consent. Returns the number of texts."""
        return self._delete(owner, None)

    def gone(self, owner: Owner) -> set[str]:
        """The paths of documents that were made here once, and are out now: another server removes them, too."""
        return {f"{self.folder.name}/{path}" for one in self._sources.all(owner) for path in one.gone}

    def _delete(self, owner: Owner, paths: Collection[str] | None) -> int:
        """Delete the texts at these paths; None: at all."""
        count, is_any_left = 0, False
        for source in list(self._sources.all(owner)):
            out = [part for part, one in source.made.items() if one.path and (paths is None or one.path in paths)]
            for part in out:
                count += self._unlink(source.made[part].path)
                source.take_out(part)
            if out:
                self._sources.put(owner, source)
            is_any_left |= any(one.path for one in source.made.values())
        if paths is None or (count and not is_any_left):
            self._records.remove(owner, CONSENT, THE_CONSENT)
            self._sources.remove_all(owner)
        return count

    def _collect_one(
        self,
        owner: Owner,
        transcript: Transcript,
        out: Collection[str],
        collected: Collected,
        *,
        is_asked: bool = False,
    ) -> None:
        source = self._sources.get(owner, transcript.path)
        reading = [READING, *sorted(out)]
        if source.stamp == [*transcript.stamp, *reading] and not is_asked:
            collected.unchanged += 1
            return
        known = source.made if source.stamp[len(transcript.stamp) :] == reading else {}
        try:
            for part, mark, record in _records_in(transcript, {part: one.mark for part, one in known.items()}):
                if part in source.made and source.made[part].path == FORGOTTEN and not is_asked:
                    continue
                self._take(owner, transcript, source, part, record, out, collected)
                if part in source.made:
                    source.made[part].mark = mark
        except (OSError, sqlite3.Error, Refused) as error:
            if isinstance(error, OSError) and (full := disk_error(error, self.folder.path)):
                raise full from error
            collected.unread.append(f"{transcript.path} ({error})")
            return
        source.stamp = [*transcript.stamp, *reading]
        self._sources.put(owner, source)

    def _take(
        self,
        owner: Owner,
        transcript: Transcript,
        source: Source,
        part: str,
        record: SessionRecord,
        out: Collection[str],
        collected: Collected,
    ) -> None:
        """Write the document of a session, or remove it if its repository is excluded now."""
        named = "" if record.folders else transcript.named_folder()
        folders = {*record.folders, *([named] if named else [])}
        repositories = {one for one in (record.repository, *map(repository_of, folders)) if one}
        before = source.made[part].path if part in source.made else ""
        if _is_out(out, record, folders, repositories):
            collected.excluded += 1
            if before:
                self._remove(owner, before)
                source.take_out(part)
                collected.removed.append(before)
            source.made.pop(part, None)
            return
        if record.is_part or not any(one.by == "person" for one in record.turns):
            return
        if not record.began:
            record.about(at=transcript.changed)
        repository = one_line(record.repository or min(repositories, default=""), 100)
        with_remarks(record, self._model(), self._settings.language_model_seconds)
        path = before or path_of(record, repository, transcript.path)
        file = Path(self.folder.path, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        content = document_of(record, repository).encode("utf-8", "replace")
        if not (file.is_file() and file.read_bytes() == content):
            replace_file(file, content, synced=False)
            collected.written.append(str(file))
        source.made[part] = Made(path)
        source.gone = [one for one in source.gone if one != path]

    def _remove(self, owner: Owner, path: str) -> None:
        """Remove the document of a session at once: an ingestion keeps those of a folder that is suddenly empty."""
        library = self._documents.parts.library
        with suppress(NotFound):
            library.remove(owner, library.matching(owner, str(Path(self.folder.path, path))))
        self._unlink(path)

    def _unlink(self, path: str) -> bool:
        file = Path(self.folder.path, path)
        try:
            file.unlink()
        except OSError:
            return False
        for folder in (file.parent, file.parent.parent):
            with suppress(OSError):  # others are left in it
                folder.rmdir()
        return True

    def _out(self, consent: Consent) -> list[str]:
        return [one.casefold() for one in (*consent.excluded, *self._settings.exclude_repositories)]

    def _make_folder(self) -> None:
        try:
            Path(self.folder.path).mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise disk_error(error, self.folder.path) or Refused(
                f"Cannot make {self.folder.path} ({error.strerror})", "Correct the permissions of the data folder"
            ) from error


def _records_in(transcript: Transcript, marks: Mapping[str, str]) -> Iterator[tuple[str, str, SessionRecord]]:
    """The sessions of a file that are new or have grown: the name within the file, a mark, the record."""
    if transcript.is_database:
        for id, mark in cursor_marks(transcript.path).items():
            if marks.get(id) != mark:
                yield id, mark, cursor_session(transcript.path, id)
        return
    with os.fdopen(transcript.open(), "rb") as file:
        read = session_in_text if transcript.is_text else sessions_in_rows
        yield from (("", "", one) for one in read(file))


def _is_out(out: Collection[str], record: SessionRecord, folders: Iterable[str], repositories: Collection[str]) -> bool:
    """True if a part of the path of a working directory, or of a file, is the name of an excluded repository.

    If some are excluded, a session whose repository is not known stays out, too.
    """
    if not out:
        return False
    names = {name.casefold() for one in (*folders, *record.paths) for name in re.split(r"[/\\]", one)}
    names |= {one.casefold() for one in repositories}
    # A slug may be all that is known of a folder.
    slugs = [one.casefold() for one in folders if not one.startswith("/")]
    has_slug = any(f"-{one}-" in f"-{slug}-" for one in out for slug in slugs)
    return not repositories or has_slug or not names.isdisjoint(out)


def _places(consent: Consent) -> list[Place]:
    named = [Place(one) for one in consent.places if one != HOME and Path(one).is_dir()]
    return [*(home_places() if HOME in consent.places else []), *named]


def _consent_of(record: Record) -> Consent:
    value = cast("dict[str, list[str]]", record.value)
    return Consent(tuple(map(str, value["places"])), tuple(map(str, value["excluded"])))
