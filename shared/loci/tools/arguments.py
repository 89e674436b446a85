"""Checks the arguments of a call against the schema of its tool, before anything happens."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from functools import lru_cache
from itertools import islice
from typing import Any, Protocol, cast

from loci.core.errors import Refused
from loci.core.json import Json, JsonObject

MOST_FAULTS = 5
LONGEST = 300
NOT_OURS = ("pattern", "patternProperties", "propertyNames")
"""Somebody else's regular expressions may take for ever: the server must check these."""


REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
MOST_REFERENCES, MOST_SCHEMAS = 10_000, 256
_FOLLOWED: ContextVar[int] = ContextVar("followed", default=0)


IsOpen = Callable[[Json], bool]
BY_NAMES = frozenset(
    {"required", "additionalProperties", "unevaluatedProperties", "dependentRequired", "minProperties"}
)
"""The keywords that judge an object by the names of its fields, whatever their values are."""


class _EndlessError(Exception):
    """The schema asks for more steps than anybody waits for."""


class Fault(Protocol):
    """An error of jsonschema, which has no types."""

    message: str
    absolute_path: Iterable[str | int]
    instance: Json
    validator: str


def check_arguments(tool: str, schema: JsonObject, arguments: JsonObject, is_open: IsOpen | None = None) -> None:
    """Raise `Refused`, with the path of each fault, if the arguments do not fit. A broken schema refuses nothing.

    `is_open`: true for a value that stands for something that is known later. What depends on it is not judged.
    """
    from referencing.exceptions import Unresolvable

    validator = _validator(json.dumps(schema))
    if validator is None:
        return
    _FOLLOWED.set(0)
    try:
        found: Iterable[Fault] = validator.iter_errors(arguments)
        sure = found if is_open is None else (one for one in found if not _is_open(one, arguments, is_open))
        faults = [*islice(sure, MOST_FAULTS)]
    except (Unresolvable, RecursionError, re.error, _EndlessError):
        return  # the server judges then
    if faults:
        told = "; ".join(f"{_path(one)}: {_message(one)}" for one in faults)
        needed = json.dumps(schema.get("required", []))
        raise Refused(
            f"The arguments do not fit {tool}: {told}",
            f"Correct them and call again; required are {needed}",
            code="INVALID_PARAMS",
        )


@lru_cache(MOST_SCHEMAS)
def _validator(text: str) -> Any:
    """The validator for this schema; None if it is no schema."""
    import jsonschema.validators as known  # takes 0.1 s; only calls of upstream tools need it
    from jsonschema import SchemaError
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    schema, validators = json.loads(text), cast("Any", known)
    kind = _kind(validators.validator_for(schema, validators.Draft202012Validator))
    try:
        kind.check_schema(schema)
    except (SchemaError, Unresolvable, RecursionError, re.error):
        return None
    # Without a registry of its own, it would fetch what `$ref` names from the network.
    return kind(schema, registry=cast("Any", Registry)())


@lru_cache
def _kind(of_schema: Any) -> Any:
    """This draft of JSON Schema, without what may take for ever."""
    import jsonschema.validators as known

    references = {name: _counted(of_schema.VALIDATORS[name]) for name in REFERENCES & of_schema.VALIDATORS.keys()}
    return cast("Any", known).extend(of_schema, dict.fromkeys(NOT_OURS, _passed) | references)


def _counted(follow: Callable[..., Iterator[Fault]]) -> Callable[..., Iterator[Fault]]:
    """References may double at each level: forty lines of schema ask for a million million steps."""

    def counted(*given: Any) -> Iterator[Fault]:
        _FOLLOWED.set(_FOLLOWED.get() + 1)
        if _FOLLOWED.get() > MOST_REFERENCES:
            raise _EndlessError
        yield from follow(*given) or ()

    return counted


def _passed(*_: object) -> Iterator[Fault]:
    yield from ()


def _is_open(fault: Fault, arguments: Json, is_open: IsOpen) -> bool:
    """True if the fault may be none when all is known."""
    value = arguments
    for step in fault.absolute_path:
        value = value[step] if isinstance(value, dict | list) else None  # type: ignore[index]
        if isinstance(value, str) and is_open(value):
            return True
    return fault.validator not in BY_NAMES and is_open(fault.instance)


def _path(fault: Fault) -> str:
    parts = [f"[{one}]" if isinstance(one, int) else f".{one}" for one in fault.absolute_path]
    return "arguments" + "".join(parts)


def _message(fault: Fault) -> str:
    return fault.message if len(fault.message) <= LONGEST else fault.message[:LONGEST] + "…"
