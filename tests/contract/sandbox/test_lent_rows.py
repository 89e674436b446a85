"""The rows of a run: its machine writes them, whoever began it removes them, and so does the next one who lends."""

import secrets
from collections.abc import Iterator

import boto3
import pytest
from moto import mock_aws

from loci.adapters.aws.clients import Clients
from loci.adapters.aws.sandbox import run_credentials as lent_rows
from loci.adapters.aws.sandbox.run_credentials import KEPT_SECONDS, LOANS, Lender, Loan
from loci.core.storage_keys import RUN_ATTRIBUTES, RUN_PARTITIONS, TABLE_EXPIRY
from loci.sandbox.lambda_host import questions
from loci.sandbox.lambda_host.questions import LentCredentials, RowsLocation, TableRows, open_line
from tests.contract.sandboxes import ROLE
from tests.contract.stores import START, Clock
from tests.servers.java.nodes import dynamodb_local
from tests.support.loopback_aws import loopback_aws
from tests.support.moto_aws import RUN_TABLE, create_table, credentials

SECONDS = 60.0


@pytest.fixture(scope="module", params=["moto", pytest.param("dynamodb-local", marks=pytest.mark.aws)])
def table(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a table that this machine serves."""
    if request.param == "moto":
        with loopback_aws():
            yield RUN_TABLE
        return
    url = dynamodb_local()
    name = f"loci-test-{secrets.token_hex(6)}"
    with pytest.MonkeyPatch.context() as environment:
        credentials(environment)
        environment.setenv("AWS_ENDPOINT_URL_DYNAMODB", url)
        with mock_aws(config={"core": {"passthrough": {"urls": [f"{url}/.*"]}}}):  # STS is moto's
            client = boto3.client("dynamodb")  # pyright: ignore[reportUnknownMemberType]
            create_table(client, name)
            yield name
            client.delete_table(TableName=name)


@pytest.fixture
def lender(table: str, clock: Clock) -> Lender:
    return Lender(table, ROLE, Clients(), clock)


def machine(loan: Loan) -> TableRows:
    """The rows as the machine that runs the code reaches them."""
    where = loan.where
    given = where["lent"]
    assert isinstance(given, dict)
    lent = LentCredentials(str(given["id"]), str(given["secret"]), str(given["token"]))
    texts = [str(where[name]) for name in ("url", "region", "table", "partition")]
    return TableRows(RowsLocation(texts[0], texts[1], texts[2], texts[3], lent))


def items(lender: Lender) -> list[dict[str, object]]:
    return [dict(one) for one in lender.clients.dynamodb.scan(TableName=lender.table)["Items"]]


def _partitions(lender: Lender) -> list[object]:
    return [one["pk"].get("S") for one in lender.clients.dynamodb.scan(TableName=lender.table)["Items"]]


@pytest.fixture(autouse=True)
def no_rows(table: str) -> Iterator[None]:
    yield
    client = Clients().dynamodb
    for one in client.scan(TableName=table)["Items"]:
        client.delete_item(TableName=table, Key={"pk": one["pk"], "sk": one["sk"]})


def test_what_one_side_writes_the_other_reads(lender: Lender) -> None:
    loan = lender.lend(SECONDS)
    rows = machine(loan)
    questions.send(rows, questions.QUESTION, 1, {"tool": "a:b", "text": "é" * 1000})
    assert questions.receive(loan.rows, questions.QUESTION, 1) == {"tool": "a:b", "text": "é" * 1000}
    questions.send(loan.rows, questions.ANSWER, 1, {"ok": True})
    assert questions.receive(rows, questions.ANSWER, 1) == {"ok": True}
    rows.close()


def test_a_line_is_opened_from_what_the_event_says(lender: Lender) -> None:
    line = open_line(lender.lend(SECONDS).where, 5)
    assert line is not None
    line.close()


def test_a_machine_writes_no_expiry_and_takes_none_away(lender: Lender) -> None:
    loan = lender.lend(SECONDS)
    rows = machine(loan)
    rows.put("mine", b"1")
    loan.rows.put("theirs", b"1")
    rows.put("theirs", b"2")
    rows.close()
    held = {str(one["sk"]): one for one in items(lender) if one["pk"] == {"S": loan.where["partition"]}}
    assert set(held["{'S': 'mine'}"]) == set(RUN_ATTRIBUTES)
    assert held["{'S': 'theirs'}"][TABLE_EXPIRY] == {"N": str(int(START + SECONDS) + KEPT_SECONDS)}
    assert loan.rows.starting("theirs", 1 << 20) == [b"2"]


def test_a_loan_that_has_ended_leaves_nothing(lender: Lender) -> None:
    loan = lender.lend(SECONDS)
    rows = machine(loan)
    for number in range(30):
        rows.put(f"{number}", b"x")
    rows.close()
    loan.rows.remove()
    assert [one["pk"] for one in items(lender)] == [{"S": LOANS}]


def test_what_is_written_after_a_run_is_removed_by_the_next_who_lends(lender: Lender, clock: Clock) -> None:
    """As if the function that began the run had died, or code wrote with credentials that have not yet expired."""
    loan = lender.lend(SECONDS)
    loan.rows.remove()
    rows = machine(loan)
    rows.put("question#000001#0000", b"x")
    rows.close()
    clock.now = START + SECONDS + KEPT_SECONDS / 2
    lender.lend(SECONDS)
    assert _partitions(lender).count(loan.where["partition"]) == 1  # too early: somebody may still use it
    clock.now = START + SECONDS + KEPT_SECONDS + 1
    lender.lend(SECONDS)
    assert loan.where["partition"] not in _partitions(lender)


def test_loans_that_are_over_do_not_pile_up(lender: Lender, clock: Clock) -> None:
    for number in range(8):
        clock.now = START + number * 2 * KEPT_SECONDS
        lender.lend(SECONDS).rows.remove()
    assert len(items(lender)) == 1


def test_more_rows_than_are_removed_at_a_time_go_in_turns(
    lender: Lender, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lent_rows, "MOST_REMOVED", 3)
    loan = lender.lend(SECONDS)
    for number in range(7):
        loan.rows.put(f"{number}", b"x")
    left: list[int] = []
    loan.rows.remove()
    left.append(_partitions(lender).count(loan.where["partition"]))
    clock.now = START + SECONDS + KEPT_SECONDS + 1
    for _ in range(3):
        lender.lend(SECONDS)
        left.append(_partitions(lender).count(loan.where["partition"]))
    assert left == [4, 1, 0, 0]


def test_runs_cannot_reach_the_notes_of_loans() -> None:
    """The lent role allows only partitions that begin as those of runs."""
    assert not LOANS.startswith(RUN_PARTITIONS)


def test_each_loan_has_rows_of_its_own(lender: Lender) -> None:
    one, other = lender.lend(SECONDS), lender.lend(SECONDS)
    assert one.where["partition"] != other.where["partition"]
    rows = machine(one)
    rows.put("x", b"1")
    rows.close()
    assert (one.rows.starting("x", 1 << 20), other.rows.starting("x", 1 << 20)) == ([b"1"], [])


@pytest.fixture
def clock() -> Clock:
    return Clock()
