"""What reads files behind the wall, for tests of what is in them."""

from collections.abc import Callable, Iterator

import pytest

from loci.adapters.local.confined_reader import ConfinedReader
from loci.core.identity import LOCAL
from loci.files.reading import Reading, checked
from tests.contract.stores import in_folder
from tests.support.deno import STRONGEST
from tests.support.executors import runner_packages

Read = Callable[[str, bytes], Reading]


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Read]:
    """Reads a file with this name and content, as the lake does."""
    folder = tmp_path_factory.mktemp("papers")
    blobs = in_folder(folder).blobs
    reader = ConfinedReader(folder / "readers", runner_packages(), blobs, lambda: STRONGEST)

    def reading(name: str, content: bytes) -> Reading:
        blobs.write(LOCAL, "one", content)
        return checked(reader.read(LOCAL, "one", name))

    yield reading
    reader.close()
