"""A tool: the SDK's part of it, its arguments, its function, its names and schemas, and the size of its answers."""

import asyncio
import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, cast, get_args

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata
from mcp_types import Tool as ProtocolTool
from mcp_types import ToolAnnotations
from pydantic import AliasChoices, ValidationError
from pydantic.fields import FieldInfo

from loci.core.errors import Refused
from loci.core.identity import Caller
from loci.core.json import shape_fault
from loci.core.scopes import check_one_scope, check_scopes
from loci.mcp.approval import APPROVAL_NEEDED, Person, ask_person, was_approved
from loci.mcp.caller import ProgressReport, caller_of, report_to
from loci.mcp.head import BUDGET
from loci.mcp.threads import THREADS, WRITES, on_thread_of
from loci.mcp.views import View, named_view

INVALID_PARAMS = "INVALID_PARAMS"
TEXTS: tuple[object, ...] = (str, str | None)
OTHER_NAMES = (
    ("limit", ("top_k", "topk", "k", "n", "top_n", "count", "size", "max_results", "num_results", "page_size")),
    ("query", ("q", "question", "search", "text", "prompt", "keywords")),
    ("id", ("memory_id", "memory_ids", "doc_id", "document_id", "node_id", "document", "doc", "path", "name")),
    ("path", ("file", "file_path", "filename", "name", "id", "document")),
    ("content", ("text", "body", "markdown")),
    ("prefix", ("folder", "directory", "path", "root")),
    ("date_range", ("range", "period", "since", "from", "dates")),
    ("dates", ("date_range", "range", "period", "since", "from", "date")),
    ("context", ("query", "topic", "task", "q")),
    ("heading", ("section", "title")),
)
"""Names that other tools give to the same argument."""
MAY_BE_EMPTY = frozenset({"new"})
"""Optional arguments in which an empty text is a value. In the others it means that there is none: in OpenAI's strict
mode a model has to send all arguments, and mcp-use sends a null for each that the model left out."""
LONGEST_NAME = 80
MOST_NAMED = 5
MOST_FAULTS = 1000
"""Faults that pydantic tells one by one. That takes a second, in which the event loop waits."""
MOST_VALUES, DEEPEST_JSON = 10_000, 100
"""The most values and levels in an argument that is a text with JSON in it."""
Surface = Literal["all", "core", "documents", "files", "tools", "search"]
"""An endpoint: `/mcp` calls all tools, and so does `/mcp/core`, which lists few. The others have a part of them."""
SURFACES: tuple[Surface, ...] = get_args(Surface)
OWN_TOOLS: tuple[Surface, ...] = ("documents", "files", "tools")
"""The endpoints that list Loci's tools of a kind. `/mcp/search` has only the two that some clients ask for."""
WIRE = re.compile(r"[a-z][a-z0-9_]{0,47}")
SERVER = "loci"
"""Stands for the server in the full ids of tools whose own ids name none."""
CALL_TOOL = "pml:call_tool"
CALL_TOOL_NAME = "pml_call_tool"
"""The tool whose calls stand for calls of another: for clients that refuse names which were not listed."""
Schema = dict[str, Any]
NULL = {"type": "null"}
DEEPEST = 12
"""Levels of an input. Deeper ones accept anything here; the call itself is checked against all of them."""
OUTLINE = 2
"""Levels of an output that are told."""
CHECKED_ONLY = frozenset({"title", "maxLength", "minLength", "maxItems", "minItems", "maximum", "minimum", "pattern"})
"""A call that breaks these is told so: nobody has to know them before."""


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do without this argument: beside the type of one that is required."""

    text: str


class Arguments(FuncMetadata):
    """Reads arguments as the SDK does, but a text stays one: the SDK would take a text that is JSON for an object.

    An optional argument is left out if it is null, an empty text that `MAY_BE_EMPTY` does not name, or 0 where the
    default is null. An argument that the tool does not have is refused: the call would answer something else than was
    asked.
    """

    def pre_parse_json(self, data: dict[str, Any]) -> dict[str, Any]:
        given = {name: value for name, value in data.items() if not self._is_left_out(name, value)}
        for name, value in given.items():
            if isinstance(value, str) and not self._is_text(name):
                _check_size(name, value)
        return super().pre_parse_json(given) | {name: value for name, value in given.items() if self._is_text(name)}

    def validate_arguments(self, arguments_to_validate: dict[str, Any]) -> dict[str, Any]:
        self.check_names(arguments_to_validate)
        try:
            return super().validate_arguments(arguments_to_validate)
        except ValidationError as error:
            fields = self.arg_model.model_fields
            told = {name: field.description or "" for name, field in fields.items()}
            refused, unfit = unfit_arguments(error, told), {str(one["loc"][0]) for one in error.errors() if one["loc"]}
            advice = (
                one.text for name in unfit & fields.keys() for one in fields[name].metadata if isinstance(one, Advice)
            )
            refused.resolution = ". ".join([refused.resolution, *advice])
            raise refused from None

    def check_names(self, given: Iterable[str]) -> None:
        """Raise `Refused` if the tool has no argument of one of these names."""
        fields = self.arg_model.model_fields
        known = {name for field_name, field in fields.items() for name in _names(field_name, field)}
        unknown = [name for name in given if name not in known]
        if unknown:
            raise unknown_arguments(unknown, [*fields])

    def _is_left_out(self, name: str, value: object) -> bool:
        field = self.arg_model.model_fields.get(name)
        if field is None or field.is_required():
            return False
        stands_for_null = field.default is None and type(value) is int and value == 0
        return value is None or stands_for_null or (value == "" and name not in MAY_BE_EMPTY)

    def _is_text(self, name: str) -> bool:
        field = self.arg_model.model_fields.get(name)
        kind: object = field and field.annotation
        return kind in TEXTS


def _check_size(name: str, text: str) -> None:
    """Refuse JSON in a text if it would take long to parse. The limits of a request see only one value in it."""
    if shape_fault(text.encode("utf-8", "replace"), MOST_VALUES, DEEPEST_JSON) is not None:
        raise Refused(
            f"{name} is a text with JSON of more than {MOST_VALUES:,} values, or of more than {DEEPEST_JSON} levels",
            "Send less, and send it as JSON, not as a text",
            code=INVALID_PARAMS,
        )


def _names(name: str, field: FieldInfo) -> list[str]:
    """All names under which a call may give the argument."""
    match field.validation_alias:
        case AliasChoices(choices=choices):
            return [name, *(one for one in choices if isinstance(one, str))]
        case str(alias):
            return [name, alias]
        case _:
            return [name, field.alias or name]


def unknown_arguments(unknown: Sequence[str], known: Sequence[str]) -> Refused:
    """The failure of a call with arguments that the tool does not have."""
    named = ", ".join(repr(one[:LONGEST_NAME]) for one in unknown[:MOST_NAMED])
    what = f"There is no argument {named}"
    if not known:
        return Refused(what, "Leave it out: this tool takes no arguments", code=INVALID_PARAMS)
    meant = dict.fromkeys(near for one in unknown[:MOST_NAMED] if (near := _nearest(one, known)))
    asked = f"Did you mean {', '.join(meant)}? " if meant else ""
    return Refused(what, f"{asked}The arguments are {', '.join(known)}", code=INVALID_PARAMS)


def _nearest(name: str, known: Sequence[str]) -> str | None:
    from difflib import get_close_matches  # calls that fit do without

    plain = name[:LONGEST_NAME].strip().lower().replace("-", "_")
    by_look = get_close_matches(plain, known, n=1)
    by_use = [one for one, others in OTHER_NAMES if plain in others and one in known]
    return next(iter([*by_look, *by_use]), None)


def unfit_arguments(error: ValidationError, told: Mapping[str, str] | None = None) -> Refused:
    """The failure of a call whose arguments do not fit the tool; `told` says what an argument is."""
    if (count := error.error_count()) > MOST_FAULTS:
        return Refused(
            f"{count:,} values do not fit", "Look at the schema of the tool, then call again", code=INVALID_PARAMS
        )
    # The messages name the rule that was broken; the rejected values are the caller's data and stay out.
    complaints: dict[str, list[str]] = {}
    choices: dict[str, list[str]] = {}
    for fault in error.errors():
        path = [str(part)[:LONGEST_NAME] for part in fault["loc"]]
        if fault["type"] == "literal_error":
            # Of several literals each complains by itself.
            name = ".".join(part for part in path if not part.startswith("literal["))
            choices.setdefault(name, []).append(str(fault.get("ctx", {}).get("expected", "")))
        else:
            complaints.setdefault(".".join(path) or "arguments", []).append(fault["msg"])
    for name, expected in choices.items():
        about = f" ({told[name]})" if told and told.get(name) else ""
        complaints.setdefault(name, []).append(f"It is one of {_listed(expected)}{about}")
    told_all = [f"{name}: {message}" for name, messages in complaints.items() for message in messages]
    more = f"; and {len(told_all) - MOST_NAMED} more" if len(told_all) > MOST_NAMED else ""
    said = "; ".join(told_all[:MOST_NAMED]) + more
    return Refused(said, "Correct the arguments and call again", code=INVALID_PARAMS)


def _listed(expected: Sequence[str]) -> str:
    return ", ".join(expected).replace(" or ", ", ").replace("'", "")


class ToolFunction:
    """Gets its arguments, and the `Caller`, the `ProgressReport` and the `Person` if it has such parameters."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self._fn = fn
        self._signature = inspect.signature(fn, eval_str=True)
        kinds = {name: one.annotation for name, one in self._signature.parameters.items()}
        self._callers = [name for name, kind in kinds.items() if kind is Caller]
        self._reports = [name for name, kind in kinds.items() if kind is ProgressReport]
        self._persons = [name for name, kind in kinds.items() if kind is Person]

    def here(self, arguments: Mapping[str, Any], caller: Caller, report: ProgressReport) -> Any:
        """Call it without a request, on this thread. No event loop may run in it."""
        value = self._fn(**self._filled(arguments, caller, report, Person()))
        return asyncio.run(value) if inspect.iscoroutine(value) else value

    def for_the_sdk(self, threads: ThreadPoolExecutor) -> Callable[..., Awaitable[Any]]:
        """The function as the SDK calls it: with the context of a request. It runs on a thread if it is not async."""
        fn = self._fn

        async def call(mcp_context: Context[Any, Any], **arguments: Any) -> Any:
            report = report_to(mcp_context, asyncio.get_running_loop()) if self._reports else None
            caller = caller_of(mcp_context.request_context)

            async def called(person: Person) -> Any:
                filled = self._filled(arguments, caller, report, person)
                if inspect.iscoroutinefunction(fn):
                    return await fn(**filled)
                return await on_thread_of(threads, fn, **filled)

            if not self._persons:
                return await called(Person())
            try:
                return await called(Person(was_approved(mcp_context)))
            except Refused as refusal:
                if refusal.code != APPROVAL_NEEDED:
                    raise
                question = await ask_person(mcp_context, refusal)
            return question or await called(Person(has_approved=True))

        shown = [
            one
            for name, one in self._signature.parameters.items()
            if name not in (*self._callers, *self._reports, *self._persons)
        ]
        context = inspect.Parameter("mcp_context", inspect.Parameter.KEYWORD_ONLY, annotation=Context[Any, Any])
        call.__name__, call.__doc__ = fn.__name__, fn.__doc__
        call.__annotations__ = {one.name: one.annotation for one in (*shown, context)}
        call.__annotations__["return"] = self._signature.return_annotation
        setattr(call, "__signature__", self._signature.replace(parameters=[*shown, context]))  # noqa: B010
        return call

    def _filled(
        self, arguments: Mapping[str, Any], caller: Caller, report: ProgressReport | None, person: Person
    ) -> dict[str, Any]:
        ours = ((self._callers, caller), (self._reports, report), (self._persons, person))
        return {**arguments, **{name: value for names, value in ours for name in names}}


