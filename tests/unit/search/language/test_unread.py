"""Where a language model gives no answer, a search is what it was without."""

from loci.adapters.language_model.openai import OpenAiModel
from loci.adapters.local.records import SqliteRecords
from loci.search.language_stage import LanguageResult, LanguageStage
from tests.support.each import each
from tests.support.stub_model import Fails, Hangs, Reply, Says, StubModel
from tests.unit.search.language.passages import QUERY, contexts, hits, judged, reader_of


class TestWithoutAnAnswer:
    @each(
        ("reply", "why"),
        [
            (Says("no JSON"), "does not fit"),
            (Says('{"intent": "i", "analysis": "a", "order": [2, 1]}'), "does not fit"),
            (Says('{"intent": "i", "analysis": "a", "order": ["2", "1"], "best": []}'), "does not fit"),
            (Says('{"intent": null, "analysis": "a", "order": [2, 1], "best": []}'), "does not fit"),
            (Says("no", ends="refused"), "refused"),
            (Says("{", ends="cut"), "longer than"),
            (Fails(500, "server_error"), "500"),
            (Fails(401, "invalid_api_key", "Incorrect API key provided: sk-secret"), "LOCI_LANGUAGE_MODEL_KEY"),
        ],
    )
    def test_nothing_changes_and_the_stage_says_why(
        self, reader: LanguageStage, stub: StubModel, reply: Reply, why: str
    ) -> None:
        stub.will(reply)
        assert_unread(reader.read(QUERY, hits(3), room=300), why)

    def test_in_time_nothing_changes(self, openai: OpenAiModel, records: SqliteRecords, stub: StubModel) -> None:
        stub.will(Hangs())
        assert_unread(reader_of(openai, records, seconds=0.3).read(QUERY, hits(3), room=300), "within 0.3 s")

    def test_for_want_of_money_nothing_changes(
        self, openai: OpenAiModel, records: SqliteRecords, stub: StubModel
    ) -> None:
        stub.will(judged([3, 2, 1]))
        assert_unread(reader_of(openai, records, most_tokens=100).read(QUERY, hits(3), room=300), "are spent")
        assert not stub.requests

    def test_for_want_of_hits_nobody_is_asked(self, reader: LanguageStage, stub: StubModel) -> None:
        assert not reader.read(QUERY, [], room=300).stage.ran
        assert not stub.requests

    def test_the_key_is_not_told(self, reader: LanguageStage, stub: StubModel) -> None:
        stub.will(Fails(401, "sk-secret", "Incorrect API key provided: sk-secret"))
        assert "sk-secret" not in reader.read(QUERY, hits(3), room=300).stage.note


def assert_unread(reading: LanguageResult, why: str) -> None:
    assert list(reading.hits) == hits(3)
    assert contexts(reading) == [None, None, None]
    assert (reading.intent, reading.analysis) == (None, None)
    assert (reading.stage.stage, reading.stage.ran) == ("language_model", False)
    assert why in reading.stage.note
