"""Questions of a run to the process that began it, and the answers, as rows of a table.

Each message takes as many rows as its size needs.
"""

import base64
import hashlib
import hmac
import http.client
import itertools
import json
import threading
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast
from urllib.parse import SplitResult, urlsplit

from loci.sandbox.supervisor.bounded_json import parsed_json

SECONDS = 10.0
ATTEMPTS = 4
PAUSE = 0.1
LARGEST_ANSWER = 2 << 20
ALGORITHM = "AWS4-HMAC-SHA256"
PART = 300_000
"""Bytes of a message in one row, which may have 400 KB."""
QUESTION, ANSWER = "question", "answer"
LARGEST = {QUESTION: 2 << 20, ANSWER: 8 << 20}
"""Bytes of a message: more than a call may ask or a tool may answer."""
MOST_PARTS = {QUESTION: 100_000, ANSWER: 600_000}
"""Values of a message."""
SHORTEST_PAUSE, LONGEST_PAUSE = 0.02, 0.2


class RowsError(Exception):
    """The table cannot be reached, or refuses."""


@dataclass(frozen=True, slots=True)
class LentCredentials:
    """Credentials that expire soon and allow next to nothing."""

    id: str
    secret: str
    token: str


@dataclass(frozen=True, slots=True)
class RowsLocation:
    """The place of a run's rows, as the caller of the function says."""

    url: str
    region: str
    table: str
    partition: str
    lent: LentCredentials


