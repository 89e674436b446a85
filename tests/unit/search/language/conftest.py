"""A reader whose model the stub speaks for."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from loci.adapters.language_model.openai import OpenAiModel
from loci.adapters.local.records import SqliteRecords
from loci.adapters.local.sqlite import Database
from loci.search.language_stage import LanguageStage
from tests.support.stub_model import StubModel, stub_model
from tests.unit.search.language.passages import clock, reader_of


@pytest.fixture(scope="module")
def served() -> Iterator[StubModel]:
    with stub_model() as stub:
        yield stub


@pytest.fixture(scope="module")
def openai(served: StubModel) -> Iterator[OpenAiModel]:
    model = OpenAiModel("test-model", served.url, "sk-secret")
    yield model
    model.close()


@pytest.fixture
def stub(served: StubModel) -> StubModel:
    served.requests.clear()
    return served


@pytest.fixture
def records(tmp_path: Path) -> SqliteRecords:
    return SqliteRecords(Database(tmp_path / "loci.db"), clock)


@pytest.fixture
def reader(openai: OpenAiModel, records: SqliteRecords) -> LanguageStage:
    return reader_of(openai, records)
