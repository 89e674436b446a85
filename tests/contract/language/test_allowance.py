"""What a day's tokens promise: nobody spends more, and what was not spent is not counted."""

import json

import pytest

from loci.adapters.language_model.checked_model import DailyAllowance, TextModel
from loci.core.errors import Unavailable
from loci.core.identity import SYSTEM
from loci.core.storage_keys import LANGUAGE_TOKENS
from loci.core.stores import RecordStore
from loci.search.language_model import LanguageModel
from tests.contract.language.asking import DAY, FITS, ask, checked, refused, spent
from tests.contract.stores import Clock, at_once
from tests.support.each import each
from tests.support.stub_model import TOKENS, Fails, Hangs, Reply, Says, StubModel


class TestTheAllowance:
    @each(
        ("reply", "cost", "is_answer"),
        [
            pytest.param(Says(json.dumps(FITS)), TOKENS, True, id="an answer"),
            pytest.param(Says("no JSON"), 2 * TOKENS, False, id="an answer that did not fit, twice"),
            pytest.param(Says("no", ends="refused"), TOKENS, False, id="a refusal"),
            pytest.param(Fails(500, "InternalServerException"), 0, False, id="an error"),
        ],
    )
    def test_counts_what_was_answered(
        self, model: LanguageModel, stub: StubModel, kept: RecordStore, reply: Reply, cost: int, is_answer: bool
    ) -> None:
        before = spent(kept)
        stub.will(reply)
        if is_answer:
            assert ask(model) == FITS
        else:
            refused(model)
        assert spent(kept) - before == cost

    def test_counts_the_most_where_no_answer_came(
        self, model: LanguageModel, stub: StubModel, kept: RecordStore
    ) -> None:
        stub.will(Hangs())
        refused(model, seconds=0.3)
        assert spent(kept) > 200

    def test_that_is_spent_stops_the_question(
        self, writer: TextModel, stub: StubModel, kept: RecordStore, clock: Clock
    ) -> None:
        stub.says(FITS)
        model = checked(writer, kept, clock, most_tokens=300)
        assert "tokens for today are spent" in refused(model).what
        assert not stub.requests

    def test_is_whole_again_the_next_day(
        self, writer: TextModel, stub: StubModel, kept: RecordStore, clock: Clock
    ) -> None:
        stub.says(FITS)
        model = checked(writer, kept, clock, most_tokens=1000)
        ask(model)
        refused(model)
        clock.now += 24 * 3600
        assert ask(model) == FITS


class TestTheCounter:
    """On every store."""

    def test_is_shared_by_all_instances(self, records: RecordStore, clock: Clock) -> None:
        DailyAllowance(records, 100, clock).reserve(60)
        with pytest.raises(Unavailable):
            DailyAllowance(records, 100, clock).reserve(60)

    def test_loses_nothing_where_many_reserve_at_once(self, records: RecordStore, clock: Clock) -> None:
        allowance = DailyAllowance(records, 1000, clock)
        at_once(8, lambda _: allowance.reserve(10))
        assert spent(records) == 80

    def test_never_gives_more_than_there_is(self, records: RecordStore, clock: Clock) -> None:
        allowance = DailyAllowance(records, 50, clock)

        def is_given(_: int) -> bool:
            try:
                allowance.reserve(10)
            except Unavailable:
                return False
            return True

        assert sum(at_once(8, is_given)) == 5

    def test_gives_back_what_was_not_needed(self, records: RecordStore, clock: Clock) -> None:
        allowance = DailyAllowance(records, 100, clock)
        day = allowance.reserve(90)
        allowance.correct(day, -50)
        assert allowance.reserve(60) == day

    def test_goes_away_after_its_day(self, records: RecordStore, clock: Clock) -> None:
        DailyAllowance(records, 100, clock).reserve(1)
        clock.now += 3 * 24 * 3600
        assert records.get(SYSTEM, LANGUAGE_TOKENS, DAY) is None
