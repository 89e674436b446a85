"""The rows of a run, as the process that began it reaches them; their loan to its machine; and its questions.

A machine can write rows, but neither remove them nor say when they expire: else hostile code could fill the table. What
it writes is removed after its run, and again once its credentials have expired: whoever lends rows notes the loan, and
ends loans that are over.
"""

import json
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from loci.adapters.aws.clients import Clients, translate_errors
from loci.core.errors import LociError, Unavailable
from loci.core.ids import random_id
from loci.core.json import Json, JsonObject
from loci.core.storage_keys import RUN_PARTITIONS, TABLE_EXPIRY, TABLE_KEYS
from loci.sandbox.lambda_host import questions
from loci.sandbox.lambda_host.questions import BadMessageError, LentCredentials, MessageRows

if TYPE_CHECKING:
    from types_boto3_dynamodb.type_defs import AttributeValueTypeDef as Attribute
    from types_boto3_dynamodb.type_defs import QueryInputTypeDef as Query

PARTITION, SORT = TABLE_KEYS
SHORTEST_LOAN = 900
"""Seconds: STS lends for no shorter time. The loan's own policy ends it with the run."""
KEPT_SECONDS = 3600
"""So long after the latest end of its run, a loan ends."""
MOST_REMOVED = 1000
"""Rows of a loan that are removed at a time; the next lender removes the rest."""
MOST_ENDED = 2
"""Loans that a lender ends: more than the one that it makes."""
LOANS = "loans"
"""The partition of the notes. A machine reaches only partitions of runs."""
RESOLUTIONS = {
    "ResourceNotFoundException": "Deploy the stack, or set LOCI_RUN_TABLE to the table it made",
    "AccessDeniedException": "Allow this role to use the table, and to assume the role of LOCI_RUN_ROLE",
    "AccessDenied": "Allow this role to use the table, and to assume the role of LOCI_RUN_ROLE",
}