class TableRows:
    """Writes and reads the rows, from any thread. Connections are used again."""

    def __init__(self, place: RowsLocation) -> None:
        self._place = place
        self._lock = threading.Lock()
        self._idle: list[http.client.HTTPConnection] = []
        self._is_closed = False

    def put(self, sort: str, body: bytes) -> None:
        """Write one row, as an update: the credentials allow no put, which could take a row's expiry away."""
        key = {"pk": {"S": self._place.partition}, "sk": {"S": sort}}
        content = {":body": {"B": base64.b64encode(body).decode()}}
        update = "SET body = :body"
        self._ask("UpdateItem", {"Key": key, "UpdateExpression": update, "ExpressionAttributeValues": content})

    def starting(self, prefix: str, most: int) -> list[bytes]:
        """The bodies of the rows whose keys begin with `prefix`, in order. Past `most` bytes no more are read."""
        found: list[bytes] = []
        query: dict[str, object] = {
            "ConsistentRead": True,
            "KeyConditionExpression": "pk = :pk AND begins_with(sk, :prefix)",
            "ExpressionAttributeValues": {":pk": {"S": self._place.partition}, ":prefix": {"S": prefix}},
        }
        while True:
            answer = self._ask("Query", query)
            found += [base64.b64decode(item["body"]["B"]) for item in answer["Items"]]
            if "LastEvaluatedKey" not in answer or sum(map(len, found)) > most:
                return found
            query["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def close(self) -> None:
        """Close the connections: nothing more is asked."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for one in idle:
            one.close()

    def _ask(self, operation: str, asked: dict[str, object]) -> dict[str, Any]:
        body = json.dumps({"TableName": self._place.table, **asked}).encode()
        why = ""
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(PAUSE * 2**attempt)
            try:
                status, said = self._sent(operation, body)
            except (OSError, http.client.HTTPException) as error:
                why = f"{type(error).__name__}: {error}"
                continue
            if status == 200:
                return cast("dict[str, Any]", json.loads(said))
            why = said.decode("utf-8", "replace")[:300]
            if status < 500 and b"Throttl" not in said and b"ProvisionedThroughput" not in said:
                break
        raise RowsError(why)

    def _sent(self, operation: str, body: bytes) -> tuple[int, bytes]:
        address = urlsplit(self._place.url)
        headers = {
            "Host": address.netloc,
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": f"DynamoDB_20120810.{operation}",
        }
        signature = signed(self._place.lent, self._place.region, "dynamodb", headers, body, time.time())
        connection = self._taken(address)
        try:
            connection.request("POST", "/", body, signature)
            answer = connection.getresponse()
            said = answer.read(LARGEST_ANSWER)
        except BaseException:
            connection.close()
            raise
        self._put_back(connection)
        return answer.status, said

    def _taken(self, address: SplitResult) -> http.client.HTTPConnection:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
        return kind(address.netloc, timeout=SECONDS)

    def _put_back(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if not self._is_closed:
                self._idle.append(connection)
                return
        connection.close()


def signed(
    lent: LentCredentials, region: str, service: str, headers: Mapping[str, str], body: bytes, now: float
) -> dict[str, str]:
    """The headers of a POST to `/`, with its signature (Signature Version 4). `Host` is among the given headers.

    An SDK would take a second to load.
    """
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    sent = {**headers, "X-Amz-Date": moment, "X-Amz-Security-Token": lent.token}
    lines = sorted((name.lower(), value.strip()) for name, value in sent.items())
    names = ";".join(name for name, _ in lines)
    request = "\n".join(
        ["POST", "/", "", *(f"{name}:{value}" for name, value in lines), "", names, hashlib.sha256(body).hexdigest()]
    )
    scope = f"{moment[:8]}/{region}/{service}/aws4_request"
    text = "\n".join([ALGORITHM, moment, scope, hashlib.sha256(request.encode()).hexdigest()])
    key = f"AWS4{lent.secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    return {
        **sent,
        "Authorization": f"{ALGORITHM} Credential={lent.id}/{scope}, SignedHeaders={names}, Signature={signature}",
    }


class MessageRows(Protocol):
    """The rows of one run."""

    def put(self, sort: str, body: bytes) -> None:
        """Write one."""
        ...

    def starting(self, prefix: str, most: int) -> list[bytes]:
        """Read the rows whose keys begin with `prefix`, in order. Past `most` bytes no more are read."""
        ...

    def close(self) -> None:
        """Close the connections: nothing more is asked."""
        ...


class BadMessageError(ValueError):
    """The rows are no message, or one that is too long."""


def send(rows: MessageRows, kind: str, number: int, content: object) -> None:
    """Write the message. Its first part is written last: a reader who sees it has all parts."""
    compressed = zlib.compress(json.dumps(content).encode(), 1)
    parts = [compressed[at : at + PART] for at in range(0, len(compressed), PART)]
    for part in reversed(range(len(parts))):
        rows.put(f"{_prefix(kind, number)}{part:04}", parts[part])


def receive(rows: MessageRows, kind: str, number: int) -> Any:
    """The message of that number; None until it has come. Its writer may be hostile."""
    if not rows.starting(f"{_prefix(kind, number)}0000", 1):
        return None
    largest = LARGEST[kind]
    compressed = b"".join(rows.starting(_prefix(kind, number), largest))
    opened = zlib.decompressobj()
    try:
        if len(compressed) > largest:
            raise BadMessageError("it is too long")
        content = opened.decompress(compressed, largest)
        if opened.unconsumed_tail or not opened.eof:
            raise BadMessageError("it is too long")
        return parsed_json(content, MOST_PARTS[kind])
    except (zlib.error, ValueError) as error:
        raise BadMessageError(str(error)) from None


class QuestionLine:
    """Lets a run ask questions, from any thread. Once the run has ended nobody answers, and nobody waits."""

    def __init__(self, rows: MessageRows, until: float) -> None:
        self._rows = rows
        self._until = until
        self._numbers = itertools.count(1)
        self._closed = threading.Event()

    def ask(self, question: object) -> dict[str, Any] | None:
        """The answer; None if none comes before the run's end, or the table cannot be reached."""
        number, pause = next(self._numbers), SHORTEST_PAUSE
        try:
            send(self._rows, QUESTION, number, question)
            while time.monotonic() < self._until and not self._closed.wait(pause):
                pause = min(LONGEST_PAUSE, pause * 1.3)
                answer = receive(self._rows, ANSWER, number)
                if isinstance(answer, dict):
                    return answer  # pyright: ignore[reportUnknownVariableType]
        except (RowsError, BadMessageError):
            pass
        return None

    def close(self) -> None:
        """Stop waiting for answers."""
        self._closed.set()
        self._rows.close()


def open_line(where: Mapping[str, Any] | None, seconds: float) -> QuestionLine | None:
    """The line to the caller of the function, for `seconds`; None if the event names no rows for it."""
    if where is None:
        return None
    lent = LentCredentials(**where["lent"])
    place = RowsLocation(where["url"], where["region"], where["table"], where["partition"], lent)
    return QuestionLine(TableRows(place), time.monotonic() + seconds)


def _prefix(kind: str, number: int) -> str:
    return f"{kind}#{number:06}#"
