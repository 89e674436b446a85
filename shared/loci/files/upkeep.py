"""The work on files that a server does beside serving: it ends what a killed process began, and embeds passages."""

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from loci.core.errors import LociError, NotFound, Unavailable
from loci.core.identity import Owner
from loci.files.file import StoredFile
from loci.files.parts import FileParts
from loci.files.search_query import COLLECTION, PAST
from loci.files.versions import past_document

FIRST_PAUSE, LONGEST_PAUSE = 600.0, 6 * 3600.0
"""Seconds without summaries after the language model has written none: doubled each time."""


class FileUpkeep:
    """Everything here can be stopped at any time, and goes on at the next call."""

    def __init__(self, parts: FileParts) -> None:
        self._parts = parts
        self._embedded: dict[str, tuple[str, str]] = {}
        """The model and the state of the index, by owner, when no vector was missing."""
        self._summarized: dict[str, str] = {}
        """The state of the index, by owner, when no summary was missing."""
        self._failures = Counter[tuple[Owner, str]]()
        self._pause, self._pause_ends = FIRST_PAUSE, 0.0

    def model(self) -> str | None:
        """The identity of the model that embeds."""
        model = self._parts.embedder.model()
        return model.identity if model else None

    def finish(self, owner: Owner, stop: Callable[[], bool] = lambda: False) -> None:
        """Remove what was to be removed. Read the files that were not read, then those that an older reader read."""
        for file in [*self._parts.lake.being_removed(owner)]:
            self._parts.ingest.forget(owner, file)
        waiting = [one for one in self._parts.lake.files(owner) if _is_unread(one) or one.is_outdated]
        for file in sorted(waiting, key=_is_unread, reverse=True):
            if stop():
                return
            with suppress(NotFound, Unavailable):  # it was just removed, or it waits for what reads it
                self._parts.ingest.run(owner, file.id, patience=0)

    def send_outdated(self, owner: Owner) -> None:
        """Have another process read the files that an older reader has read."""
        for file in [*self._parts.lake.files(owner)]:
            if file.is_outdated and self._parts.jobs is not None:
                self._parts.jobs.send(owner, file.id)

    def index_again(self, owner: Owner, stop: Callable[[], bool] = lambda: False) -> int:
        """Write the passages that the index lacks of files that were read, or has as they were cut before.

        Returns the number of files.
        """
        index, done = self._parts.index, 0
        held, past = index.documents(owner, COLLECTION), index.documents(owner, PAST)
        for file in [*self._parts.lake.files(owner)]:
            if stop():
                break
            older = self._parts.lake.history(owner, file.id)
            if file.current and file.is_outdated:
                with suppress(NotFound, Unavailable):  # it was just removed, or it waits for what reads it
                    self._parts.ingest.run(owner, file.id, patience=0)
                    done += 1
            elif file.current and (
                held.get(file.id, 0) != file.current.chunks
                or any(past.get(past_document(file.id, one), 0) != one.chunks for one in older)
            ):
                with suppress(NotFound, Unavailable):  # it was just removed, or `loci doctor` names it
                    self._parts.ingest.index_again(owner, file.id)
                    done += 1
        return done

    def embed_missing(self, owner: Owner, stop: Callable[[], bool] = lambda: False) -> int:
        """Embed the passages that have no vector of the current model; return the number of files."""
        model = self.model()
        if model is None:
            return 0
        state = (model, self._parts.index.state(owner, COLLECTION))
        if self._embedded.get(owner.key) == state:
            return 0
        done = 0
        errors = 0
        for file in [*self._parts.lake.files(owner)]:
            if stop():
                return done
            if file.current is not None and file.current.model != model:
                try:
                    self._parts.ingest.embed(owner, file.id)
                    done += 1
                except LociError:  # the others come first; `loci doctor` names it
                    errors += 1
        if not done and not errors:
            self._embedded[owner.key] = state
        return done

    def write_summaries(self, owner: Owner, stop: Callable[[], bool] = lambda: False) -> None:
        """Let the language model write the summaries that are still extracted, if there is one: the newest first.

        Files for which it failed come last, and after a failure there is a pause: another try costs as much.
        """
        summaries = self._parts.summaries
        if not summaries.has_model or time.monotonic() < self._pause_ends:
            return
        state = self._parts.index.state(owner, COLLECTION)
        if self._summarized.get(owner.key) == state:
            return
        lacking = [one for one in self._parts.lake.files(owner) if summaries.are_written_for(one)]
        lacking.sort(key=lambda one: one.shown.added_at, reverse=True)
        for file in sorted(lacking, key=lambda one: self._failures[owner, one.id]):
            if stop():
                return
            with suppress(NotFound):  # it was just removed
                if summaries.are_written_for(summaries.write(owner, file.id)):
                    self._failures[owner, file.id] += 1
                    self._pause_ends = time.monotonic() + self._pause
                    self._pause = min(2 * self._pause, LONGEST_PAUSE)
                    return
                self._pause = FIRST_PAUSE
        self._summarized[owner.key] = state


def _is_unread(file: StoredFile) -> bool:
    return file.newest.status in ("pending", "running")
