"""The arguments of a call: read as they came, and refused with what was meant if they do not fit."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata
from pydantic import AliasChoices, ValidationError
from pydantic.fields import FieldInfo

from loci.core.errors import Refused
from loci.core.json_shape import shape_fault

INVALID_PARAMS = "INVALID_PARAMS"
TEXTS: tuple[object, ...] = (str, str | None)
OTHER_NAMES = (
    ("limit", ("top_k", "topk", "k", "n", "top_n", "count", "size", "max_results", "num_results", "page_size")),
    ("query", ("q", "question", "search", "text", "prompt", "keywords")),
    ("id", ("doc_id", "document_id", "node_id", "document", "doc", "path", "name")),
    ("path", ("file", "file_path", "filename", "name", "id", "document")),
    ("content", ("text", "body", "markdown")),
    ("prefix", ("folder", "directory", "path", "root")),
    ("date_range", ("range", "period", "since", "from", "dates")),
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
MOST_VALUES, DEEPEST = 10_000, 100
"""In an argument that is a text with JSON in it."""


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
            told = {name: field.description or "" for name, field in self.arg_model.model_fields.items()}
            raise unfit_arguments(error, told) from None

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
    if shape_fault(text.encode("utf-8", "replace"), MOST_VALUES, DEEPEST) is not None:
        raise Refused(
            f"{name} is a text with JSON of more than {MOST_VALUES:,} values, or of more than {DEEPEST} levels",
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
