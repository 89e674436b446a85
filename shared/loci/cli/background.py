"""The background threads of a local server: pulling models, reading files, embedding, workflows, watched folders."""

import ctypes
import shutil
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib.resources import as_file, files
from itertools import count
from typing import TYPE_CHECKING, Self

from loci.app import App
from loci.core.errors import LociError
from loci.core.full_disk import disk_error
from loci.core.identity import LOCAL, Owner
from loci.runtimes.local import sweep_data

# What a thread works with is loaded on the thread: over stdio the client's first answer does not wait for it.
if TYPE_CHECKING:
    from loci.model_store.models import Kind

SECONDS_BETWEEN_CHECKS = 5.0
CYCLES_BETWEEN_READINGS = 12
PROGRESS_STEPS = 10
EXAMPLE_QUESTION = "Why was self-checkout withdrawn?"
SECONDS_BETWEEN_LOOKS = 3.0
PATIENCE = 2.0
"""Seconds that a thread has to end."""
SECONDS_BEFORE_START = 3.0
"""Seconds after a start that are left to the first calls of a client."""


class BackgroundThread(ABC):
    """A thread that works until the server ends."""

    def __init__(self, name: str, begin: threading.Event | None = None) -> None:
        """`begin`: is set when the client has its first answer. Without it, the work begins at once."""
        self._begin = begin or threading.Event()
        if begin is None:
            self._begin.set()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def stop(self) -> None:
        """Ask the work to end."""
        self._ended.set()
        self._begin.set()

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._thread.join(PATIENCE)

    def _run(self) -> None:
        self._begin.wait(SECONDS_BEFORE_START)
        try:
            if not self._ended.is_set():
                self._work()
        except Exception:
            # A thread that does not end in time loses its resources, such as the database.
            if not self._ended.is_set():
                raise

    @abstractmethod
    def _work(self) -> None:
        """Work until `_ended` is set."""


class UpkeepThread(BackgroundThread):
    """Loads the example, pulls models, reads changed files and embeds passages until the server ends."""

    def __init__(
        self, app: App, say: Callable[[str], None], begin: threading.Event | None = None, *, example: bool
    ) -> None:
        super().__init__("background", begin)
        self._app = app
        self._example = example
        self._say = say
        self._warmed: str | None = None

    def _work(self) -> None:
        app, documents, stop = self._app, self._app.documents.upkeep, self._ended.is_set
        self._for_owners(documents.repair)
        sweep_data(app.settings)
        from loci.transfer.staging import Staging  # only a server at its start needs it

        # Pieces of an import that nobody finished. On AWS a rule of the bucket removes them.
        self._for_owners(Staging(app.arriving, 0).remove_old)
        self._warm()
        if self._example:
            add_example(app, self._say)
        self._read_again()
        if app.settings.pull_models:
            self._pull()
        embedded_by: str | None = None
        for cycle in count(1):
            self._warm()
            model = documents.model()
            if model is not None and model != embedded_by and self._embed():
                embedded_by = model
            self._for_owners(lambda owner: app.files.upkeep.embed_missing(owner, stop))
            self._for_owners(lambda owner: app.files.upkeep.write_summaries(owner, stop))
            if cycle % CYCLES_BETWEEN_READINGS == 0:
                self._read_again()
                give_back_freed_memory()
            if self._ended.wait(SECONDS_BETWEEN_CHECKS):
                return

    def _for_owners(self, work: Callable[[Owner], object]) -> None:
        """Do the work for each owner. After an error, the next cycle tries again."""
        with suppress(LociError):
            for owner in self._owners():
                work(owner)

    def _read_again(self) -> None:
        """Read changed documents, and files that an earlier process accepted or failed to read."""
        self._for_owners(lambda owner: self._app.documents.upkeep.read_again(owner, stop=self._ended.is_set))
        self._for_owners(lambda owner: self._app.files.upkeep.finish(owner, self._ended.is_set))

    def _pull(self) -> None:
        """Download the configured models that are missing, the embedder first because it helps most."""
        from loci.model_store.models import DEFAULTS, ModelsFolder, known
        from loci.model_store.pull import pull

        settings = self._app.settings
        models = ModelsFolder(settings.models_folder)
        wanted: list[tuple[Kind, str | None]] = [("embedder", settings.embedder), ("reranker", settings.reranker)]
        for kind, name in wanted[: 1 if settings.rerank_seconds == 0 else 2]:
            if models.in_use(kind, name) is not None:
                continue
            manifest = known(name or DEFAULTS[kind])
            try:
                pull(manifest, models, settings.model_hub, self._progress(manifest.name))
            except _DownloadStoppedError:
                return
            except LociError as error:
                self._say(f"Loci works without {manifest.name} for now. {error}")
                return
            self._say(f"{manifest.name} is installed")

    def _progress(self, name: str) -> Callable[[int, int | None], None]:
        """Return a function that prints the size first, and then a line at each tenth of the download."""
        printed = -1

        def progress(done: int, total: int | None) -> None:
            nonlocal printed
            if self._ended.is_set():
                raise _DownloadStoppedError
            step = done * PROGRESS_STEPS // total if total else 0
            if step > printed:
                of = f" of {total / 1e6:,.0f} MB" if total else ""
                self._say(f"Downloading {name}: {done / 1e6:,.0f}{of}")
                printed = step

        return progress

    def _warm(self) -> None:
        """Load a new model and the vectors before the first search needs them."""
        model = self._app.documents.upkeep.model()
        if model is not None and model != self._warmed:
            self._warmed = model
            self._app.documents.upkeep.warm_search()

    def _embed(self) -> bool:
        """Embed the passages that have no vector of the current model; return True if all are done."""
        try:
            for owner in self._owners():
                self._app.documents.upkeep.embed_missing(owner, stop=self._ended.is_set)
        except LociError as error:
            self._say(f"Some documents have no vectors yet. {error}")
            return False
        return not self._ended.is_set()

    def _owners(self) -> list[Owner]:
        return list(dict.fromkeys([LOCAL, *self._app.api_keys.owners()]))