@dataclass(frozen=True)
class LociTool:
    """A tool, with its limits and its scopes."""

    id: str
    sdk_tool: Tool
    function: ToolFunction
    budget: int | None
    """Bytes of an answer. None: answers are never shortened."""
    quick: bool
    """True: it answers soon and reports nothing before, so its answer needs no open stream."""
    only_for_clients: bool
    """True: code and workflows may not call it, because it runs code or calls tools itself."""
    reads: bool = False
    """True: it says that it changes nothing."""
    step: str | None = None
    """The full id under which its use is counted: which tools follow it, which it follows. None: it is not counted.

    Agents look around before everything, so tools that only read would be related to all others. What code calls is
    counted itself.
    """
    scopes: frozenset[str] = frozenset()
    """A client that a person allowed needs all of these for it."""
    keeps: bool = False
    """True: it writes what searches find later. If the session has read texts of others, a person may be asked."""
    one_of: frozenset[str] = frozenset()
    """A client also needs at least one of these, if there are any. The tool then does only what its scopes allow."""

    def check(self, caller: Caller, name: str) -> None:
        """Raise `Refused` if the caller may not call it. `name` is how the refusal calls it."""
        check_scopes(caller, self.scopes, name)
        if self.one_of:
            check_one_scope(caller, self.one_of, name)

    @cached_property
    def listed(self) -> "ListedTool":
        """The tool as it is listed."""
        made, schema = self.sdk_tool, self.sdk_tool.output_schema
        listed = ProtocolTool(
            name=made.name,
            title=made.title,
            description=made.description,
            input_schema=made.parameters,
            output_schema=schema and listed_output(schema),
            annotations=made.annotations,
            _meta=made.meta,
        )
        return ListedTool(self.id, listed, self.scopes, self.one_of)


