"""One run's rows in the table, as who runs its code reaches them: with credentials for these rows, for that time."""

import base64
import http.client
import json
import threading
import time
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import SplitResult, urlsplit

from loci.sandbox.lambda_host.aws_signing import Lent, signed

SECONDS = 10.0
ATTEMPTS = 4
PAUSE = 0.1
LARGEST_ANSWER = 2 << 20


class RowsError(Exception):
    """The table cannot be reached, or refuses."""


@dataclass(frozen=True, slots=True)
class RowsLocation:
    """Where a run's rows lie, as who began it says."""

    url: str
    region: str
    table: str
    partition: str
    lent: Lent
    expires: int
    """When the rows may be removed, in seconds."""


class TableRows:
    """Puts rows into the partition and reads them. Any thread may; connections are used again."""

    def __init__(self, place: RowsLocation) -> None:
        self._place = place
        self._lock = threading.Lock()
        self._idle: list[http.client.HTTPConnection] = []
        self._is_closed = False

    def put(self, sort: str, body: bytes) -> None:
        """Write one row."""
        item = {
            "pk": {"S": self._place.partition},
            "sk": {"S": sort},
            "body": {"B": base64.b64encode(body).decode()},
            "expires": {"N": str(self._place.expires)},
        }
        self._ask("PutItem", {"Item": item})

    def starting(self, prefix: str) -> list[bytes]:
        """The bodies of the rows whose keys begin so, in order."""
        found: list[bytes] = []
        query: dict[str, object] = {
            "ConsistentRead": True,
            "KeyConditionExpression": "pk = :pk AND begins_with(sk, :prefix)",
            "ExpressionAttributeValues": {":pk": {"S": self._place.partition}, ":prefix": {"S": prefix}},
        }
        while True:
            answer = self._ask("Query", query)
            found += [base64.b64decode(item["body"]["B"]) for item in answer["Items"]]
            if "LastEvaluatedKey" not in answer:
                return found
            query["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def close(self) -> None:
        """Nothing is asked any more."""
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