def give_back_freed_memory() -> None:
    """Give the system what large answers left free between memory in use: after the tools of the graph tens of MB."""
    with suppress(OSError, AttributeError):  # other C libraries do not have it
        ctypes.CDLL(None).malloc_trim(0)


def add_example(app: App, say: Callable[[str], None]) -> None:
    """Ingest the example, notes of an invented library of tools, unless there are documents already."""
    folder = app.settings.data / "example"
    if folder.exists() or not app.documents.is_empty(LOCAL):
        return
    try:
        with as_file(files("loci") / "example") as source:
            shutil.copytree(source, folder)
        summary = app.documents.ingest(LOCAL, [str(folder)])
    except (LociError, OSError) as error:  # such as a full disk
        told = disk_error(error, folder) if isinstance(error, OSError) else None
        say(f"The example could not be loaded. {told or error}")
        shutil.rmtree(folder, ignore_errors=True)  # the next start tries again
        return
    say(
        f"Loci has loaded an example, {summary.processed} notes in {folder}. Ask your agent: {EXAMPLE_QUESTION}\n"
        "To add your own notes: loci ingest FOLDER. To remove the example: loci forget example"
    )


class _DownloadStoppedError(LociError):
    """The server ends during a download; the next start continues it."""

    def __init__(self) -> None:
        super().__init__("The server was stopped", "Start it again")


class ResumeThread(BackgroundThread):
    """Resumes workflows of dead processes until the server ends. Without any, a check reads one small list."""

    def __init__(self, app: App, begin: threading.Event | None = None) -> None:
        super().__init__("resuming", begin)
        self._app = app

    def _work(self) -> None:
        from loci.workflows.runs import ActiveOwners

        owners = ActiveOwners(self._app.records, lambda: 0.0)
        while True:
            for owner in self._active(owners):
                if self._ended.is_set():
                    return
                with suppress(LociError):  # the next look tries again
                    self._app.workflows.resume(owner)
            if self._ended.wait(SECONDS_BETWEEN_LOOKS):
                return

    def _active(self, owners: Iterable[Owner]) -> list[Owner]:
        with suppress(LociError):
            return [*owners]
        return []


class FollowThread(BackgroundThread):
    """Watches the ingested folders until the server ends."""

    def __init__(self, app: App, say: Callable[[str], None]) -> None:
        super().__init__("following", threading.Event())  # it is never set: the first reading comes a little later
        self._app = app
        self._say = say

    def _work(self) -> None:
        from loci.cli.watch import FolderWatch

        FolderWatch(self._app, self._say, self._ended).run()


class RunnerThread(BackgroundThread):
    """Installs the packages of the Python runner while the server serves."""

    def __init__(self, app: App, say: Callable[[str], None]) -> None:
        super().__init__("installing")
        self._folder = app.settings.runner_folder
        self._say = say

    def _work(self) -> None:
        from loci.code.api import Code

        try:
            if Code.install_packages(self._folder, self._say):
                self._say("The packages are installed: run_memory_code works now")
        except LociError as error:
            self._say(f"run_memory_code does not work yet. {error}")
