"""What comes back from the function that reaches tool servers, and when it does not."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from loci.adapters.aws.clients import Clients
from loci.adapters.aws.lambda_tool_servers import AGAIN_SECONDS, LambdaToolServers
from loci.core.deadline import within
from loci.core.errors import LociError, Misconfigured, NotFound, OutOfTime, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.stores import SecretUnreadable
from loci.gateway.configuration import ConfiguredServer, ServerEntry
from loci.gateway.connect_function import error_to_json
from loci.gateway.ports import ToolServerError
from loci.sandbox.lambda_host.function_answer import packed_answer
from tests.contract.stores import ANN, BOB
from tests.support.each import each
from tests.support.invoke_api import LARGEST, InvokeApi, invoke_api
from tests.support.moto_aws import CONNECT

pytestmark = pytest.mark.aws
NOTES = ConfiguredServer("notes", ServerEntry.model_validate({"url": "https://notes.example/mcp"}))


@pytest.fixture
def api() -> Iterator[InvokeApi]:
    with invoke_api() as api:
        yield api


@pytest.fixture
def servers(api: InvokeApi) -> LambdaToolServers:
    return LambdaToolServers(CONNECT, Clients())


def answering(api: InvokeApi, answer: Any) -> None:
    api.functions[CONNECT] = lambda _, __: packed_answer(answer)


def raised(servers: LambdaToolServers) -> LociError:
    with pytest.raises(LociError) as raised:
        servers.call(ANN, NOTES, "read", {})
    return raised.value


def test_only_names_and_arguments_travel(api: InvokeApi, servers: LambdaToolServers) -> None:
    answering(api, {"result": {"content": [], "_meta": {"kept": "as it is"}}})
    assert servers.call(ANN, NOTES, "read", {"a": "ü🐎"}) == {"content": [], "_meta": {"kept": "as it is"}}
    owner = {"tenant": "acme", "subject": "ann"}
    told = {"owner": owner, "server": "notes", "tool": "read", "arguments": {"a": "ü🐎"}, "seconds": 30.0}
    assert api.events == [told]


def test_the_time_of_the_request_limits_that_of_the_call(api: InvokeApi, servers: LambdaToolServers) -> None:
    answering(api, {"result": {}})
    with within(20):
        servers.call(ANN, NOTES, "read", {})
        servers.call(ANN, NOTES, "read", {}, seconds=2)
    assert 0 < api.events[0]["seconds"] < 19.01
    assert api.events[1]["seconds"] == 2


@each(
    "error",
    [
        ToolServerError("The tool server notes failed: no licence", "Buy one", details={"retry_after_seconds": 3}),
        Refused("No", "Ask nicely", code="BAD_CONFIGURATION"),
        NotFound("There is none", "Add one", code="SERVER_NOT_FOUND"),
        SecretUnreadable("A stored secret cannot be read", "Store it again"),
        OutOfTime("The call took too long", "Try again"),
    ],
)
def test_an_error_travels_in_all_its_words(api: InvokeApi, servers: LambdaToolServers, error: LociError) -> None:
    answering(api, error_to_json(error))
    told = raised(servers)
    assert type(told) is type(error)
    assert (told.code, told.what, told.resolution) == (error.code, error.what, error.resolution)
    assert told.details == error.details


def test_an_error_of_a_kind_that_is_new_is_one_of_the_nearest() -> None:
    class Busy(ToolServerError):
        pass

    assert error_to_json(Busy("It is busy", "Wait"))["error"] == {
        "kind": "ToolServerError",
        "code": "MCP_SERVER_ERROR",
        "what": "It is busy",
        "resolution": "Wait",
        "details": {},
    }


def fails(error: type[Exception], text: str) -> Any:
    def fail(*_: object) -> object:
        raise error(text)

    return fail


def test_a_function_that_breaks_is_told_and_not_called_again(api: InvokeApi, servers: LambdaToolServers) -> None:
    api.functions[CONNECT] = fails(MemoryError, "out of it")
    told = raised(servers)
    assert (told.code, "out of it" in told.what) == ("CONNECT_FAILED", True)
    assert "Look first if the call has done something" in told.resolution
    assert len(api.events) == 1


@pytest.mark.parametrize("answer", [{}, [], None, {"packed": "?"}])
def test_an_answer_without_sense_is_a_function_that_broke(
    api: InvokeApi, servers: LambdaToolServers, answer: Any
) -> None:
    api.functions[CONNECT] = lambda _, __: answer
    assert raised(servers).code == "CONNECT_FAILED"


def test_a_function_whose_time_ends_is_a_server_that_gave_no_answer(api: InvokeApi, servers: LambdaToolServers) -> None:
    api.functions[CONNECT] = fails(RuntimeError, "Task timed out after 900.00 seconds")
    told = raised(servers)
    assert (told.code, told.what) == ("MCP_SERVER_ERROR", "The tool server notes gave no answer in its time limit")


def test_a_call_that_outlasts_its_request_ends_with_it(api: InvokeApi, servers: LambdaToolServers) -> None:
    done = threading.Event()
    api.functions[CONNECT] = lambda _, __: done.wait(300)
    with within(0.3):
        told = raised(servers)
    done.set()
    assert told.what.startswith("The tool server notes gave no answer in 0.")


def test_a_call_waits_until_lambda_has_room_for_it(api: InvokeApi, servers: LambdaToolServers) -> None:
    answering(api, {"result": {"content": []}})
    api.refusals[CONNECT] = 3
    assert servers.call(ANN, NOTES, "read", {}) == {"content": []}
    assert (api.refusals[CONNECT], len(api.events)) == (0, 1)


def test_a_throttled_function_was_not_called(
    api: InvokeApi, servers: LambdaToolServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loci.adapters.aws.clients.ROOM_SECONDS", 0.1)
    answering(api, {})
    api.throttled.add(CONNECT)
    told = raised(servers)
    assert isinstance(told, Unavailable)
    assert told.resolution.startswith("Nothing was called. Try again")


def test_arguments_that_lambda_does_not_take_were_not_sent(api: InvokeApi, servers: LambdaToolServers) -> None:
    answering(api, {})
    with pytest.raises(Unavailable, match="arguments have at most 6 MB"):
        servers.call(ANN, NOTES, "read", {"a": "x" * LARGEST})


def test_a_deployment_without_the_function_says_what_it_lacks() -> None:
    with pytest.raises(Misconfigured, match="LOCI_CONNECT_FUNCTION"):
        LambdaToolServers(None, Clients()).call(ANN, NOTES, "read", {})


def test_a_server_is_asked_later_once_a_minute(api: InvokeApi) -> None:
    now = [0.0]
    servers = LambdaToolServers(CONNECT, Clients(), lambda: now[0])
    answering(api, {"tools": []})

    def asked(owner: Owner) -> int:
        servers.ask_later(owner, "notes")
        for one in api.under_way:
            one.join()
        return len(api.events)

    assert [asked(ANN), asked(ANN), asked(BOB)] == [1, 1, 2]
    now[0] += AGAIN_SECONDS
    assert asked(ANN) == 3
    assert api.events[0] == {"owner": {"tenant": "acme", "subject": "ann"}, "server": "notes"}