@dataclass(frozen=True, slots=True)
class ListedTool:
    """What is known of a tool without loading it."""

    id: str
    tool: ProtocolTool
    scopes: frozenset[str]
    one_of: frozenset[str]

    def may_be_called_by(self, caller: Caller) -> bool:
        """True if it would not refuse the caller."""
        return all(map(caller.may, self.scopes)) and (not self.one_of or any(map(caller.may, self.one_of)))

    def as_json(self) -> Schema:
        """The tool in a file."""
        tool = self.tool.model_dump(mode="json", by_alias=True, exclude_none=True)
        return {"id": self.id, "tool": tool, "scopes": sorted(self.scopes), "one_of": sorted(self.one_of)}

    @classmethod
    def from_json(cls, kept: Schema) -> "ListedTool":
        """The tool that `as_json` wrote."""
        tool = ProtocolTool.model_validate(kept["tool"])
        return cls(kept["id"], tool, frozenset(kept["scopes"]), frozenset(kept["one_of"]))


def loci_tool(
    fn: Callable[..., Any],
    *,
    title: str,
    id: str | None = None,
    writes: bool = False,
    destructive: bool = False,
    idempotent: bool = True,
    open_world: bool = False,
    budget: int | None = BUDGET,
    quick: bool = False,
    only_for_clients: bool = False,
    keeps: bool = False,
    threads: ThreadPoolExecutor | None = None,
    view: View | None = None,
) -> LociTool:
    """Make a tool of a function, whose docstring is for the model. Loci fills in a `Caller` and a `ProgressReport`.

    A function that is not async runs on one of the threads. By default they are those for calls that write, or those
    for calls that answer soon.
    """
    id = id or fn.__name__
    function = ToolFunction(fn)
    sdk_tool = Tool.from_function(
        function.for_the_sdk(threads or (WRITES if writes else THREADS)),
        name=wire_name(id),
        title=title,
        description=inspect.getdoc(fn),  # without the indentation, which Python before 3.13 keeps
        annotations=ToolAnnotations(
            read_only_hint=not writes,
            destructive_hint=destructive,
            idempotent_hint=idempotent,
            open_world_hint=open_world,
        ),
        meta=named_view(view),
    )
    sdk_tool.fn_metadata = Arguments.model_construct(**dict(sdk_tool.fn_metadata))
    sdk_tool.parameters = listed_input(sdk_tool.parameters)
    step = full_id(id) if writes and not only_for_clients else None
    return LociTool(id, sdk_tool, function, budget, quick, only_for_clients, not writes, step, keeps=keeps)


