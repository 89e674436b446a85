"""What only a server that speaks OpenAI's protocol can get wrong."""

import gzip
import json

from loci.adapters.language_model.openai import OpenAiModel
from loci.core.stores import RecordStore
from loci.search.language_model import too_slow
from tests.contract.language.asking import FITS, KEY, SCHEMA, ask, checked, refused, spent
from tests.contract.stores import Clock, at_once
from tests.support.each import each
from tests.support.stub_model import Gives, Hangs, StubModel


def test_a_server_that_is_not_there_is_no_answer(kept: RecordStore, clock: Clock) -> None:
    nobody = OpenAiModel("m", "http://127.0.0.1:1/v1", KEY)
    model = checked(nobody, kept, clock)
    assert "cannot be reached" in refused(model).what


class TestOpenAi:
    def test_is_asked_for_an_answer_by_the_schema(self, openai: OpenAiModel, stub: StubModel) -> None:
        stub.says(FITS)
        openai.write("?", SCHEMA, seconds=60, most_tokens=10)
        asked = stub.requests[0]
        assert asked.path == "/v1/chat/completions"
        assert asked.body == {
            "model": "test-model",
            "messages": [{"role": "user", "content": "?"}],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
            },
            "max_tokens": 10,
        }

    def test_that_gives_too_much_is_no_answer(
        self, openai: OpenAiModel, stub: StubModel, kept: RecordStore, clock: Clock
    ) -> None:
        stub.will(Gives(b" " * 2_000_000))
        assert "more than 1 MB" in refused(checked(openai, kept, clock)).what

    def test_that_packs_much_into_little_is_no_answer(
        self, openai: OpenAiModel, stub: StubModel, kept: RecordStore, clock: Clock
    ) -> None:
        stub.will(Gives(gzip.compress(b" " * 100_000_000), headers={"Content-Encoding": "gzip"}))
        assert "not a chat completion" in refused(checked(openai, kept, clock)).what

    def test_that_drips_is_hung_up_on(self, openai: OpenAiModel, stub: StubModel) -> None:
        stub.will(Hangs(drips=True))
        assert openai.write("?", SCHEMA, seconds=0.3, most_tokens=10) == too_slow(0.3)

    def test_without_a_word_about_tokens_counts_the_most(
        self, openai: OpenAiModel, stub: StubModel, kept: RecordStore, clock: Clock
    ) -> None:
        stub.will(Gives(json.dumps({"choices": [{"message": {"content": json.dumps(FITS)}}]}).encode()))
        model = checked(openai, kept, clock)
        ask(model)
        assert spent(kept) > 200

    def test_serves_more_at_once_than_it_has_places(
        self, openai: OpenAiModel, stub: StubModel, kept: RecordStore, clock: Clock
    ) -> None:
        stub.says(FITS)
        model = checked(openai, kept, clock)
        assert at_once(16, lambda _: ask(model)) == [FITS] * 16

    @each("url", ["no-url", "ftp://127.0.0.1/v1", "http://", "http://[::1"])
    def test_at_no_address_says_which_setting_to_check(self, kept: RecordStore, clock: Clock, url: str) -> None:
        model = checked(OpenAiModel("m", url, KEY), kept, clock)
        assert "LOCI_LANGUAGE_MODEL_URL" in refused(model).resolution
