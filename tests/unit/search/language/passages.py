"""Hits, and what a language model may say of them."""

import json

from loci.adapters.language_model.checked_model import CheckedModel, DailyAllowance
from loci.adapters.language_model.openai import OpenAiModel
from loci.adapters.local.records import SqliteRecords
from loci.search.language_stage import LanguageResult, LanguageStage
from loci.search.ranking import Chunk, Explanation, Hit
from tests.support.stub_model import Says

QUERY = "How are tokens kept?"
NOWHERE = Explanation(None, None, 1, None, None, None, None, None, None)


def clock() -> float:
    return 1_700_000_000.0


def reader_of(
    openai: OpenAiModel, records: SqliteRecords, *, most_tokens: int = 10**6, seconds: float = 60
) -> LanguageStage:
    model = CheckedModel(openai, DailyAllowance(records, most_tokens, clock))
    return LanguageStage(model, "openai:test-model", seconds=seconds)


def hit(number: int, text: str | None = None) -> Hit:
    said = text or f"Passage {number} says that tokens\n  are kept in place {number}."
    chunk = Chunk(
        f"d{number}#0",
        f"d{number}",
        f"d{number}.md",
        f"D {number}",
        ("Notes", f"Part {number}"),
        1,
        2,
        said,
        f"h{number}",
        "",
    )
    return Hit(chunk, 0.5, "hybrid", f"old {number}", NOWHERE)


def hits(count: int) -> list[Hit]:
    return [hit(number) for number in range(1, count + 1)]


def judged(order: list[int], *best: tuple[int, str, str]) -> Says:
    return Says(
        json.dumps(
            {
                "intent": "Where tokens are.",
                "analysis": "Most say it.",
                "order": order,
                "best": [
                    {"passage": passage, "context": context, "snippet": snippet} for passage, context, snippet in best
                ],
            }
        )
    )


def places(reading: LanguageResult) -> list[int]:
    return [int(one.chunk.document[1:]) for one in reading.hits]


def contexts(reading: LanguageResult) -> list[str | None]:
    return [one.context for one in reading.hits]