def wire_name(id: str) -> str:
    """Turn an id into a name that every client accepts: no colon, hyphen or dot, and at most 48 characters."""
    name = re.sub(r"[^a-z0-9_]+", "_", id.lower())
    if not WIRE.fullmatch(name):
        raise ValueError(f"tool id {id!r} gives no valid wire name ({name!r})")
    return name


def full_id(id: str) -> str:
    """The id with the name of a server, as tools of other servers have it: `loci:search_documents`."""
    return id if ":" in id else f"{SERVER}:{id}"


def listed_input(schema: Schema) -> Schema:
    """The schema without what only pydantic needs: no titles, no references, no alternative null."""
    return _input(schema, schema.get("$defs", {}), DEEPEST)


def listed_output(schema: Schema) -> Schema:
    """The outline of the schema: the names and types of the fields, and the fields in them."""
    definitions = schema.get("$defs", {})
    plain = _plain(schema, definitions)
    levels = OUTLINE + (plain.get("properties", {}).keys() == {"result"})  # the wrapper around a value is no level
    needed = {"required": plain["required"]} if plain.get("required") else {}
    return _output(plain, definitions, levels) | needed


def _input(schema: Schema, definitions: Mapping[str, Schema], levels: int) -> Schema:
    if levels == 0:
        return {}
    kept = Schema()
    for name, value in _plain(schema, definitions).items():
        if name == "properties":
            kept[name] = {one: _input(part, definitions, levels - 1) for one, part in value.items()}
        elif name in ("items", "additionalProperties") and isinstance(value, dict):
            kept[name] = _input(cast("Schema", value), definitions, levels - 1)
        elif name in ("anyOf", "oneOf", "allOf", "prefixItems"):
            kept[name] = [_input(part, definitions, levels - 1) for part in value if part != NULL]
        elif not (name in CHECKED_ONLY or (name == "default" and not value)):
            kept[name] = value
    if kept.get("additionalProperties") in (True, False, {}):
        del kept["additionalProperties"]
    if kept.get("properties") == {}:  # clients close the others themselves, where they convert them to strict mode
        kept["additionalProperties"] = False
    return kept


