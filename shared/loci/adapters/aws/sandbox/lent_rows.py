"""One run's rows in the table, as whoever began the run reaches them; and the loan of them to its machine."""

import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from loci.adapters.aws.clients import Clients, explained
from loci.core.errors import Unavailable
from loci.core.ids import random_id
from loci.core.json import Json, JsonObject
from loci.core.settings import TABLE_EXPIRY, TABLE_KEYS
from loci.sandbox.lambda_host.run_rows import LentCredentials

if TYPE_CHECKING:
    from types_boto3_dynamodb.type_defs import QueryInputTypeDef as Query

PARTITION, SORT = TABLE_KEYS
SHORTEST_LOAN = 900
"""Seconds: STS lends for no shorter time. The loan's own policy ends it with the run."""
KEPT_SECONDS = 3600
"""Rows that were not removed expire so long after their run."""
RESOLUTIONS = {
    "ResourceNotFoundException": "Deploy the stack, or set LOCI_TABLE to the table it made",
    "AccessDeniedException": "Allow this role to use the table, and to assume the role of LOCI_RUN_ROLE",
    "AccessDenied": "Allow this role to use the table, and to assume the role of LOCI_RUN_ROLE",
}


class RunRows:
    """Rows below a partition that no record can have, since an owner's key is hexadecimal."""

    def __init__(self, table: str, clients: Clients, partition: str, expires: int) -> None:
        self._table = table
        self._clients = clients
        self._partition = partition
        self._expires = expires

    def put(self, sort: str, body: bytes) -> None:
        with self._explained():
            self._clients.dynamodb.put_item(
                TableName=self._table,
                Item={
                    PARTITION: {"S": self._partition},
                    SORT: {"S": sort},
                    "body": {"B": body},
                    TABLE_EXPIRY: {"N": str(self._expires)},
                },
            )

    def starting(self, prefix: str) -> list[bytes]:
        return [body for _, body in self._found(prefix)]

    def close(self) -> None:
        """Do nothing: boto3 keeps its connections."""

    def remove(self) -> None:
        """Remove the rows: the run is over. Rows that cannot be removed now expire: no failure here costs the run its
        answer."""
        with suppress(Unavailable):
            for sort, _ in self._found(""):
                with self._explained():
                    self._clients.dynamodb.delete_item(
                        TableName=self._table, Key={PARTITION: {"S": self._partition}, SORT: {"S": sort}}
                    )

    def _found(self, prefix: str) -> list[tuple[str, bytes]]:
        found: list[tuple[str, bytes]] = []
        query: Query = {
            "TableName": self._table,
            "ConsistentRead": True,
            "KeyConditionExpression": f"{PARTITION} = :pk",
            "ExpressionAttributeValues": {":pk": {"S": self._partition}},
        }
        if prefix:
            query["KeyConditionExpression"] = f"{PARTITION} = :pk AND begins_with({SORT}, :prefix)"
            query["ExpressionAttributeValues"] = {":pk": {"S": self._partition}, ":prefix": {"S": prefix}}
        while True:
            with self._explained():
                answer = self._clients.dynamodb.query(**query)
            for item in answer["Items"]:
                found.append((str(item[SORT].get("S")), bytes(item.get("body", {}).get("B", b""))))
            if "LastEvaluatedKey" not in answer:
                return found
            query["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def _explained(self) -> Any:
        return explained("DynamoDB", f"the table {self._table}", RESOLUTIONS)


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
        partition, until = f"run#{random_id(32)}", self.clock() + seconds
        with explained("STS", "credentials for a run", RESOLUTIONS):
            answer = self.clients.sts.assume_role(
                RoleArn=self.role,
                RoleSessionName=partition.replace("#", "-"),
                DurationSeconds=max(SHORTEST_LOAN, int(seconds) + 1),
                Policy=policy(partition, until),
            )
        given = answer["Credentials"]
        lent = LentCredentials(given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"])
        meta = self.clients.dynamodb.meta
        expires = int(until) + KEPT_SECONDS
        credentials: dict[str, Json] = asdict(lent)
        where: JsonObject = {
            "url": meta.endpoint_url,
            "region": meta.region_name,
            "table": self.table,
            "partition": partition,
            "lent": credentials,
            "expires": expires,
        }
        return Loan(RunRows(self.table, self.clients, partition, expires), where)


def policy(partition: str, until: float) -> str:
    """The part of its role's rights that the loan allows: these rows, until then."""
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(until))
    statement: dict[str, Json] = {
        "Effect": "Allow",
        "Action": ["dynamodb:PutItem", "dynamodb:Query"],
        "Resource": "*",  # the role names the table
        "Condition": {
            "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [partition]},
            "Null": {"dynamodb:LeadingKeys": "false"},  # ForAllValues also holds if there are no keys at all
            "DateLessThan": {"aws:CurrentTime": moment},
        },
    }
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})
