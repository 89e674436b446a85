"""What the tests ask of a language model."""

import pytest

from loci.adapters.language_model.checked_model import CheckedModel, DailyAllowance, TextModel
from loci.core.errors import Unavailable
from loci.core.identity import SYSTEM
from loci.core.json import JsonObject
from loci.core.storage_keys import LANGUAGE_TOKENS
from loci.core.stores import RecordStore
from loci.search.language_model import LanguageModel
from tests.contract.stores import Clock

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"colour": {"type": "string"}, "count": {"type": "integer"}},
    "required": ["colour", "count"],
    "additionalProperties": False,
}
FITS: JsonObject = {"colour": "blue", "count": 2}
KEY = "sk-secret-4711"
BEDROCK_MODEL = "anthropic.claude-test-v1:0"
DAY = "2023-11-14"
LIMIT = 1_000_000


def checked(writer: TextModel, records: RecordStore, clock: Clock, most_tokens: int = LIMIT) -> CheckedModel:
    return CheckedModel(writer, DailyAllowance(records, most_tokens, clock))


def ask(model: LanguageModel, prompt: str = "Which colour?", seconds: float = 60.0) -> JsonObject:
    return model.complete(prompt, SCHEMA, seconds=seconds, most_tokens=200)


def refused(model: LanguageModel, seconds: float = 60.0) -> Unavailable:
    with pytest.raises(Unavailable) as raised:
        ask(model, seconds=seconds)
    return raised.value


def spent(records: RecordStore) -> int:
    record = records.get(SYSTEM, LANGUAGE_TOKENS, DAY)
    return int(str(record.value["tokens"])) if record else 0