def _output(schema: Schema, definitions: Mapping[str, Schema], levels: int) -> Schema:
    plain = _plain(schema, definitions)
    kept = {name: plain[name] for name in ("type", "enum") if name in plain}
    if "items" in plain and (items := _output(plain["items"], definitions, levels)) not in ({}, {"type": "object"}):
        kept["items"] = items
    if "properties" in plain and levels:
        needed = plain.get("required", ())
        kept["properties"] = {
            # A field that may be missing is only named.
            name: {} if NULL in part.get("anyOf", ()) and name not in needed else _output(part, definitions, levels - 1)
            for name, part in plain["properties"].items()
        }
    if NULL in schema.get("anyOf", ()):  # no type: that it may be null takes more words than it is worth
        return {name: kept[name] for name in ("items", "properties") if name in kept}
    return kept


def _plain(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """The schema with its reference and its only alternative to null filled in."""
    if "$ref" in schema:
        named = {**definitions.get(str(schema["$ref"]).rpartition("/")[2], {})}
        named.pop("description", None)  # the docstring of the class, which is for those who read the code
        return _plain({**named, **{name: value for name, value in schema.items() if name != "$ref"}}, definitions)
    others = [one for one in schema.get("anyOf", ()) if one != NULL]
    if len(others) == 1:
        rest = {name: value for name, value in schema.items() if name not in ("anyOf", "$defs")}
        return {**_plain(others[0], definitions), **rest}
    return {name: value for name, value in schema.items() if name != "$defs"}
