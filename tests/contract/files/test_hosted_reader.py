"""The function that reads files, as its adapter sees it: what it is told, and how it may fail."""

from collections.abc import Iterator

import pytest

from loci.core.errors import Refused, Unavailable
from loci.sandbox.lambda_host.function_answer import packed_answer
from loci.sandbox.wall.layers import UNPRIVILEGED
from tests.contract.file_readers import FUNCTION, Readers, function
from tests.contract.stores import ANN, BOB
from tests.support.deno import STRONGEST
from tests.support.each import each

pytestmark = [
    pytest.mark.aws,
    pytest.mark.skipif(
        not STRONGEST >= UNPRIVILEGED,
        reason="this machine has no wall to put around parsers: `loci doctor` says what is missing",
    ),
]
PRICES = b"fruit,price\napple,3\npear,4\n"


@pytest.fixture(scope="module")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Readers]:
    with function(tmp_path_factory.mktemp("hosted")) as made:
        yield made


def test_nothing_stays_where_the_machine_could_reach_it(hosted: Readers) -> None:
    assert hosted.lent is not None
    hosted.blobs.write(ANN, "files/prices", PRICES)
    hosted.read(ANN, "files/prices", "prices.csv")
    assert hosted.lent.list(ANN) == []


def test_each_owner_has_a_machine(hosted: Readers) -> None:
    assert hosted.api is not None
    hosted.api.tenants.clear()
    for owner in (ANN, BOB, ANN):
        hosted.blobs.write(owner, "files/prices", PRICES)
        hosted.read(owner, "files/prices", "prices.csv")
    first, second, third = hosted.api.tenants
    assert first == third != second


def test_the_machine_is_told_of_one_file_and_one_place_and_nothing_of_the_owner(hosted: Readers) -> None:
    assert hosted.api is not None
    hosted.blobs.write(ANN, "files/prices", PRICES)
    hosted.read(ANN, "files/prices", "prices.csv")
    event = hosted.api.events[-1]
    assert event.keys() == {"get", "put", "name", "bounds", "largest_file", "largest_reading"}
    assert "loci-executors" in event["get"]
    assert "loci-executors" in event["put"]["url"]


def test_if_lambda_has_no_room_another_try_may_help(hosted: Readers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loci.adapters.aws.clients.ROOM_SECONDS", 0.1)
    assert hosted.api is not None
    hosted.blobs.write(ANN, "files/prices", PRICES)
    hosted.api.throttled.add(FUNCTION)
    try:
        with pytest.raises(Unavailable):
            hosted.read(ANN, "files/prices", "prices.csv")
    finally:
        hosted.api.throttled.remove(FUNCTION)


@each(
    "said",
    [None, {}, {"packed": "?"}, packed_answer({}), packed_answer({"ended": 3}), packed_answer({"read": 7})],
)
def test_a_machine_that_says_nonsense_costs_its_file_only(
    hosted: Readers, said: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hosted.api is not None

    def nonsense(_event: object, _context: object) -> object:
        return said

    monkeypatch.setitem(hosted.api.functions, FUNCTION, nonsense)
    hosted.blobs.write(ANN, "files/prices", PRICES)
    with pytest.raises(Refused):
        hosted.read(ANN, "files/prices", "prices.csv")


@each(
    ("why", "told"),
    [("Task timed out after 240.00 seconds", "too long"), ("Runtime.OutOfMemory", "too much memory")],
)
def test_a_machine_that_ended_says_why(hosted: Readers, why: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert hosted.api is not None

    def dies(_event: object, _context: object) -> object:
        raise RuntimeError(why)

    monkeypatch.setitem(hosted.api.functions, FUNCTION, dies)
    hosted.blobs.write(ANN, "files/prices", PRICES)
    with pytest.raises(Refused, match=told):
        hosted.read(ANN, "files/prices", "prices.csv")


def test_a_file_that_kills_each_machine_is_refused_after_two_of_them(
    hosted: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The function itself works, as its answer to a ping says: what is wrong is the file."""
    assert hosted.api is not None
    works = hosted.api.functions[FUNCTION]

    def dies(event: dict[str, object], context: object) -> object:
        if "ping" in event:
            return works(event, context)
        raise RuntimeError("Runtime exited with error: exit status 139")

    monkeypatch.setitem(hosted.api.functions, FUNCTION, dies)
    hosted.blobs.write(ANN, "files/bomb", PRICES)
    hosted.api.events.clear()
    with pytest.raises(Refused, match="has crashed") as told:
        hosted.read(ANN, "files/bomb", "bomb.csv")
    assert told.value.code == "FILE_UNREADABLE"
    assert ["ping" in event for event in hosted.api.events] == [False, True, False, True]


def test_a_function_that_does_not_start_is_no_fault_of_the_file(
    hosted: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hosted.api is not None

    def dies(_event: object, _context: object) -> object:
        raise RuntimeError("Runtime exited with error: exit status 1")

    monkeypatch.setitem(hosted.api.functions, FUNCTION, dies)
    hosted.blobs.write(ANN, "files/prices", PRICES)
    with pytest.raises(Unavailable, match="exit status 1"):
        hosted.read(ANN, "files/prices", "prices.csv")
