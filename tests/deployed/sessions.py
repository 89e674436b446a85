"""Sessions with the deployed gateway."""

from tests.deployed.deployment import Door
from tests.deployed.users import User
from tests.support.serving import Answer, call, initialize

USE = call("scratchpad_list")
BEGIN = initialize("2025-06-18")


def begin(door: Door, user: User) -> dict[str, str]:
    """The headers of a new session."""
    return begun(door.post(BEGIN, user.headers), user)


def begun(answer: Answer, user: User) -> dict[str, str]:
    """The headers of the session that this answer began."""
    assert answer.status == 200, answer.text
    return {**user.headers, "Mcp-Session-Id": answer.headers["Mcp-Session-Id"]}


def statuses(answers: list[Answer]) -> list[int]:
    return [answer.status for answer in answers]
