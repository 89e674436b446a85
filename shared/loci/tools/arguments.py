"""Checks the arguments of a call against the schema of its tool, before anything happens."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Protocol, cast

from loci.core.errors import Refused
from loci.core.json import JsonObject

MOST_FAULTS = 5
LONGEST = 300
NOT_OURS = ("pattern", "patternProperties", "propertyNames")
"""Somebody else's regular expressions may take for ever: the server must check these."""


class Fault(Protocol):
    """An error of jsonschema, which has no types."""

    message: str
    absolute_path: Iterable[str | int]


def check_arguments(tool: str, schema: JsonObject, arguments: JsonObject) -> None:
    """Raise `Refused`, with the path of each fault, if the arguments do not fit. A broken schema refuses nothing."""
    import jsonschema.validators as known  # takes 0.1 s; only calls of upstream tools need it
    from jsonschema import SchemaError
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    validators = cast("Any", known)
    of_schema = validators.validator_for(schema, validators.Draft202012Validator)
    kind = validators.extend(of_schema, dict.fromkeys(NOT_OURS, _passed))
    try:
        kind.check_schema(schema)
        # Without a registry of its own, it would fetch what `$ref` names from the network.
        faults: list[Fault] = [*kind(schema, registry=cast("Any", Registry)()).iter_errors(arguments)]
    except (SchemaError, Unresolvable, RecursionError, re.error):
        return  # the server judges then
    if faults:
        told = "; ".join(f"{_path(one)}: {_message(one)}" for one in faults[:MOST_FAULTS])
        needed = json.dumps(schema.get("required", []))
        raise Refused(
            f"The arguments do not fit {tool}: {told}",
            f"Correct them and call again; required are {needed}",
            code="INVALID_PARAMS",
        )


def _passed(*_: object) -> Iterator[Fault]:
    yield from ()


def _path(fault: Fault) -> str:
    parts = [f"[{one}]" if isinstance(one, int) else f".{one}" for one in fault.absolute_path]
    return "arguments" + "".join(parts)


def _message(fault: Fault) -> str:
    return fault.message if len(fault.message) <= LONGEST else fault.message[:LONGEST] + "…"
