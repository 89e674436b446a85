"""The connecting function: the only one that reaches other people's servers, for the tool calls of all others."""

from typing import Any

from loci.runtimes.aws import build_answering

answering = build_answering()


def lambda_handler(event: dict[str, Any], context: Any) -> dict[str, str]:
    return answering.answer(event, context.get_remaining_time_in_millis() / 1000 if context else None)