class RunRows:
    """The rows of one partition of the table."""

    def __init__(self, table: str, clients: Clients, partition: str, expires: int) -> None:
        self._table = table
        self._clients = clients
        self._partition = partition
        self._expires = expires
        self._note = f"{expires:012}/{partition}"

    def begin(self) -> None:
        """Note the loan, so that another lender can end it."""
        with self._translate_errors():
            self._clients.dynamodb.put_item(
                TableName=self._table, Item={PARTITION: {"S": LOANS}, SORT: {"S": self._note}}
            )

    def put(self, sort: str, body: bytes) -> None:
        with self._translate_errors():
            self._clients.dynamodb.put_item(
                TableName=self._table,
                Item={
                    PARTITION: {"S": self._partition},
                    SORT: {"S": sort},
                    "body": {"B": body},
                    TABLE_EXPIRY: {"N": str(self._expires)},
                },
            )

    def starting(self, prefix: str, most: int) -> list[bytes]:
        found: list[bytes] = []
        for page in self._pages(prefix):
            found += [bytes(item.get("body", {}).get("B", b"")) for item in page]
            if sum(map(len, found)) > most:
                break
        return found

    def close(self) -> None:
        """Do nothing: boto3 keeps its connections."""

    def remove(self) -> None:
        """Remove the rows: the run is over. Rows that cannot be removed now go when the loan ends: no failure here
        costs the run its answer."""
        with suppress(Unavailable):
            self._remove()

    def end(self) -> None:
        """Remove the rows again, and the note if nothing is left. `Unavailable` if that fails."""
        if self._remove() < MOST_REMOVED:
            self._delete(LOANS, self._note)

    def _remove(self) -> int:
        pages = self._pages("", names_only=True)
        names = [str(item[SORT].get("S")) for item in islice(chain.from_iterable(pages), MOST_REMOVED)]
        for name in names:
            self._delete(self._partition, name)
        return len(names)

    def _delete(self, partition: str, sort: str) -> None:
        with self._translate_errors():
            key: dict[str, Attribute] = {PARTITION: {"S": partition}, SORT: {"S": sort}}
            self._clients.dynamodb.delete_item(TableName=self._table, Key=key)

    def _pages(self, prefix: str, *, names_only: bool = False) -> "Iterator[list[dict[str, Attribute]]]":
        """The rows in order, as the table gives them: a page has 1 MB."""
        query: Query = {
            "TableName": self._table,
            "ConsistentRead": True,
            "KeyConditionExpression": f"{PARTITION} = :pk",
            "ExpressionAttributeValues": {":pk": {"S": self._partition}},
        }
        if prefix:
            query["KeyConditionExpression"] = f"{PARTITION} = :pk AND begins_with({SORT}, :prefix)"
            query["ExpressionAttributeValues"] = {":pk": {"S": self._partition}, ":prefix": {"S": prefix}}
        if names_only:
            query["ProjectionExpression"] = SORT
        while True:
            with self._translate_errors():
                answer = self._clients.dynamodb.query(**query)
            yield answer["Items"]
            if "LastEvaluatedKey" not in answer:
                return
            query["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def _translate_errors(self) -> Any:
        return translate_errors("DynamoDB", f"the table {self._table}", RESOLUTIONS)


@dataclass(frozen=True, slots=True)
class Loan:
    """Rows for one run, and where its machine finds them."""

    rows: RunRows
    where: JsonObject


@dataclass(frozen=True, slots=True)
class Lender:
    """Lends rows of the table: to each run its own, until it must be over."""

    table: str
    role: str
    clients: Clients
    clock: Callable[[], float] = time.time

    def lend(self, seconds: float) -> Loan:
        """Lend new rows, for so long."""
        self._end_loans()
        partition, until = f"{RUN_PARTITIONS}{random_id(32)}", self.clock() + seconds
        rows = RunRows(self.table, self.clients, partition, int(until) + KEPT_SECONDS)
        rows.begin()
        with translate_errors("STS", "credentials for a run", RESOLUTIONS):
            answer = self.clients.sts.assume_role(
                RoleArn=self.role,
                RoleSessionName=partition.replace("#", "-"),
                DurationSeconds=max(SHORTEST_LOAN, int(seconds) + 1),
                Policy=policy(partition, until),
            )
        given = answer["Credentials"]
        lent = LentCredentials(given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"])
        meta = self.clients.dynamodb.meta
        credentials: dict[str, Json] = asdict(lent)
        where: JsonObject = {
            "url": meta.endpoint_url,
            "region": meta.region_name,
            "table": self.table,
            "partition": partition,
            "lent": credentials,
        }
        return Loan(rows, where)

    def _end_loans(self) -> None:
        """End the oldest loans whose credentials have long expired. What fails is tried again by the next lender."""
        now = f"{int(self.clock()):012}"
        with suppress(Unavailable), translate_errors("DynamoDB", f"the table {self.table}", RESOLUTIONS):
            answer = self.clients.dynamodb.query(
                TableName=self.table,
                KeyConditionExpression=f"{PARTITION} = :pk AND {SORT} < :now",
                ExpressionAttributeValues={":pk": {"S": LOANS}, ":now": {"S": now}},
                Limit=MOST_ENDED,
            )
            for item in answer["Items"]:
                expires, _, partition = str(item[SORT].get("S")).partition("/")
                RunRows(self.table, self.clients, partition, int(expires)).end()


def policy(partition: str, until: float) -> str:
    """The part of its role's rights that the loan allows: these rows, until then."""
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(until))
    rows: dict[str, Json] = {
        "Effect": "Allow",
        "Resource": "*",  # the role names the table
        "Condition": {
            "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [partition]},
            "Null": {"dynamodb:LeadingKeys": "false"},  # ForAllValues also holds if there are no keys at all
            "DateLessThan": {"aws:CurrentTime": moment},
        },
    }
    # The role limits the attributes of an update.
    statement = {**rows, "Action": ["dynamodb:Query", "dynamodb:UpdateItem"]}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


AT_ONCE = 16
SHORTEST_PAUSE, LONGEST_PAUSE = 0.02, 0.2

Answer = Callable[[Any], dict[str, Json]]


@contextmanager
def answering(rows: MessageRows, answer: Answer, most: int, failed: JsonObject) -> Generator[None]:
    """Answer questions until the block ends, at most `most` of them.

    The sandbox counts them too, but is not believed. If an answer fails, `failed` is sent instead: without an answer
    the run would wait until its time is over.
    """
    over = threading.Event()
    looking = threading.Thread(target=_look, args=(rows, answer, most, failed, over), name="answering", daemon=True)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join()


def _look(rows: MessageRows, answer: Answer, most: int, failed: JsonObject, over: threading.Event) -> None:
    number, pause = 1, SHORTEST_PAUSE
    slots = threading.BoundedSemaphore(AT_ONCE)  # a question that waits in here would take memory
    threads = ThreadPoolExecutor(AT_ONCE)
    try:
        while number <= most and not over.wait(pause):
            question = None
            if slots.acquire(blocking=False):
                with suppress(LociError, BadMessageError):
                    question = questions.receive(rows, questions.QUESTION, number)
                if question is None:
                    slots.release()
            if question is None:
                pause = min(LONGEST_PAUSE, pause * 1.3)
                continue
            asked = threads.submit(_answer, rows, number, question, answer, failed)
            asked.add_done_callback(lambda done: (slots.release(), _report(done)))
            del question
            number, pause = number + 1, SHORTEST_PAUSE
    finally:
        # Do not wait for a tool that takes longer than the run.
        threads.shutdown(wait=False, cancel_futures=True)


def _answer(rows: MessageRows, number: int, question: Any, answer: Answer, failed: JsonObject) -> None:
    try:
        questions.send(rows, questions.ANSWER, number, answer(question))
    except BaseException:
        questions.send(rows, questions.ANSWER, number, failed)
        raise


def _report(done: "Future[None]") -> None:
    """Report an error as an error of a thread: nobody asks the future for it."""
    error = None if done.cancelled() else done.exception()
    if error is not None:
        thread = threading.current_thread()
        threading.excepthook(threading.ExceptHookArgs((type(error), error, error.__traceback__, thread)))
