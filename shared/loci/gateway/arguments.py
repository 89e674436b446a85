"""Checks the arguments of a call against the schema of its tool, before anything happens."""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Protocol, cast

from loci.core.errors import Refused
from loci.core.json import Json, JsonObject

MOST_FAULTS = 5
LONGEST = 300
MOST_NAMED, LONGEST_NAME = 20, 80
NOT_OURS = (
    *("pattern", "patternProperties", "propertyNames"),
    *("not", "if", "contains", "disallow", "unevaluatedItems", "unevaluatedProperties"),
)
"""Keywords that only the server checks: foreign regular expressions may take forever, and the other keywords negate
schemas, which are incomplete without the patterns."""
MOST_SCHEMAS = 256
SECONDS, SCHEMA_SECONDS = 0.02, 0.5
"""Processor time for the arguments of a call, and once for a schema: all calls share the interpreter."""
FREE_STEPS = 100
"""Steps before the time counts: a pause of the garbage collector ends no small check."""
MOST_LEVELS = 100
"""The most levels of a schema and its references. Deeper, `rpds` may panic, which is no `Exception`."""


IsOpen = Callable[[Json], bool]
BY_NAMES = frozenset(
    {"required", "additionalProperties", "unevaluatedProperties", "dependentRequired", "minProperties"}
)
"""The keywords that judge an object by the names of its fields, whatever their values are."""


class _UnjudgedError(Exception):
    """The schema takes too long, goes too deep, or means what Loci does not know."""


@dataclass(slots=True)
class _Budget:
    """The limits of one check: its time and its levels."""

    until: float
    levels: int = MOST_LEVELS
    steps: int = 0

    @staticmethod
    def begin(seconds: float) -> None:
        _BUDGET.set(_Budget(time.thread_time() + seconds))

    def check(self) -> None:
        self.steps += 1
        if self.levels < 0 or (self.steps > FREE_STEPS and time.thread_time() > self.until):
            raise _UnjudgedError


_BUDGET: ContextVar[_Budget] = ContextVar("budget")


class SchemaFault(Protocol):
    """An error of jsonschema, which has no types."""

    message: str
    absolute_path: Iterable[str | int]
    instance: Json
    validator: str


def check_arguments(tool: str, schema: JsonObject, arguments: JsonObject, is_open: IsOpen | None = None) -> None:
    """Raise `Refused`, with the path of each fault, if the arguments do not fit. A broken schema refuses nothing.

    Nor does a check that takes too long: the tool checks its arguments itself, and may well take these.

    `is_open`: true for a value that stands for something that is known later. What depends on it is not judged.
    """
    from referencing.exceptions import Unresolvable

    validator = _validator(json.dumps(schema))
    if validator is None:
        return
    faults: list[SchemaFault] = []
    with suppress(Unresolvable, RecursionError, ArithmeticError, ValueError, _UnjudgedError):
        _Budget.begin(SECONDS)
        found: Iterable[SchemaFault] = validator.iter_errors(arguments)
        sure = found if is_open is None else (one for one in found if not _is_open(one, arguments, is_open))
        faults.extend(islice(sure, MOST_FAULTS))
    if faults:
        told = "; ".join(f"{_short(_path(one))}: {_short(one.message)}" for one in faults)
        needed = _required_names(schema.get("required"))
        raise Refused(
            f"The arguments do not fit {tool}: {told}",
            f"Correct them and call again; required are {needed}",
            code="INVALID_PARAMS",
        )


@lru_cache(MOST_SCHEMAS)
def _validator(text: str) -> Any:
    """The validator for this schema; None if the schema is invalid."""
    import jsonschema.validators as known  # takes 0.1 s; only calls of upstream tools need it
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    schema = json.loads(text)
    # Without a registry of its own, it would fetch what `$ref` names from the network.
    registry = cast("Any", Registry)()
    try:
        _Budget.begin(SCHEMA_SECONDS)
        kind = _kind(_draft(schema, cast("Any", known).Draft202012Validator))
        is_one = kind(kind.META_SCHEMA, registry=registry).is_valid(schema)
        return kind(schema, registry=registry) if is_one else None
    except (Unresolvable, RecursionError, ValueError, _UnjudgedError):
        return None


def _draft(schema: Any, otherwise: Any) -> Any:
    """The validator of the draft that the schema names."""
    import jsonschema.validators as known

    if isinstance(schema, dict) and not isinstance(cast("JsonObject", schema).get("$schema", ""), str):
        raise _UnjudgedError
    return cast("Any", known).validator_for(schema, otherwise)


@lru_cache
def _kind(of_schema: Any) -> Any:
    """A validator of this draft of JSON Schema, without keywords that may take forever. Each step checks the time."""
    import attrs
    import jsonschema.validators as known
    from jsonschema import ValidationError

    validators, checks = cast("Any", known), of_schema.VALIDATORS

    def unique(_: Any, wanted: Json, instance: Json, __: Json) -> Iterator[Any]:
        """Check `uniqueItems` in linear time; jsonschema compares each object with all others."""
        seen = set[str]()
        for one in instance if wanted is True and isinstance(instance, list) else ():
            _BUDGET.get().check()
            if (text := json.dumps(one, sort_keys=True)) in seen:
                yield ValidationError(f"{_short(text)} is in it twice")
                return
            seen.add(text)

    def additional(validator: Any, wanted: Json, instance: Json, schema: JsonObject) -> Iterator[Any]:
        if "patternProperties" not in schema:
            yield from checks["additionalProperties"](validator, wanted, instance, schema) or ()

    def few(keyword: str) -> Callable[..., Iterator[Any]]:
        return lambda *given: islice(checks[keyword](*given) or (), MOST_FAULTS)

    def evolved(self: Any, **changes: Any) -> Any:
        """Like jsonschema's, which takes the unchanged validator for a part that has a `$schema`."""
        _BUDGET.get().check()
        if _draft(changes.get("schema"), of_schema) is not of_schema:
            raise _UnjudgedError
        return attrs.evolve(self, **changes)

    def descend(*given: Any, **named: Any) -> Iterator[Any]:
        budget = _BUDGET.get()
        budget.levels -= 1
        try:
            budget.check()
            yield from of_schema.descend(*given, **named)
        finally:
            budget.levels += 1

    ours = dict.fromkeys(NOT_OURS, _passed) | {"uniqueItems": unique, "additionalProperties": additional}
    ours |= {name: few(name) for name in ("required", "dependentRequired") if name in checks}
    ours |= {"oneOf": checks["anyOf"]} if "anyOf" in checks else {}
    kind = validators.extend(of_schema, {name: one for name, one in ours.items() if name in checks})
    kind.evolve, kind.descend = evolved, descend
    return kind


def _passed(*_: object) -> Iterator[SchemaFault]:
    yield from ()


def _is_open(fault: SchemaFault, arguments: Json, is_open: IsOpen) -> bool:
    """True if the fault may disappear once all values are known."""
    value = arguments
    for step in fault.absolute_path:
        value = value[step] if isinstance(value, dict | list) else None  # type: ignore[index]
        if isinstance(value, str) and is_open(value):
            return True
    return fault.validator not in BY_NAMES and is_open(fault.instance)


def _path(fault: SchemaFault) -> str:
    parts = [f"[{one}]" if isinstance(one, int) else f".{one}" for one in fault.absolute_path]
    return "arguments" + "".join(parts)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def _required_names(needed: Json) -> str:
    names = needed if isinstance(needed, list) else []
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return json.dumps([str(one)[:LONGEST_NAME] for one in names[:MOST_NAMED]]) + more
