"""The fit of a value that an intent names to a parameter."""

from typing import Final

from loci.core.json import Json, JsonObject
from loci.search.words import index_words
from loci.workflows.entities import Given, Kind
from loci.workflows.parameters import Parameter, types_of
from loci.workflows.prior_steps import Step, plain
from loci.workflows.references import literal

LEAST: Final = 4.0
"""A value that fits less is not bound."""


def _words(text: str) -> frozenset[str]:
    return frozenset(index_words(text))


HOMES: Final[dict[Kind, frozenset[str]]] = {
    "url": _words("url urls uri link href website page address endpoint"),
    "email": _words("email emails mail to cc bcc recipient recipients assignee user attendee attendees account"),
    "date": _words("date day since until after before start end due from to timestamp min max"),
    "time": _words("time"),
    "glob": _words("pattern glob patterns include"),
    "path": _words(
        "path paths file files filename filepath directory folder dir source destination src dest target csv image"
    ),
    "slug": _words("repository slug timezone zone project"),
    "key": _words("id ids key keys issue ticket channel sha revision commit card"),
}
"""Words in the names of the parameters that take such values."""
SAYS: Final[dict[str, frozenset[str]]] = {
    "to": _words("to destination target dest new recipient assignee end output"),
    "from": _words("from source origin start base src"),
    "as": _words("name new title as destination assignee"),
    "in": _words("path directory folder location repo dir zone timezone"),
    "into": _words("path destination sheet table target"),
    "at": _words("path location"),
    "of": _words("path file workbook repo"),
    "for": _words("query search q term keyword text pattern"),
    "about": _words("query search q term topic"),
    "titl": _words("title summary name subject"),
    "name": _words("name names title"),
    "call": _words("name names title branch"),
    "match": _words("pattern query glob"),
    "messag": _words("message text body"),
    "text": _words("text body content message"),
    "comment": _words("body comment text"),
    "say": _words("text body message content"),
    "directori": _words("path directory folder"),
    "folder": _words("path directory folder"),
    "file": _words("path file"),
}
"""Words before a value, and the parameters that they speak of."""
ID_WORDS: Final = _words("id ids uuid identifier")
ARTICLES: Final = frozenset({"the", "a", "an", "and", "with", "by", "is", "of", "it", "its", "this", "that"})


def fit(given: Given, one: Parameter, step: Step) -> float:
    """The score of the fit, from 0 (not at all) to about 12."""
    if not _has_type(given, one) or (one.choices and given.value not in one.choices):
        return 0.0
    if given.kind == "quoted" and one.words & ID_WORDS and not any(letter.isdigit() for letter in str(given.value)):
        return 0.0  # a name is no id
    if given.name and given.kind == "named":
        return 12.0 if plain(given.name) == plain(one.name) else 0.0
    score = _kind(given, one) + _said(given, one, step)
    if given.name:  # of the context
        score += 6.0 if plain(given.name) == plain(one.name) else 1.0 if score >= 3 else 0.0
    if not one.required and score < 6:
        return 0.0
    return score + 1.0 if score and one.required else score


def shaped(given: Given, schema: JsonObject) -> Json:
    """The value as the parameter takes it."""
    types = types_of(schema)
    if (
        isinstance(given.value, int | float)
        and "string" in types
        and len(types) == 1
        and not isinstance(given.value, bool)
    ):
        return str(given.value)
    if isinstance(given.value, float) and given.value.is_integer() and "number" not in types and "integer" in types:
        return int(given.value)
    return literal(given.value) if isinstance(given.value, str) else given.value


def _has_type(given: Given, one: Parameter) -> bool:
    types = types_of(one.items) if one.is_list else one.types
    if not types:
        return not one.items.get("properties")
    match given.value:
        case bool():
            return "boolean" in types
        case int() | float():
            return bool(types & {"number", "integer"}) or ("string" in types and (one.is_id or given.kind == "named"))
        case str():
            return "string" in types
        case _:
            return False


def _kind(given: Given, one: Parameter) -> float:
    """The score by the form of the value."""
    home = HOMES.get(given.kind, frozenset[str]())
    if given.kind == "number":
        return 3.0 if one.required and one.types & {"number", "integer"} else 0.0
    if given.kind == "quoted":
        return 0.0 if one.is_id else 2.0
    if given.kind == "slug" and one.words & _words("path paths file") and given.cues[:1] != ():
        return 2.0
    if given.kind == "time" and one.words & _words("zone timezone"):
        return 0.0
    wanted = one.schema.get("format")
    if (given.kind, wanted) in (("url", "uri"), ("email", "email"), ("date", "date"), ("date", "date-time")):
        return 4.0
    if home & one.words:
        return 4.0
    if given.kind in ("path", "glob", "url", "email", "slug", "key", "date", "time") and one.is_free:
        return 1.0
    return 2.5 if home & one.about and not one.is_id else 0.0


def _said(given: Given, one: Parameter, step: Step) -> float:
    """The score by the words beside the value."""
    score, weight = 0.0, 3.0
    for cue in given.cues:
        if cue in one.words:
            score += weight
            break
        if SAYS.get(cue, frozenset()) & one.words:
            score += weight - 0.5
            break
        if cue not in ARTICLES:
            weight -= 1.0
        if weight <= 0:
            break
    if given.after and given.after in one.words:
        score += 2.0
    if not given.cues and one.required and step.verb in one.words:
        score += 2.0
    return score
