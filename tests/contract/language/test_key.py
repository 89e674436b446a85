"""The key of a language model goes to its server, and nowhere else."""

import logging
from functools import partial

import pytest

from loci.adapters.aws.clients import Clients
from loci.adapters.aws.secrets import read_key
from loci.adapters.language_model.openai import OpenAiModel
from loci.core.errors import LociError, Misconfigured, Unavailable
from loci.core.stores import RecordStore
from tests.contract.language.asking import FITS, KEY, SCHEMA, checked, refused
from tests.contract.stores import Clock
from tests.support.each import each
from tests.support.stub_model import Fails, Gives, StubModel


@each(
    "reply",
    [
        Fails(401, "invalid_api_key", f"Incorrect API key provided: {KEY}"),
        Fails(401, KEY, KEY),
        Gives(KEY.encode(), 500, {"X-Key": KEY}),
        Gives(KEY.encode()),
        Gives(b"", 302, {"Location": f"http://127.0.0.1:1/{KEY}"}),
    ],
)
def test_the_key_is_in_no_error_and_in_no_log_though_the_server_repeats_it(
    openai: OpenAiModel,
    stub: StubModel,
    kept: RecordStore,
    clock: Clock,
    caplog: pytest.LogCaptureFixture,
    reply: Fails | Gives,
) -> None:
    stub.requests.clear()
    stub.will(reply)
    model = checked(openai, kept, clock)
    with caplog.at_level(logging.DEBUG):
        error = refused(model)
    assert stub.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert not [text for text in (*_texts(error), caplog.text, repr(vars(model))) if KEY in text]


def test_a_key_that_is_wrong_says_which_setting_to_correct(
    openai: OpenAiModel, stub: StubModel, kept: RecordStore, clock: Clock
) -> None:
    stub.will(Fails(401, "invalid_api_key"))
    model = checked(openai, kept, clock)
    assert str(refused(model)) == (
        "The language model's server answered 401 (invalid_api_key). Correct LOCI_LANGUAGE_MODEL_KEY."
    )


@each("key", [f"{KEY} x", f"{KEY}\nX: y", f"{KEY}é", f"{KEY}\0"])
def test_a_key_that_no_header_can_hold_is_refused_unseen(key: str) -> None:
    with pytest.raises(Misconfigured) as raised:
        OpenAiModel("m", "http://127.0.0.1:1/v1", key)
    assert not [text for text in _texts(raised.value) if KEY in text]


def test_a_key_may_end_with_the_line_end_of_its_file(stub: StubModel) -> None:
    model = OpenAiModel("m", stub.url, f"{KEY}\n")
    stub.says(FITS)
    model.write("?", SCHEMA, seconds=60, most_tokens=10)
    model.close()
    assert stub.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_key_is_not_needed(stub: StubModel) -> None:
    model = OpenAiModel("m", stub.url)
    stub.says(FITS)
    model.write("?", SCHEMA, seconds=60, most_tokens=10)
    model.close()
    assert "authorization" not in stub.requests[0].headers


@pytest.mark.aws
def test_a_key_in_a_secret_is_read_with_the_first_question_and_again_when_it_is_refused(stub: StubModel) -> None:
    from tests.support.moto_aws import moto_aws  # `make test` needs no boto3

    with moto_aws():
        clients = Clients()
        secret = clients.secretsmanager.create_secret(Name="language", SecretString="sk-old")["ARN"]
        model = OpenAiModel("m", stub.url, partial(read_key, secret, clients, "LOCI_LANGUAGE_MODEL_KEY_FROM"))
        clients.secretsmanager.put_secret_value(SecretId=secret, SecretString=f"{KEY}\n")
        stub.will(Fails(401, "invalid_api_key"))
        with pytest.raises(Unavailable):
            model.write("?", SCHEMA, seconds=60, most_tokens=10)
        clients.secretsmanager.put_secret_value(SecretId=secret, SecretString="sk-new")
        stub.says(FITS)
        model.write("?", SCHEMA, seconds=60, most_tokens=10)
        model.close()
    assert [asked.headers["authorization"] for asked in stub.requests] == [f"Bearer {KEY}", "Bearer sk-new"]


@pytest.mark.aws
def test_a_secret_that_is_missing_or_no_key_says_what_to_correct(stub: StubModel) -> None:
    from tests.support.moto_aws import moto_aws

    said: list[str] = []
    with moto_aws():
        clients = Clients()
        for name, text in (("missing", None), ("spaces", f"{KEY} x")):
            if text:
                clients.secretsmanager.create_secret(Name=name, SecretString=text)
            model = OpenAiModel("m", stub.url, partial(read_key, name, clients, "LOCI_LANGUAGE_MODEL_KEY_FROM"))
            with pytest.raises(Unavailable) as raised:
                model.write("?", SCHEMA, seconds=60, most_tokens=10)
            said += [raised.value.resolution]
            assert not [each for each in _texts(raised.value) if KEY in each]
    assert said == ["Correct LOCI_LANGUAGE_MODEL_KEY_FROM", "Store it in the secret without spaces"]


def _texts(error: LociError) -> list[str]:
    """All that an error and those behind it say."""
    found: list[str] = []
    behind: BaseException | None = error
    while behind is not None:
        found += [str(behind), repr(behind)]
        behind = behind.__cause__ or (None if behind.__suppress_context__ else behind.__context__)
    return found
