"""Questions that a tool server asks a person in the middle of a call, and their answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from loci.core.errors import Refused, Unavailable
from loci.core.json import Json, JsonObject
from loci.core.seen import visible

Action = Literal["accept", "decline", "cancel"]
ASKS: Final = "elicitation/create"
MOST_FIELDS: Final = 20
MOST_CHOICES: Final = 100
LONGEST_MESSAGE: Final = 2000
LONGEST_WORDS: Final = 300
LONGEST_ANSWER: Final = 4000
TYPES: Final = ("string", "number", "integer", "boolean", "array")
KEPT: Final = ("minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "format", "default")
"""The keywords of a field that are passed on beside its type, its words and its choices."""


@dataclass(frozen=True, slots=True)
class ServerQuestion:
    """A question, with a form for the answer."""

    key: str
    """Its name among the questions of one result."""
    message: str
    form: JsonObject
    """The schema of the answer: an object whose fields are texts, numbers, yes or no, or choices."""


@dataclass(frozen=True, slots=True)
class ServerAnswers:
    """The answers to all questions of one result, and what the server wants to have back with them."""

    answers: Mapping[str, JsonObject]
    """By the keys of the questions: `action`, and `content` if a person has accepted."""
    state: str | None = None
    waiting: str | None = None
    """The call that waits for the answer, at a server that asks in the middle of it."""


class ServerAsks(Unavailable):
    """A server wants to know something before it answers. Where nobody can be asked, it is the failure of the call."""

    default_code = "MCP_SERVER_ERROR"

    def __init__(
        self,
        server: str,
        questions: Sequence[ServerQuestion],
        *,
        state: str | None = None,
        waiting: str | None = None,
    ) -> None:
        said = "; ".join(f"“{one.message[:LONGEST_WORDS]}”" for one in questions)
        super().__init__(
            f"The tool server {server} failed: it asks what nobody can answer here: {ASKS} {said}",
            "Call it again with all that it needs in the arguments, or use another tool",
        )
        self.server = server
        self.questions = tuple(questions)
        self.state = state
        self.waiting = waiting

    def answered(self, answers: Mapping[str, JsonObject]) -> ServerAnswers:
        """The answers, with what the server wants to have back."""
        return ServerAnswers(answers, self.state, self.waiting)

    def as_json(self) -> JsonObject:
        asked: list[Json] = [{"key": one.key, "message": one.message, "form": one.form} for one in self.questions]
        return {"server": self.server, "questions": asked, "state": self.state}


def asks_from_json(value: Mapping[str, Any]) -> ServerAsks:
    """The questions that came from another process."""
    return ServerAsks(value["server"], [ServerQuestion(**one) for one in value["questions"]], state=value["state"])


def question_of(key: str, params: object) -> ServerQuestion | None:
    """The question in the parameters of a server's request; None if no form can ask it."""
    fields = cast("dict[str, Any]", params) if isinstance(params, dict) else {}
    schema = fields.get("requestedSchema")
    if fields.get("mode", "form") != "form" or not isinstance(schema, dict):
        return None
    asked = cast("dict[str, Any]", schema)
    properties = cast("dict[str, Any]", one) if isinstance(one := asked.get("properties"), dict) else {}
    plain = {visible(name)[:LONGEST_WORDS]: _plain_field(one) for name, one in properties.items()}
    if len(plain) > MOST_FIELDS or any(one is None for one in plain.values()) or plain.keys() != properties.keys():
        return None
    wanted = cast("list[object]", one) if isinstance(one := asked.get("required"), list) else []
    form: JsonObject = {
        "type": "object",
        "properties": cast("JsonObject", plain),
        "required": [name for name in plain if name in wanted],
    }
    return ServerQuestion(key, visible(str(fields.get("message") or ""))[:LONGEST_MESSAGE], form)


def _plain_field(value: object) -> JsonObject | None:
    """The schema of a field with what a form needs, its words bounded; None if no form can have such a field."""
    schema = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    kind = schema.get("type")
    if kind not in TYPES:
        return None
    plain: JsonObject = {"type": kind}
    for name in ("title", "description"):
        if isinstance(said := schema.get(name), str):
            plain[name] = visible(said)[:LONGEST_WORDS]
    plain |= {name: one for name in KEPT if isinstance(one := schema.get(name), str | int | float | bool)}
    where = cast("dict[str, Any]", schema.get("items") or {}) if kind == "array" else schema
    choices = _choices(where)
    if len(choices) > MOST_CHOICES or (kind == "array" and not choices):
        return None
    if choices:
        titled: list[Json] = [{"const": one, "title": title} for one, title in choices]
        if kind == "array":
            plain["items"] = {"anyOf": titled}
        elif all(one == title for one, title in choices):
            plain["enum"] = [one for one, _ in choices]
        else:
            plain["oneOf"] = titled
    return plain


def _choices(schema: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The values that a field may have, each with its title."""
    titled = schema.get("oneOf") or schema.get("anyOf")
    if isinstance(titled, list):
        some = [cast("dict[str, Any]", one) for one in cast("list[object]", titled) if isinstance(one, dict)]
        return [(str(one.get("const")), visible(str(one.get("title") or one.get("const")))) for one in some]
    values = schema.get("enum")
    if not isinstance(values, list):
        return []
    texts = [str(one) for one in cast("list[object]", values)]
    names = schema.get("enumNames")
    shown = [str(one) for one in cast("list[object]", names)] if isinstance(names, list) else texts
    return [(one, visible(name)) for one, name in zip(texts, shown if len(shown) == len(texts) else texts, strict=True)]


def choices_of(schema: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The choices of a field of a form, each with its title."""
    return _choices(cast("dict[str, Any]", schema["items"]) if schema.get("type") == "array" else schema)


def fit_answer(form: Mapping[str, Any], given: Mapping[str, Sequence[str]]) -> JsonObject:
    """The content of an answer from the texts that a person typed. Raises `Refused` if a field does not fit."""
    content: JsonObject = {}
    for name, schema in cast("dict[str, dict[str, Any]]", form["properties"]).items():
        texts = [one[:LONGEST_ANSWER] for one in given.get(name, ()) if one]
        if schema["type"] == "boolean":
            content[name] = bool(texts) and texts[0].lower() not in ("false", "no", "n", "0")
        elif texts:
            content[name] = _fit(name, schema, texts)
        elif name in form["required"]:
            raise _unfit(name, "it is needed")
    return content


def _fit(name: str, schema: Mapping[str, Any], texts: Sequence[str]) -> Json:
    allowed = [one for one, _ in choices_of(schema)]
    if allowed and not set(texts) <= set(allowed):
        raise _unfit(name, f"choose one of {', '.join(allowed)}")
    if schema["type"] == "array":
        return [*texts]
    if schema["type"] == "string":
        if not schema.get("minLength", 0) <= len(texts[0]) <= schema.get("maxLength", LONGEST_ANSWER):
            raise _unfit(name, "it is too short or too long")
        return texts[0]
    try:
        number: float = int(texts[0]) if schema["type"] == "integer" else float(texts[0])
    except ValueError:
        raise _unfit(name, "it is no number" if schema["type"] == "number" else "it is no whole number") from None
    if not schema.get("minimum", number) <= number <= schema.get("maximum", number):
        raise _unfit(name, f"it must be from {schema.get('minimum', '…')} to {schema.get('maximum', '…')}")
    return number


def _unfit(name: str, why: str) -> Refused:
    return Refused(f"The answer {name!r} does not fit: {why}", "Correct it and answer again", code="BAD_ANSWER")
