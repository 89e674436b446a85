"""How well intents become plans: `python -m tests.quality.intents [--models DIR] [--show]`.

The tools are those that public servers listed, and Loci's own. The first intents and their plans were labelled before
the rules were written, the second ones showed what to mend, the last were written after that. It fails if a plan would
start that is not the labelled one.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from loci.core.json import Json
from loci.gateway.tool_embeddings import cosines
from loci.gateway.tool_search import FoundTool, KnownTool, ToolIndex
from loci.search.inference import Embedder
from loci.workflows.planner import Draft, Planner
from loci.workflows.references import references
from loci.workflows.toolbox import ToolFacts
from tests.quality.tool_requests import FOLDER, all_tools
from tests.quality.tools import embedder, vectors_of

FILES = {"tuned on": "intents.json", "mended by": "held_out_intents.json", "held out": "last_intents.json"}
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
    context: dict[str, Json]


class ListedTools:
    """A `Toolbox` of tools that were listed once. What they answer, and whether they only read, is not known."""

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
        return ToolFacts(id, tool.description, tool.input_schema, None, reads=False)

    def followers(self, tools: Sequence[str]) -> Mapping[str, float]:  # noqa: ARG002 (the port's names)
        return {}


def intents(file: str) -> list[Intent]:
    """The labelled ones."""
    found: Any = json.loads((FOLDER / file).read_text("utf-8"))
    return [Intent(one["text"], one["tasks"], one["starts"], one.get("context", {})) for one in found]


@dataclass(frozen=True, slots=True)
class Judged:
    """A plan beside its label."""

    has_tools: bool
    arguments: int
    right: int
    is_right: bool
    starts: bool


def judged(intent: Intent, draft: Draft) -> Judged:
    """Compare the tools in their order, and each labelled argument; a further argument makes the plan wrong."""
    made = [str(one.get("tool") or one.get("type")) for one in draft.tasks]
    wanted = [[one["tools"]] if isinstance(one["tools"], str) else one["tools"] for one in intent.tasks]
    has_tools = len(made) == len(wanted) and all(one in fits for one, fits in zip(made, wanted, strict=True))
    arguments = sum(len(one["arguments"]) for one in intent.tasks)
    right, more = 0, False
    ids = [str(one["id"]) for one in draft.tasks]
    for at, one in enumerate(intent.tasks if has_tools else []):
        given = cast("dict[str, Json]", draft.tasks[at].get("arguments") or {})
        right += sum(name in given and _same(given[name], value, ids) for name, value in one["arguments"].items())
        more |= not given.keys() <= one["arguments"].keys()
    return Judged(has_tools, arguments, right, has_tools and right == arguments and not more, draft.is_ready)


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
    print(
        "| intents | number | right tools in the right order | arguments bound right | started | wrong ones started |"
    )
    print("|---|--:|--:|--:|--:|--:|")
    wrong = 0
    for group, file in FILES.items():
        asked = intents(file)
        found = list[tuple[Intent, Judged]]()
        for one in asked:
            draft = Planner(box, one.context, (), ()).plan(one.text)
            found.append((one, judged(one, draft)))
            if given.show and not (found[-1][1].is_right and draft.is_ready == one.starts):
                _show(one, draft)
        print(_row(group, found))
        wrong += sum(one.starts and not one.is_right for _, one in found)
    return int(wrong > 0)


def _row(group: str, found: Sequence[tuple[Intent, Judged]]) -> str:
    can = [one for asked, one in found if asked.starts]
    figures = [
        group,
        str(len(found)),
        str(sum(one.has_tools for _, one in found)),
        f"{sum(one.right for _, one in found)} of {sum(one.arguments for _, one in found)}",
        f"{sum(one.starts and one.is_right for one in can)} of {len(can)}",
        str(sum(one.starts and not one.is_right for _, one in found)),
    ]
    return f"| {' | '.join(figures)} |"


def _show(intent: Intent, draft: Draft) -> None:
    told = [{name: one.get(name) for name in ("tool", "type", "arguments")} for one in draft.tasks]
    state = "starts" if draft.is_ready else "not started"
    print(f"{state}, {draft.confidence}: {intent.text}\n    {json.dumps(told)}", file=sys.stderr)
    print(f"    {draft.missing} {draft.unknown} {draft.why}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
