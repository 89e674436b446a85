"""The key of a language model goes to its server, and nowhere else."""

import logging

import pytest

from loci.adapters.language_model.openai import OpenAiModel
from loci.errors import LociError, Misconfigured
from loci.ports import RecordStore
from tests.contract.language.asking import FITS, KEY, SCHEMA, checked, refused
from tests.contract.stores import Clock
from tests.support.stub_model import Fails, Gives, StubModel


@pytest.mark.parametrize(
    "reply",
    [
        Fails(401, "invalid_api_key", f"Incorrect API key provided: {KEY}"),
        Fails(401, KEY, KEY),
        Gives(KEY.encode(), 500, {"X-Key": KEY}),
        Gives(KEY.encode()),
        Gives(b"", 302, {"Location": f"http://127.0.0.1:1/{KEY}"}),
    ],
    ids=["its message", "its code", "an error's body", "an answer's body", "a redirect"],
)
def test_the_key_is_in_no_error_and_in_no_log_though_the_server_repeats_it(
    openai: OpenAiModel,
    stub: StubModel,
    kept: RecordStore,
    clock: Clock,
    caplog: pytest.LogCaptureFixture,
    reply: Fails | Gives,
) -> None:
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


@pytest.mark.parametrize("key", [f"{KEY} x", f"{KEY}\nX: y", f"{KEY}é", f"{KEY}\0"])
def test_a_key_that_no_header_can_hold_is_refused_unseen(key: str) -> None:
    with pytest.raises(Misconfigured) as raised:
        OpenAiModel("m", "http://127.0.0.1:1/v1", key)
    assert not [text for text in _texts(raised.value) if KEY in text]


def test_a_key_may_end_with_the_line_end_of_its_file(stub: StubModel) -> None:
    model = OpenAiModel("m", stub.url, f"{KEY}\n")
    stub.says(FITS)
    model.write("?", SCHEMA, seconds=5, most_tokens=10)
    model.close()
    assert stub.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_key_is_not_needed(stub: StubModel) -> None:
    model = OpenAiModel("m", stub.url)
    stub.says(FITS)
    model.write("?", SCHEMA, seconds=5, most_tokens=10)
    model.close()
    assert "authorization" not in stub.requests[0].headers


def _texts(error: LociError) -> list[str]:
    """All that an error and those behind it say."""
    found: list[str] = []
    behind: BaseException | None = error
    while behind is not None:
        found += [str(behind), repr(behind)]
        behind = behind.__cause__ or (None if behind.__suppress_context__ else behind.__context__)
    return found
