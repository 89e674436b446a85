"""What a deployed gateway says of itself."""

import json
import re

import pytest

from loci.core.version import version
from loci.scratchpad.api import Scratchpad
from tests.deployed.deployment import FUNCTION, Deployment, Door
from tests.deployed.users import User
from tests.support.polling import until
from tests.support.serving import call, post

pytestmark = pytest.mark.aws


def test_its_health_is_told_to_anybody(door: Door) -> None:
    answer = post(f"{door.url}/healthz", b"", door.headers, method="GET")
    assert (answer.status, json.loads(answer.text)) == (200, {"status": "ok", "version": version()})


def test_a_call_is_a_line_of_json(deployment: Deployment, user: User) -> None:
    deployment.door("function URL").post(call("list_directory_structure"), user.headers)

    def tools() -> list[object]:
        found = [json.loads(line) for line in deployment.log(FUNCTION) if line.startswith("{")]
        of_user = [line for line in found if line.get("message") == "call" and line.get("owner") == user.owner.key]
        return [line["tool"] for line in of_user]

    until(lambda: tools().count("list_directory_structure") == 1)  # this user calls it here only


def test_arguments_results_queries_and_keys_are_not_logged(
    deployment: Deployment, user: User, scratchpad: Scratchpad
) -> None:
    door = deployment.door("function URL")
    entry = scratchpad.keep(user.owner, "test", "a-result-of-somebody")
    read = call("scratchpad_read", {"id": entry.id, "limit": 7_654_321})
    assert post(f"{door.url}/mcp?mark=a-query", read, {**door.headers, **user.headers}).status == 200
    marker = door.post(call("scratchpad_list", {"unheard": "of"}), user.headers)
    assert marker.status == 200
    until(lambda: len(re.findall(r'"tool": ?"scratchpad_(?:read|list)"', "\n".join(deployment.log(FUNCTION)))) >= 2)
    said = "\n".join(deployment.log(FUNCTION))
    secrets = (entry.id, "7654321", "a-result-of-somebody", "a-query", user.headers["Authorization"].split()[1])
    assert [secret for secret in secrets if secret in said] == []
