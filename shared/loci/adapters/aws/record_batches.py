"""Items of the DynamoDB table by their keys, many in one request."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from loci.core.errors import Unavailable

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient
    from types_boto3_dynamodb.type_defs import AttributeValueTypeDef as Attribute

MOST_TOGETHER = 100
"""Keys in one request. DynamoDB refuses more, and the same key twice."""
ATTEMPTS = 8
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0


def items_of(
    client: "DynamoDBClient",
    table: str,
    keys: "Sequence[dict[str, Attribute]]",
    pause: Callable[[float], None] = time.sleep,
) -> "Iterator[dict[str, Attribute]]":
    """The items with these keys as last written, in any order. At most `MOST_TOGETHER` different keys.

    DynamoDB leaves keys out that it has no room or no time for: an answer has at most 16 MB. They are asked for again.
    """
    asked = {table: {"Keys": [*keys], "ConsistentRead": True}}
    wait, failed = FIRST_PAUSE, 0
    while asked:
        answer = client.batch_get_item(RequestItems=asked)  # type: ignore[arg-type]
        found = answer["Responses"].get(table, [])
        yield from found
        asked = answer.get("UnprocessedKeys") or {}
        if found or not asked:
            wait, failed = FIRST_PAUSE, 0
            continue
        failed += 1
        if failed == ATTEMPTS:
            raise Unavailable("DynamoDB has no capacity for more reads just now", "Try again in a moment")
        pause(wait)
        wait = min(2 * wait, LONGEST_PAUSE)
