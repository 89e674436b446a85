"""A reader of files for tests: behind the strongest wall of this machine."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from loci.adapters.local.confined_reader import BOUNDS, ConfinedReader
from loci.core.identity import LOCAL
from loci.files.reading import Reading, checked
from loci.sandbox.supervisor.limits import Bounds
from tests.contract.stores import in_folder
from tests.support.deno import STRONGEST
from tests.support.executors import runner_packages

Read = Callable[[str, bytes], Reading]


@contextmanager
def reader_in(folder: Path, limits: Mapping[str, int] | None = None, bounds: Bounds = BOUNDS) -> Generator[Read]:
    """A function that has a file read."""
    blobs = in_folder(folder).blobs
    reader = ConfinedReader(folder / "readers", runner_packages(), blobs, lambda: STRONGEST, bounds, limits)

    def read(name: str, content: bytes) -> Reading:
        blobs.write(LOCAL, "one", content)
        return checked(reader.read(LOCAL, "one", name))

    try:
        yield read
    finally:
        reader.close()
