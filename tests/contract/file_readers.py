"""Every adapter of `FileReader`, ready to read, and the blobs that it reads."""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from loci.adapters.aws.blobs import S3Blobs
from loci.adapters.aws.clients import Clients
from loci.adapters.aws.sandbox.lambda_reader import LambdaReader
from loci.adapters.aws.sandbox.machine import Machine
from loci.adapters.local.confined_reader import ConfinedReader
from loci.core.identity import Owner
from loci.core.stores import BlobStore
from loci.files.ports import FileReader
from loci.files.reading import Reading, checked
from tests.contract.sandboxes import KEY
from tests.contract.stores import in_folder
from tests.support.deno import STRONGEST
from tests.support.executors import runner_packages
from tests.support.functions import loaded

if TYPE_CHECKING:
    from tests.support.invoke_api import InvokeApi

FUNCTION = "loci-extract"


@dataclass(frozen=True, slots=True)
class Readers:
    """A reader, where its files lie, and the function behind it, if there is one."""

    reader: FileReader
    blobs: BlobStore
    lent: S3Blobs | None = None
    api: "InvokeApi | None" = None

    def read(self, owner: Owner, blob: str, name: str) -> Reading:
        """The reading of the file that lies under this key."""
        return checked(self.reader.read(owner, blob, name))


@contextmanager
def embedded(folder: Path) -> Generator[Readers]:
    stores = in_folder(folder)
    reader = ConfinedReader(folder / "readers", runner_packages(), stores.blobs, lambda: STRONGEST)
    try:
        yield Readers(reader, stores.blobs)
    finally:
        reader.close()


@contextmanager
def function(folder: Path) -> Generator[Readers]:
    """boto3, and the real handler behind Lambda's own protocol; its links lead to S3's."""
    # Imported where they are used: `make test` needs none of them.
    from tests.support.invoke_api import invoke_api
    from tests.support.loopback_aws import loopback_aws
    from tests.support.moto_aws import BUCKET, EXECUTORS

    with invoke_api() as api, loopback_aws():
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("LOCI_RUNNER", str(runner_packages()))
            environment.setenv("TMPDIR", str(folder))
            module = loaded(Path("extract"))
        api.functions[FUNCTION] = module.lambda_handler
        clients = Clients()
        blobs, lent = S3Blobs(BUCKET, clients), S3Blobs(EXECUTORS, clients)
        try:
            machine = Machine(FUNCTION, "LOCI_EXTRACT_FUNCTION", KEY, clients)
            yield Readers(LambdaReader(machine, blobs, lent), blobs, lent, api)
        finally:
            module.runs.close()


ADAPTERS: dict[str, Callable[[Path], AbstractContextManager[Readers]]] = {"embedded": embedded, "function": function}
PARAMETERS = ["embedded", pytest.param("function", marks=pytest.mark.aws)]
