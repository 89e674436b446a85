"""Summaries on AWS: the ingestion lets the language model write them."""

from collections.abc import Generator

import pytest

from loci.core.identity import LOCAL
from loci.core.storage_keys import INGEST_KINDS, LANGUAGE_TOKENS
from tests.e2e.test_files_on_aws import PRICES, Deployed, deployment
from tests.e2e.test_files_on_aws import pytestmark as needs_a_wall
from tests.support.stub_model import Fails, StubModel, stub_model
from tests.surface.results import call_files

pytestmark = [pytest.mark.anyio, needs_a_wall]
WRITTEN = "What a fruit costs."


@pytest.fixture(scope="module")
def stub() -> Generator[StubModel]:
    with stub_model() as stub:
        yield stub


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory, stub: StubModel) -> Generator[Deployed]:
    model = {"language_model": "openai:test", "language_model_url": stub.url, "language_model_key": "sk-1"}
    with deployment(tmp_path_factory.mktemp("no-models"), **model) as made:
        yield made


async def test_a_text_that_is_found_at_once_gets_its_summary_from_the_ingestion(
    deployed: Deployed, stub: StubModel
) -> None:
    stub.says({"summary": WRITTEN})
    [added] = (await call_files(deployed.app, "add_memory", name="fruits.md", text="A quince costs 3 euros."))["result"]
    before = (await call_files(deployed.app, "fetch_memory", memory_ids=[added["id"]]))[added["id"]]
    assert (before["summary"], before["summary_by"]) == ("A quince costs 3 euros.", "rules")
    assert stub.requests == []  # nobody waits for it
    [message] = deployed.waiting()
    assert deployed.take(message) == []
    after = (await call_files(deployed.app, "fetch_memory", memory_ids=[added["id"]]))[added["id"]]
    assert (after["summary"], after["summary_by"]) == (WRITTEN, "openai:test")
    assert {one.partition("#")[2] for one in deployed.partitions} <= {*INGEST_KINDS, LANGUAGE_TOKENS}


async def test_a_file_is_taken_in_though_the_model_fails(deployed: Deployed, stub: StubModel) -> None:
    stub.will(Fails(500, "server_error"))
    assert deployed.take(deployed.upload("prices.csv", PRICES)) == []
    id = deployed.file("prices.csv").id
    told = (await call_files(deployed.app, "fetch_memory", memory_ids=[id]))[id]
    assert (told["status"], told["summary_by"]) == ("okay", "rules")
    assert "fruit and price" in told["summary"]
    [remark] = told["remarks"]
    assert remark.startswith("The summary is extracted: ")
    stub.says({"summary": WRITTEN})
    assert deployed.take(deployed.upload("prices.csv", PRICES)) == []
    told = (await call_files(deployed.app, "fetch_memory", memory_ids=[id]))[id]
    assert (told["summary"], told.get("remarks")) == (WRITTEN, None)
    assert deployed.app.files.versions(LOCAL, id)[-1].number == 1
