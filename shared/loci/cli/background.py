"""What goes on beside serving: models arrive, and documents get their vectors."""

import threading
from collections.abc import Callable
from contextlib import suppress

from loci.app import App
from loci.cli.example import bring_example
from loci.core.errors import LociError
from loci.core.identity import LOCAL, Owner
from loci.documents.ingest.index_writer import COLLECTION
from loci.model_store.manifests import DEFAULTS, Kind, known
from loci.model_store.models_folder import ModelsFolder
from loci.model_store.pull import pull
from loci.search.ranking import QueryVector, Where

SECONDS_BETWEEN_LOOKS = 5.0
STEPS = 10


class Background:
    """A thread that ends with the server, or when it is told to."""

    def __init__(self, app: App, say: Callable[[str], None], *, example: bool) -> None:
        self._app = app
        self._example = example
        self._say = say
        self._warmed: str | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name="background", daemon=True)

    def __enter__(self) -> "Background":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(timeout=2)

    def _work(self) -> None:
        with suppress(LociError):  # the next write tries again
            for owner in self._owners():
                self._app.documents.edits.repair(owner)
        self._warm()
        if self._example:
            bring_example(self._app, self._say)
        if self._app.settings.pull_models:
            self._pull()
        filled: str | None = None
        while True:
            self._warm()
            model = self._app.documents.embedder.model()
            if model is not None and model.identity != filled and self._fill():
                filled = model.identity
            if self._ended.wait(SECONDS_BETWEEN_LOOKS):
                return

    def _pull(self) -> None:
        """Bring what is missing of the models that would be used: the embedder first, as it helps most."""
        settings = self._app.settings
        shelf = ModelsFolder(settings.models_folder)
        wanted: list[tuple[Kind, str | None]] = [("embedder", settings.embedder), ("reranker", settings.reranker)]
        for kind, name in wanted[: 1 if settings.rerank_seconds == 0 else 2]:
            if shelf.in_use(kind, name) is not None:
                continue
            manifest = known(name or DEFAULTS[kind])
            try:
                pull(manifest, shelf, settings.model_hub, self._progress(manifest.name))
            except _StoppedError:
                return
            except LociError as error:
                self._say(f"Without {manifest.name} for now. {error}")
                return
            self._say(f"{manifest.name} is here")

    def _progress(self, name: str) -> Callable[[int, int | None], None]:
        """Says the size first, and then each tenth of the way."""
        said = -1

        def progress(done: int, total: int | None) -> None:
            nonlocal said
            if self._ended.is_set():
                raise _StoppedError
            step = done * STEPS // total if total else 0
            if step > said:
                of = f" of {total / 1e6:,.0f} MB" if total else ""
                self._say(f"Pulling {name}: {done / 1e6:,.0f}{of}")
                said = step

        return progress

    def _warm(self) -> None:
        """Load a model that is new, and the vectors: the first search would wait half a second for them.

        Not the cross-encoder: it may take gigabytes, and not every server is asked.
        """
        model = self._app.documents.embedder.model()
        if model is None or model.identity == self._warmed:
            return
        self._warmed = model.identity
        with suppress(LociError):  # the first search says what is wrong
            asked = self._app.documents.embedder.query("warm")
            near = QueryVector.of(asked.model, asked.vector)
            self._app.documents.index.candidates(LOCAL, COLLECTION, ["warm"], near, limit=1, where=Where())

    def _fill(self) -> bool:
        """Embed what has no vector of the model; whether all of it was done."""
        try:
            for owner in self._owners():
                self._app.documents.fill.run(owner, stop=self._ended.is_set)
        except LociError as error:
            self._say(f"Some documents have no vectors yet. {error}")
            return False
        return not self._ended.is_set()

    def _owners(self) -> list[Owner]:
        return list(dict.fromkeys([LOCAL, *self._app.api_keys.owners()]))


class _StoppedError(LociError):
    """The server ends while a model is on its way; the next start goes on with it."""

    def __init__(self) -> None:
        super().__init__("The server was stopped", "Start it again")
