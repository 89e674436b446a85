"""Each test of the contract runs on both providers, which the stub speaks for."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from loci.adapters.aws.bedrock import BedrockModel
from loci.adapters.aws.clients import Clients
from loci.adapters.language_model.checked_model import TextModel
from loci.adapters.language_model.openai import OpenAiModel
from loci.core.stores import RecordStore
from loci.search.language_model import LanguageModel
from tests.contract.language.asking import BEDROCK_MODEL, KEY, checked
from tests.contract.stores import Clock, in_folder
from tests.support.stub_model import StubModel, stub_model


@pytest.fixture(scope="module")
def served() -> Iterator[StubModel]:
    with stub_model() as stub:
        yield stub


@pytest.fixture
def stub(served: StubModel) -> StubModel:
    served.requests.clear()
    return served


@pytest.fixture(scope="module")
def openai(served: StubModel) -> Iterator[OpenAiModel]:
    model = OpenAiModel("test-model", f"{served.url}/v1/", KEY)
    yield model
    model.close()


@pytest.fixture(scope="module")
def bedrock(served: StubModel) -> Iterator[BedrockModel]:
    from tests.support.moto_aws import credentials  # `make test` needs no boto3

    with pytest.MonkeyPatch.context() as environment:
        credentials(environment)
        environment.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", served.url)
        clients = Clients()
        yield BedrockModel(BEDROCK_MODEL, clients)
        clients.bedrock.close()


@pytest.fixture(params=["openai", pytest.param("bedrock", marks=pytest.mark.aws)])
def writer(request: pytest.FixtureRequest) -> TextModel:
    return request.getfixturevalue(request.param)


@pytest.fixture
def kept(tmp_path: Path, clock: Clock) -> RecordStore:
    return in_folder(tmp_path, clock).records


@pytest.fixture
def model(writer: TextModel, kept: RecordStore, clock: Clock) -> LanguageModel:
    return checked(writer, kept, clock)
