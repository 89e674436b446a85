"""Every adapter of the stores, empty and ready, and what the tests ask of each."""

import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote

import pytest
import requests

from loci.adapters.aws.blobs import S3Blobs
from loci.adapters.aws.clients import Clients
from loci.adapters.aws.records import DynamoRecords
from loci.adapters.local.blobs import FolderBlobs
from loci.adapters.local.records import SqliteRecords
from loci.adapters.local.sqlite import Database
from loci.core.identity import Owner
from loci.core.signing import Keyring
from loci.core.stores import BlobStore, LinkedContent, RecordStore

ANN = Owner("acme", "ann")
BOB = Owner("acme", "bob")
BASE_URL = "http://127.0.0.1:8765"
START = 1_700_000_000.25
SURROGATE = "a\ud800"

T = TypeVar("T")


@dataclass
class Clock:
    """A clock that stands still until it is set."""

    now: float = START

    def __call__(self) -> float:
        return self.now


CLOCK = Clock()
"""Of what is made without a clock: executors, and what is tested beside them."""


@dataclass(frozen=True, slots=True)
class Stores:
    """One adapter's stores, and its links as whoever holds them follows them."""

    records: RecordStore
    blobs: BlobStore
    follow: Callable[[str], LinkedContent]


Opener = Callable[[Path, Clock], AbstractContextManager[Stores]]
"""Gives empty stores, which may keep files in the folder, and whose time is this clock's."""


def in_folder(folder: Path, clock: Clock = CLOCK) -> Stores:
    blobs = FolderBlobs(folder / "blobs", Keyring(["s" * 32]).seal("link"), BASE_URL, clock)
    records = SqliteRecords(Database(folder / "loci.db"), clock)
    return Stores(records, blobs, lambda url: blobs.follow(url.rsplit("/", 1)[-1]))


@contextmanager
def embedded() -> Generator[Opener, None, None]:
    yield lambda folder, clock: nullcontext(in_folder(folder, clock))


@contextmanager
def moto() -> Generator[Opener, None, None]:
    """The clients serve many tests, as they take longer to make than all else here; each test has its own AWS."""
    # Imported where they are used: `make test` needs none of them.
    from moto import mock_aws

    from tests.support.moto_aws import BUCKET, TABLE, credentials, maker, one_request_at_a_time

    with pytest.MonkeyPatch.context() as environment:
        credentials(environment)
        one_request_at_a_time(environment)
        clients = Clients()
        blobs = S3Blobs(BUCKET, clients)
        make = maker()

        @contextmanager
        def opened(_: Path, clock: Clock) -> Generator[Stores, None, None]:
            with mock_aws():
                make()
                yield Stores(DynamoRecords(TABLE, blobs, clock, clients), blobs, _download)

        yield opened


@contextmanager
def dynamodb_local() -> Generator[Opener, None, None]:
    from tests.servers.java.stores import dynamodb

    clock_of_the_test = [Clock()]

    def stores(records: DynamoRecords, blobs: S3Blobs) -> Stores:
        return Stores(records, blobs, _download)

    with dynamodb(lambda: clock_of_the_test[0](), stores) as opener:

        def opened(folder: Path, clock: Clock) -> AbstractContextManager[Stores]:
            clock_of_the_test[0] = clock
            return opener(folder)

        yield opened


ADAPTERS: dict[str, Callable[[], AbstractContextManager[Opener]]] = {
    "embedded": embedded,
    "moto": moto,
    "dynamodb-local": dynamodb_local,
}
on_moto_too = pytest.mark.parametrize(
    "adapter", ["embedded", pytest.param("moto", marks=pytest.mark.aws)], indirect=True, scope="module"
)
"""For what DynamoDB's own server adds nothing to but its start."""


def at_once(times: int, work: Callable[[int], T]) -> list[T]:
    """What `work(0)`, `work(1)`, … give when they all start together, each in its thread."""
    start = threading.Barrier(times)

    def begin(number: int) -> T:
        start.wait()
        return work(number)

    with ThreadPoolExecutor(times) as threads:
        return list(threads.map(begin, range(times)))


def _download(url: str) -> LinkedContent:
    answer = requests.get(url, timeout=60)
    answer.raise_for_status()
    kind, _, name = answer.headers["Content-Disposition"].partition("; filename*=UTF-8''")
    assert kind == "attachment"
    return LinkedContent(unquote(name), answer.content)
