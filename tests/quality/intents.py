"""How well intents become plans: `python -m tests.quality.intents [--models DIR] [--show]`.

The tools are those that public servers listed, and Loci's own. Intents and their plans were labelled before anybody
saw what Loci makes of them. It fails if a plan starts that is not the labelled one.
"""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from loci.core.json import Json
from loci.gateway.tool_embeddings import cosines
from loci.gateway.tool_search import FoundTool, KnownTool, ToolIndex
from loci.search.inference import Embedder
from loci.workflows.planner import Draft, Planner
from loci.workflows.references import references
from loci.workflows.toolbox import Toolbox, ToolFacts
from tests.quality.tool_requests import FOLDER, all_tools
from tests.quality.tools import embedder, vectors_of

FILES = {
    "first": "intents.json",
    "second": "held_out_intents.json",
    "third": "last_intents.json",
    "forty": "forty_intents.json",
}
READING = re.compile(r"(?:read|get|list|search|find|fetch)(?![a-z])")
"""Listings have no annotations."""
NOT_FOR_WORKFLOWS = frozenset(
    f"pml:{name}"
    for name in (
        "execute_dag",
        "continue",
        "abort",
        "replan",
        "approval_response",
        "workflow_status",
        "execute_code",
        "call_tool",
        "search_tools",
        "search_capabilities",
    )
)


@dataclass(frozen=True, slots=True)
class Intent:
    """What somebody asks for, and the plan for it."""

    text: str
    tasks: list[dict[str, Any]]
    starts: bool
    """True if it says all that the tasks need."""
    context: dict[str, Json]
    missing: list[list[Any]]
    """The arguments that it does not say: the places of their tasks, and their names."""


class ListedTools(Toolbox):
    """Tools that were listed once. What they answer, and whether they only read, is not known."""

    def __init__(self, tools: Sequence[KnownTool], model: Embedder | None = None) -> None:
        usable = [one for one in tools if one.id not in NOT_FOR_WORKFLOWS]
        self._tools = {one.id: one for one in usable}
        self._index = ToolIndex(usable)
        self._model = model
        self._vectors = vectors_of(usable, model) if model else {}

    def find(self, words: str, context: Sequence[str], limit: int) -> list[FoundTool]:  # noqa: ARG002 (the port's names)
        near = cosines(self._vectors, self._model.query(words).vector) if self._model else None
        return self._index.find(words, limit, near)

    def facts(self, id: str) -> ToolFacts:
        tool = self._tools[id]
        return ToolFacts(id, tool.description, tool.input_schema, None, reads=bool(READING.match(tool.name)))

    def ids(self) -> list[str]:
        return [*self._tools]


def intents(file: str) -> list[Intent]:
    """The labelled ones."""
    found: Any = json.loads((FOLDER / file).read_text("utf-8"))
    return [
        Intent(one["text"], one["tasks"], one["starts"], one.get("context", {}), one.get("missing", []))
        for one in found
    ]


def judged(intent: Intent, draft: Draft) -> str:
    """Compare a plan with its label.

    A plan that runs has the labelled tools in their order, and exactly the labelled arguments. Another one has
    these tools, no other arguments, and names the arguments that the intent does not say; or no tool does it.
    """
    made = [str(one.get("tool") or one.get("type")) for one in draft.tasks]
    wanted = [[one["tools"]] if isinstance(one["tools"], str) else one["tools"] for one in intent.tasks]
    has_tools = len(made) == len(wanted) and all(one in fits for one, fits in zip(made, wanted, strict=True))
    ids = [str(one["id"]) for one in draft.tasks]
    given = [cast("dict[str, Json]", one.get("arguments") or {}) for one in draft.tasks]
    labels = [cast("dict[str, Json]", one["arguments"]) for one in intent.tasks]
    pairs = [*zip(given, labels, strict=True)] if has_tools else []
    is_right = has_tools and all(
        name in label and _same(value, label[name], ids) for one, label in pairs for name, value in one.items()
    )
    if draft.is_ready:
        is_whole = is_right and all(one.keys() == label.keys() for one, label in pairs)
        return "right run" if is_whole and intent.starts else "wrong run"
    named = {(one["task"], one["argument"]) for one in draft.missing}
    if not intent.tasks or (is_right and all((ids[at], name) in named for at, name in intent.missing)):
        return "right plan"
    return "other plan"


def _same(value: Json, wanted: Json, ids: Sequence[str]) -> bool:
    match value, wanted:
        case _, "?":
            return True
        case _, str() if wanted[:1] == "$":
            return any(one.task == ids[int(wanted[1:]) - 1] for one in references(value))
        case list(), list():
            return len(value) == len(wanted) and all(map(lambda a, b: _same(a, b, ids), value, wanted))
        case dict(), dict():
            return value.keys() == wanted.keys() and all(_same(value[name], wanted[name], ids) for name in value)
        case _:
            return value == wanted


def main() -> int:
    about = (__doc__ or "").split("\n\n")[0]
    parser = argparse.ArgumentParser(prog="python -m tests.quality.intents", description=about)
    parser.add_argument("--models", type=Path, help="a models folder; words alone without it")
    parser.add_argument("--show", action="store_true", help="also the plans that are not as they are labelled")
    given = parser.parse_args()
    box = ListedTools(all_tools(), embedder(given.models) if given.models else None)
    kinds = ("right run", "right plan", "other plan", "wrong run")
    print(f"| intents | number | {' | '.join(kinds)} |")
    print("|---|--:|--:|--:|--:|--:|")
    wrong = 0
    for group, file in FILES.items():
        found = list[str]()
        for one in intents(file):
            draft = Planner(box, one.context, (), ()).plan(one.text)
            found.append(judged(one, draft))
            if given.show and (found[-1] in kinds[2:] or draft.is_ready != one.starts):
                _show(one, draft)
        print(f"| {group} | {len(found)} | {' | '.join(str(found.count(kind)) for kind in kinds)} |")
        wrong += found.count("wrong run")
    return int(wrong > 0)


def _show(intent: Intent, draft: Draft) -> None:
    told = [{name: one.get(name) for name in ("tool", "type", "arguments")} for one in draft.tasks]
    print(f"{judged(intent, draft)}: {intent.text}\n    {json.dumps(told)}", file=sys.stderr)
    print(f"    {draft.missing} {draft.unknown} {draft.why}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
